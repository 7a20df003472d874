/**
 * The functions with which a host states who is asking: `authenticate` for its own sessions and users, and `clientAddress` for the
 * addresses of clients. `http` and `ws` accept both.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { KeyScope } from "./KeyScope.ts"
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

/** With a scope, the session may do no more than this. */
export interface ScopedOwner {
  readonly owner: string
  readonly scope: KeyScope
}

type Owner = string | ScopedOwner | null | undefined

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
export const askHost = Effect.fnUntraced(function* (
  authenticate: Authenticate<never>,
  credentials: HostCredentials
): Effect.fn.Return<typeof Principal.Service | null> {
  const answer = authenticate(asHostSees(credentials))
  const owner = Effect.isEffect(answer) ? yield* answer : yield* Effect.promise(async () => answer)
  if (owner === null || owner === undefined || owner === "") return null
  return typeof owner === "object" && "scope" in owner
    ? { ownerId: ownerNamed(owner.owner), scope: scopeNamed(owner.scope) }
    : { ownerId: ownerNamed(owner) }
})

/** Throws where the host names none of the scopes: a session must not be able to do more than its host meant. */
const scopeNamed = Schema.decodeUnknownSync(KeyScope)

export const clientAddressFrom = (
  clientAddress: ClientAddress<never> | null,
  credentials: HostCredentials
): string | null => clientAddress?.(asHostSees(credentials)) ?? null
