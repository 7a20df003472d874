/** The settings of the HTTP API. Everything has a default that suits a server behind a reverse proxy. */
import { type AuthenticationSettings, defaultAuthentication } from "@colloquy/core/adapters"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"

/** The limits of a body: numbers of bytes, except `files` and `parts`. */
export interface Limits {
  /** The limit of any single text, and of metadata as a whole. */
  readonly text: number
  /** The limit of a JSON or URL-encoded body, and of one form field. */
  readonly body: number
  /** The limit of one uploaded file. */
  readonly file: number
  /** The limit of a whole multipart body. */
  readonly upload: number
  /** The most files of a multipart body. */
  readonly files: number
  /** The most parts of a multipart body, including its files. */
  readonly parts: number
}

/** The pages of other origins that may call the API. */
export interface Cors {
  readonly allowedOrigins: ReadonlyArray<string>
  readonly credentials?: boolean
  /** Seconds for which a browser may keep the answer to its preflight. */
  readonly maxAge?: number
}

/** Limits of a body, in bytes and in time. */
export interface Bounds {
  readonly limits: Limits
  /** A body must arrive within this time; of a multipart body, each piece within this time after the one before. */
  readonly bodyTimeout: Duration.Input
}

export interface HttpSettings extends Bounds, AuthenticationSettings {
  /** A stream without events for so long gets a comment line, so that proxies keep the connection open. */
  readonly heartbeat: Duration.Input
  /**
   * The most streams of events at once in this process; one more is answered with 503. An owner gets a stream only while more are free than
   * this owner has open.
   */
  readonly streams: number
  /** Null: no other origin may read the answers. */
  readonly cors: Cors | null
  /**
   * The address at which others reach this server: an origin such as `https://ai.example`, without the base path. Null: addresses of
   * documents begin with the path, and no addresses can be given to vendors that fetch files themselves. A function, if the origin is known
   * only when the server listens.
   */
  readonly publicUrl: string | null | (() => string | null)
  /**
   * Signs addresses of documents. Null: a random key, so the addresses are valid in this process only. Of several keys the first one
   * signs, and addresses that any of them has signed are valid. Whoever removes a key ends all addresses that the key has signed.
   */
  readonly signingKey: Redacted.Redacted | ReadonlyArray<Redacted.Redacted> | null
  /** The shortest time for which an address of a document in an answer is valid; the longest is twice this time. */
  readonly linkPeriod: Duration.Input
}

const mebibyte = 1024 * 1024

/** The settings of a host that changes none. */
export const defaultHttpSettings: HttpSettings = {
  limits: { text: mebibyte, body: 8 * mebibyte, file: 50 * mebibyte, upload: 200 * mebibyte, files: 20, parts: 200 },
  bodyTimeout: "30 seconds",
  heartbeat: "15 seconds",
  streams: 12_000,
  ...defaultAuthentication,
  cors: null,
  publicUrl: null,
  signingKey: null,
  linkPeriod: "1 day"
}

export const HttpSettings = Context.Reference<HttpSettings>("@colloquy/http/HttpSettings", {
  defaultValue: () => defaultHttpSettings
})
