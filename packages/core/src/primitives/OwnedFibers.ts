/**
 * Fibers that are interrupted when a scope closes, as with `Effect.forkIn`. That keeps its fibers in a `Map` of the scope, where they hold
 * their requests for too long (see `Transient.ts`).
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { TransientSet } from "./Transient.ts"

export interface OwnedFibers {
  /** Once the scope is closed, the effect does not begin: its fiber is an interrupted one. */
  readonly fork: <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    options?: { readonly uninterruptible?: boolean }
  ) => Effect.Effect<Fiber.Fiber<A, E>, never, R>
  readonly isClosed: () => boolean
}

export const makeOwnedFibers: Effect.Effect<OwnedFibers, never, Scope.Scope> = Effect.gen(function* () {
  const fibers = new TransientSet<Fiber.Fiber<unknown, unknown>>()
  let closed = false
  yield* Effect.addFinalizer(() => {
    closed = true
    return Fiber.interruptAll([...fibers])
  })
  return {
    fork: (effect, options) =>
      Effect.suspend(() =>
        Effect.map(Effect.forkDetach(closed ? Effect.interrupt : effect, options), (fiber) => {
          fibers.add(fiber)
          fiber.addObserver(() => void fibers.delete(fiber))
          return fiber
        })
      ),
    isClosed: () => closed
  }
})
