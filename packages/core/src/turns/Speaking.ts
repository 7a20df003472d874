/** Parts that read the answer aloud: each hears the words from the first one on, while they are written. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { TurnSettings } from "./TurnSettings.ts"
import { wordsOf } from "./Words.ts"

/** For a part that is stopped. */
const timeToStop = "5 seconds"

export class Speaking extends Context.Service<
  Speaking,
  {
    /**
     * The answer comes about while parts speak it; after its last word the leg waits until they have spoken, for as long as the host
     * allows. One that still speaks then, or when the answer failed, is stopped. A fault in a part that speaks is its own affair.
     */
    readonly speakWhile: <A, E>(
      leg: Leg,
      turnOf: (part: string) => LiveTurn,
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
        turnOf: (part: string) => LiveTurn,
        answer: Effect.Effect<A, E, Principal>
      ): Effect.Effect<A, E, Principal> => {
        const speakers = leg.parts.filter((part) => part.speak !== undefined)
        if (speakers.length === 0) return answer
        const words = wordsOf(leg.log)
        const speak = Effect.forEach(speakers, ({ name, speak: speakBy }) =>
          Effect.suspend(() => speakBy?.(turnOf(name), words.stream()) ?? Effect.void).pipe(
            Effect.catchCause((cause) => Effect.logWarning(`The part "${name}" could not speak`, cause)),
            Effect.forkDetach({ startImmediately: true })
          )
        )
        return Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(speak, (fibers) => {
            const spoken = Effect.suspend(() => {
              words.end()
              const all = Effect.forEach(fibers, (fiber) => Fiber.await(fiber), { discard: true })
              const late = () => Effect.logWarning(`A part still spoke run ${leg.lease.runId} when its time was over`)
              return deadlines.within(speakTimeout, all, late)
            })
            // What one that is stopped still has to tell belongs to the leg; one that cannot be stopped is left behind.
            const stop = deadlines.within(timeToStop, Fiber.interruptAll(fibers), () => Effect.void)
            return Effect.ensuring(restore(Effect.tap(answer, () => spoken)), stop)
          })
        )
      }
      return Speaking.of({ speakWhile })
    })
  )
}
