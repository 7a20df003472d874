/** Parts that read the answer aloud: each hears the words from the first one on, while they are written. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { History } from "../threads/Message.ts"
import type { Leg } from "./Leg.ts"
import { liveTurn } from "./LegTurn.ts"
import { wordsOf } from "./Words.ts"

export interface Speaking {
  /** Tells the parts that no more words will come, and waits until they have spoken. */
  readonly lastWord: Effect.Effect<void>
}

const silence: Speaking = { lastWord: Effect.void }

/** Parts that still speak when the scope closes are stopped. A fault in a part that speaks is its own affair. */
export const startSpeaking = (leg: Leg, history: History): Effect.Effect<Speaking, never, Principal | Scope.Scope> => {
  const speakers = leg.parts.filter((part) => part.speak !== undefined)
  if (speakers.length === 0) return Effect.succeed(silence)
  const words = wordsOf(leg.log)
  return Effect.map(
    Effect.forEach(speakers, (part) =>
      Effect.suspend(() => part.speak?.(liveTurn(leg, part.name, history), words.stream()) ?? Effect.void).pipe(
        Effect.catchCause((cause) => Effect.logWarning(`The part "${part.name}" could not speak`, cause)),
        Effect.forkScoped({ startImmediately: true })
      )
    ),
    (fibers) => ({
      lastWord: Effect.suspend(() => {
        words.end()
        return Effect.forEach(fibers, (fiber) => Fiber.await(fiber), { discard: true })
      })
    })
  )
}
