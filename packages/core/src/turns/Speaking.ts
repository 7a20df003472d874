/** Lets parts read the answer aloud. Each part receives the text while it is written, from its first word on. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { TurnSettings } from "./TurnSettings.ts"
import { followWords } from "./Words.ts"

/** How long the leg waits for a part that it has stopped. */
const timeToStop = "5 seconds"

export class Speaking extends Context.Service<
  Speaking,
  {
    /**
     * Parts speak the answer while it is written. After its last word the leg waits until they have finished, at most for `speakTimeout`. A
     * part that still speaks then is stopped, and so are all parts when the answer fails. An error in a part that speaks is logged and does
     * not fail the leg.
     */
    readonly speakWhile: <A, E>(
      leg: Leg,
      findTurn: (part: string) => LiveTurn,
      answer: Effect.Effect<A, E, Principal>
    ) => Effect.Effect<A, E, Principal>
  }
>()("@colloquy/core/turns/Speaking") {
  static readonly layer: Layer.Layer<Speaking, never, Deadlines> = Layer.effect(
    Speaking,
    Effect.gen(function* () {
      const deadlines = yield* Deadlines
      const { speakTimeout } = yield* TurnSettings

      const speakWhile = <A, E>(
        leg: Leg,
        findTurn: (part: string) => LiveTurn,
        answer: Effect.Effect<A, E, Principal>
      ): Effect.Effect<A, E, Principal> => {
        const speakers = leg.parts.filter((part) => part.has("speak"))
        if (speakers.length === 0) return answer
        const words = followWords(leg.log)
        const speak = Effect.forEach(speakers, (part) =>
          Effect.forkDetach(
            Effect.suspend(() => part.speak(findTurn(part.name), words.stream())),
            { startImmediately: true }
          )
        )
        return Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(speak, (fibers) => {
            const spoken = Effect.suspend(() => {
              words.end()
              const all = Effect.forEach(fibers, (fiber) => Fiber.await(fiber), { discard: true })
              const late = () =>
                Effect.logWarning(
                  `A part was still speaking the answer of run ${leg.lease.runId} when its time limit expired`
                )
              return deadlines.within(speakTimeout, all, late)
            })
            // Events that a stopped part still tells belong to the leg, so the leg waits for it, but no longer than `timeToStop`.
            const stop = deadlines.within(timeToStop, Fiber.interruptAll(fibers), () => Effect.void)
            return Effect.ensuring(restore(Effect.tap(answer, () => spoken)), stop)
          })
        )
      }
      return Speaking.of({ speakWhile })
    })
  )
}
