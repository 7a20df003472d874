/** What a host may set about the HTTP API. Everything has a default that suits a server behind a reverse proxy. */
import type { Rate } from "@colloquy/core/adapters"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"

/** Bytes, except `parts`. */
export interface Limits {
  /** Of a message's text. */
  readonly text: number
  /** Of a JSON or URL-encoded body, and of one form field. */
  readonly body: number
  /** Of one uploaded file. */
  readonly file: number
  /** Of a whole multipart body. */
  readonly upload: number
  /** Parts of a multipart body. */
  readonly parts: number
}

/**
 * What the host's hook gets of a request. `Source` is the type of the host's own request; nothing checks it, since a host knows what it
 * mounted the service in.
 */
export interface HostCredentials<Source = unknown> {
  readonly authorization: string | null
  /** The header `x_session_token`, also under its name with hyphens. */
  readonly sessionToken: string | null
  /** As the host's middleware has left them. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The host's own request: the Node message, the web `Request`, or what `withSource` named. */
  readonly source: Source
}

type Owner = string | null | undefined

/** Answers with the owner for whom the request acts, or with nothing (null, undefined, empty text): then the API key decides. */
export type Authenticate<Source = unknown> = (
  credentials: HostCredentials<Source>
) => Owner | Promise<Owner> | Effect.Effect<Owner>

/** The address of the client of a request, such as `({ source }) => source.ip`; null: not known. */
export type ClientAddress<Source = unknown> = (credentials: HostCredentials<Source>) => string | null | undefined

export interface Cors {
  readonly allowedOrigins: ReadonlyArray<string>
  readonly credentials?: boolean
  /** Seconds for which a browser may keep the answer to its preflight. */
  readonly maxAge?: number
}

/** What a body may take, in room and in time. */
export interface Bounds {
  readonly limits: Limits
  /** A body must have come within so long; of a multipart body, its next piece. */
  readonly bodyTimeout: Duration.Input
}

export interface HttpSettings extends Bounds {
  /** A comment line goes out after so much silence on a stream. */
  readonly heartbeat: Duration.Input
  /** For so long a key that was found valid is not looked up again: the longest that a revoked key still works. Zero: looked up every time. */
  readonly keyCacheTime: Duration.Input
  readonly keyCacheSize: number
  /** Requests of one principal; null: no limit. */
  readonly rate: Rate | null
  readonly authenticate: Authenticate<never> | null
  /** Null: keys that are not valid are not counted, because behind a proxy all clients may seem to have one address. */
  readonly clientAddress: ClientAddress<never> | null
  /** So many keys of one address may be wrong; then its requests get 429 for a while, without a look-up of their keys. */
  readonly failedKeys: Rate
  /** Null: no other origin may read the answers. */
  readonly cors: Cors | null
  /** Whether `/docs` and `/openapi.json` are served. */
  readonly docs: boolean
}

const mebibyte = 1024 * 1024

export const defaultHttpSettings: HttpSettings = {
  limits: { text: mebibyte, body: 8 * mebibyte, file: 50 * mebibyte, upload: 200 * mebibyte, parts: 200 },
  bodyTimeout: "30 seconds",
  heartbeat: "15 seconds",
  keyCacheTime: "5 seconds",
  keyCacheSize: 10_000,
  rate: null,
  authenticate: null,
  clientAddress: null,
  failedKeys: { limit: 20, window: "1 minute" },
  cors: null,
  docs: true
}

export const HttpSettings = Context.Reference<HttpSettings>("@colloquy/http/HttpSettings", {
  defaultValue: () => defaultHttpSettings
})
