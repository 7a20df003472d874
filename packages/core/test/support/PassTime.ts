/** Virtual time beside what takes its own: the kernel computes hashes outside of it. */
import * as Effect from "effect/Effect"
import { setImmediate } from "node:timers/promises"
import { TestClock } from "effect/testing"

/** Lets the event loop go on once. */
export const loopTurn: Effect.Effect<void> = Effect.promise(() => setImmediate())

/** Time passes in steps of a second. Each step lets hashes end that were begun. */
export const passSeconds = (count: number): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: count }),
    () =>
      TestClock.adjust("1 second").pipe(
        Effect.andThen(loopTurn),
        Effect.andThen(Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new Uint8Array())))
      ),
    { discard: true }
  )
