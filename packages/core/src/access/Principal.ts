/**
 * The owner on whose behalf code runs. Every storage port requires the `Principal` in the Effect context, so a query without an owner does
 * not compile. `http` provides it per request; a host that uses Effect provides it with `Principal.provide(ownerId)`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { OwnerId } from "../primitives/Ids.ts"

export class Principal extends Context.Service<Principal, { readonly ownerId: OwnerId }>()(
  "@colloquy/core/access/Principal"
) {
  /** Runs an effect on behalf of one owner: `Principal.provide("user-1")`. */
  static readonly provide =
    (ownerId: string) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Principal>> =>
      Effect.provideService(self, Principal, { ownerId: OwnerId.make(ownerId) })
}
