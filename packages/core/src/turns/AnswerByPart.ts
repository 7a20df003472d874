/** Steps 6 and 7 where a part of the turn answers instead of a conversation model: its answer is one step of the log, as a model's would be. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { ModelError } from "../models/ModelError.ts"
import { usageWithinBounds } from "../models/ReportedFigures.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { History } from "../threads/Message.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { LegOutcome } from "./ModelLoop.ts"
import { TurnSettings } from "./TurnSettings.ts"

export class AnswerByPart extends Context.Service<
  AnswerByPart,
  {
    /** In the time that a model has for a step. */
    readonly answerByPart: (
      leg: Leg,
      turnOf: (part: string) => LiveTurn,
      history: History
    ) => Effect.Effect<LegOutcome, ModelError, Principal>
  }
>()("@colloquy/core/turns/AnswerByPart") {
  static readonly layer: Layer.Layer<AnswerByPart, never, Deadlines> = Layer.effect(
    AnswerByPart,
    Effect.gen(function* () {
      const deadlines = yield* Deadlines
      const { chat } = yield* TurnSettings

      const answerByPart = Effect.fnUntraced(function* (
        leg: Leg,
        turnOf: (part: string) => LiveTurn,
        history: History
      ): Effect.fn.Return<LegOutcome, ModelError, Principal> {
        const { log, model } = leg
        const part = leg.parts.find(({ name }) => name === leg.plan.answeredBy)
        const answer = part?.answer
        const fail = (reason: ModelError["reason"]) =>
          Effect.fail(new ModelError({ reason, provider: model.provider, model: model.model }))
        // The part was there when the turn was decided: another version of the kernel works on it now, and cannot read its plan.
        if (part === undefined || answer === undefined) return yield* fail("invalid_request")
        const promptTokens = history.messages.reduce((sum, message) => sum + message.tokens, 0)
        const startedAt = yield* Clock.currentTimeMillis
        log.push((sequence) => ({ _tag: "StepStarted", sequence, promptTokens, at: startedAt }))
        const endStep = (reported: Usage, answeredBy: string | null) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const usage = usageWithinBounds(reported)
            log.push((sequence) => ({ _tag: "StepEnded", sequence, usage, model: answeredBy, providerData: null, at }))
          })
        const asked = Effect.suspend(() => answer(turnOf(part.name), history))
        const answered = yield* deadlines
          .within(chat.stepTimeout, asked, () => fail("timeout"))
          // What a failed answer used is what its error tells, and nothing otherwise: a refused request is not estimated.
          .pipe(Effect.tapError(({ usage = noUsage }) => endStep(usage, null)))
        if (answered.content !== "") log.push((sequence) => ({ _tag: "TextDelta", sequence, text: answered.content }))
        yield* endStep(answered.usage ?? noUsage, answered.model ?? model.model)
        log.wake()
        return LegOutcome.Answered()
      })

      return AnswerByPart.of({ answerByPart })
    })
  )
}
