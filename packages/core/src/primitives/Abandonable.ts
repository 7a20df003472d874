/**
 * For code that is not ours, in a place where nobody may wait for it: a provider's driver, a host's tool. Interrupting an effect waits
 * for its cleanup, and some cleanups never end (an async generator that is stuck in an `await`, an uninterruptible handler).
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** The same effect, but whoever interrupts it goes on at once; the cleanup takes place behind his back. */
export const abandonable = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) =>
      restore(Fiber.join(fiber)).pipe(Effect.onInterrupt(() => Effect.sync(() => fiber.interruptUnsafe())))
    )
  )
