/**
 * The functions with which a host states who is asking: `authenticate` for its own sessions and users, and `clientAddress` for the
 * addresses of clients. `http` and `ws` accept both.
 */
import * as Effect from "effect/Effect"
import { ownerNamed, type Principal } from "./Principal.ts"

/**
 * The parts of a request that the host's functions get. `Source` is the type of the host's own request. It is not checked: only the host
 * knows in which framework it mounted the service.
 */
export interface HostCredentials<Source = unknown> {
  readonly authorization: string | null
  /** The header `x_session_token`, also under its name with hyphens. */
  readonly sessionToken: string | null
  /** As the host's middleware has left them. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The host's own request: the Node message, the web `Request`, or the object that the host passed instead. */
  readonly source: Source
}

type Owner = string | null | undefined

/** Returns the owner for whom the request acts, or nothing (null, undefined, an empty text). If it returns nothing, the API key decides. */
export type Authenticate<Source = unknown> = (
  credentials: HostCredentials<Source>
) => Owner | Promise<Owner> | Effect.Effect<Owner>

/** The address of the client of a request, for example `({ source }) => source.ip`; null if it is not known. */
export type ClientAddress<Source = unknown> = (credentials: HostCredentials<Source>) => string | null | undefined

/**
 * Decoder: gives the host's functions the request with the type that the host chose when it mounted the service. The kernel cannot check
 * that type, so this cast is the only place where it is lost.
 */
const asHostSees = (credentials: HostCredentials): HostCredentials<never> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  credentials as HostCredentials<never>

/** Null: the host does not recognise the request. An exception in the host's function, and an answer that is no owner id, are defects. */
export const askHost = (
  authenticate: Authenticate<never>,
  credentials: HostCredentials
): Effect.Effect<typeof Principal.Service | null> =>
  Effect.gen(function* () {
    const answer = authenticate(asHostSees(credentials))
    const owner = Effect.isEffect(answer) ? yield* answer : yield* Effect.promise(async () => answer)
    return owner === null || owner === undefined || owner === "" ? null : { ownerId: ownerNamed(owner) }
  })

export const addressOf = (clientAddress: ClientAddress<never> | null, credentials: HostCredentials): string | null =>
  clientAddress?.(asHostSees(credentials)) ?? null
