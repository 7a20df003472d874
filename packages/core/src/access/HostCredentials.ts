/** What a host may say about who asks: its own sessions and users (`authenticate`), and the addresses of clients. `http` and `ws` take both. */
import * as Effect from "effect/Effect"
import { OwnerId } from "../primitives/Ids.ts"
import type { Principal } from "./Principal.ts"

/**
 * What the host's functions get of a request. `Source` is the type of the host's own request; nothing checks it, since a host knows what it
 * mounted the service in.
 */
export interface HostCredentials<Source = unknown> {
  readonly authorization: string | null
  /** The header `x_session_token`, also under its name with hyphens. */
  readonly sessionToken: string | null
  /** As the host's middleware has left them. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The host's own request: the Node message, the web `Request`, or what the host named in its place. */
  readonly source: Source
}

type Owner = string | null | undefined

/** Answers with the owner for whom the request acts, or with nothing (null, undefined, empty text): then the API key decides. */
export type Authenticate<Source = unknown> = (
  credentials: HostCredentials<Source>
) => Owner | Promise<Owner> | Effect.Effect<Owner>

/** The address of the client of a request, such as `({ source }) => source.ip`; null: not known. */
export type ClientAddress<Source = unknown> = (credentials: HostCredentials<Source>) => string | null | undefined

/**
 * The host's functions get its request under the type that the host gave it where it mounted the service. The kernel cannot check that;
 * this is the one place where the type is let go.
 */
const asHostSees = (credentials: HostCredentials): HostCredentials<never> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  credentials as HostCredentials<never>

/** Null: the host does not know the request. What the host's function throws is a defect. */
export const askHost = (
  authenticate: Authenticate<never>,
  credentials: HostCredentials
): Effect.Effect<typeof Principal.Service | null> =>
  Effect.gen(function* () {
    const answer = authenticate(asHostSees(credentials))
    const owner = Effect.isEffect(answer) ? yield* answer : yield* Effect.promise(async () => answer)
    return owner === null || owner === undefined || owner === "" ? null : { ownerId: OwnerId.make(owner) }
  })

export const addressOf = (clientAddress: ClientAddress<never> | null, credentials: HostCredentials): string | null =>
  clientAddress?.(asHostSees(credentials)) ?? null
