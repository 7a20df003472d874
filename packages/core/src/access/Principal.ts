/**
 * The owner on whose behalf code runs. Every storage port requires the `Principal` in the Effect context, so a query without an owner does
 * not compile. `http` provides it per request; a host that uses Effect provides it with `Principal.provide(ownerId)`.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type KeyId, OwnerId } from "../primitives/Ids.ts"
import type { KeyScope } from "./KeyScope.ts"

/** In characters, as all names are counted. */
const longest = 255

/** A defect of the host, which names its users: owners are part of the keys of every table. */
class OwnerRefused extends Schema.TaggedError<OwnerRefused>()("OwnerRefused", { given: Schema.String }) {
  override get message() {
    return `An owner is named by a text of 1 to ${longest} characters; this was ${this.given}.`
  }
}

/** The id of an owner as the host names it. Throws where that is no name. */
export const ownerNamed = (name: unknown): OwnerId => {
  if (typeof name !== "string") throw new OwnerRefused({ given: `a value of the type ${typeof name}` })
  if (name === "") throw new OwnerRefused({ given: "empty" })
  if (name.length > longest && Array.from(name).length > longest)
    throw new OwnerRefused({ given: `one of ${name.length}` })
  return OwnerId.make(name)
}

export class Principal extends Context.Service<
  Principal,
  {
    readonly ownerId: OwnerId
    /** The key of the request. Absent: the host's own code, or a session of the host. */
    readonly keyId?: KeyId
    /** Its name. */
    readonly keyName?: string
    /** What the request may do. Absent: everything. The transports check it; the use cases do not. */
    readonly scope?: KeyScope
  }
>()("@colloquy/core/access/Principal") {
  /** Runs an effect on behalf of one owner: `Principal.provide("user-1")`. */
  static readonly provide =
    (ownerId: string) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Principal>> =>
      Effect.provideService(self, Principal, { ownerId: ownerNamed(ownerId) })
}

/** The principal and the time, in one step of the runtime: for what every turn does. */
export const callerNow = Effect.withFiberSucceed<
  { readonly principal: typeof Principal.Service; readonly now: number },
  Principal
>((fiber) => ({
  principal: Context.getUnsafe(fiber.context, Principal),
  now: fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
}))

/** Who acts: the name of the key; for the host's own code and sessions, the owner. */
export const actorName = ({ keyName, ownerId }: typeof Principal.Service): string => keyName ?? ownerId
