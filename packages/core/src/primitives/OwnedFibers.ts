/**
 * Fibers that are interrupted when a scope closes, as with `Effect.forkIn`. That keeps its fibers in a `Map` of the scope, where they hold
 * their requests for too long (see `Transient.ts`).
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { TransientSet } from "./Transient.ts"

export interface OwnedFibers {
  /**
   * Once the scope is closed, the effect does not begin: its fiber is an interrupted one. It begins when other fibers had their turn, or
   * immediately.
   */
  readonly fork: <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    options?: { readonly uninterruptible?: boolean; readonly startImmediately?: boolean }
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
    fork: <A, E, R>(
      effect: Effect.Effect<A, E, R>,
      { startImmediately = false, uninterruptible = false }: Parameters<OwnedFibers["fork"]>[1] = {}
    ) =>
      Effect.contextWith((context: Context.Context<R>) => {
        const work = startImmediately ? effect : Effect.andThen(Effect.yieldNow, effect)
        const fiber = Effect.runForkWith(context)(closed ? Effect.interrupt : work, { uninterruptible })
        fibers.add(fiber)
        fiber.addObserver(() => void fibers.delete(fiber))
        return Effect.succeed(fiber)
      }),
    isClosed: () => closed
  }
})
