/** Parts that read the answer aloud: each hears the words from the first one on, while they are written. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Principal } from "../access/Principal.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { wordsOf } from "./Words.ts"

/**
 * The answer comes about while parts speak it; after its last word the leg waits until they have spoken. One that still speaks when the
 * answer failed is stopped. A fault in a part that speaks is its own affair.
 */
export const speakWhile = <A, E>(
  leg: Leg,
  turnOf: (part: string) => LiveTurn,
  answer: Effect.Effect<A, E, Principal>
): Effect.Effect<A, E, Principal> => {
  const speakers = leg.parts.filter((part) => part.speak !== undefined)
  if (speakers.length === 0) return answer
  const words = wordsOf(leg.log)
  return Effect.scoped(
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(speakers, (part) =>
        Effect.suspend(() => part.speak?.(turnOf(part.name), words.stream()) ?? Effect.void).pipe(
          Effect.catchCause((cause) => Effect.logWarning(`The part "${part.name}" could not speak`, cause)),
          Effect.forkScoped({ startImmediately: true })
        )
      )
      const answered = yield* answer
      words.end()
      yield* Effect.forEach(fibers, (fiber) => Fiber.await(fiber), { discard: true })
      return answered
    })
  )
}
