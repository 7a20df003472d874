/**
 * Steps 6 and 7 of a turn that a part answers instead of a conversation model. The part's answer is one step of the log, as a model's
 * answer is.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { ModelError } from "../models/ModelError.ts"
import { usageWithinBounds } from "../models/ReportedFigures.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { Leg } from "./Leg.ts"
import { type LegError, LegOutcome, type Reading } from "./ModelLoop.ts"

/** A host without types may give anything; a log with it could not be settled. */
const isAnswer = Schema.is(Schema.Struct({ content: Schema.String, model: Schema.optional(Schema.String) }))

export class AnswerByPart extends Context.Service<
  AnswerByPart,
  {
    readonly answerByPart: (
      leg: Leg,
      reading: Omit<Reading, "recalled">
    ) => Effect.Effect<LegOutcome, LegError, Principal>
  }
>()("@colloquy/core/turns/AnswerByPart") {
  static readonly layer: Layer.Layer<AnswerByPart> = Layer.sync(AnswerByPart, () => {
    const answerByPart = Effect.fnUntraced(function* (
      leg: Leg,
      { history, review, findTurn }: Omit<Reading, "recalled">
    ): Effect.fn.Return<LegOutcome, LegError, Principal> {
      const { log, model } = leg
      const part = leg.parts.find(({ name }) => name === leg.plan.answeredBy)
      const fail = (reason: ModelError["reason"]) =>
        Effect.fail(new ModelError({ reason, provider: model.provider, model: model.model }))
      // The plan names this part, but this version of the kernel cannot read the part's plan: another version decided the turn.
      if (part === undefined) return yield* fail("invalid_request")
      const promptTokens = history.messages.reduce((sum, message) => sum + message.tokens, 0)
      const startedAt = yield* Clock.currentTimeMillis
      log.push((sequence) => ({ _tag: "StepStarted", sequence, promptTokens, at: startedAt }))
      const endStep = (reported: Usage, answeredBy: string | null) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const usage = usageWithinBounds(reported)
          log.push((sequence) => ({ _tag: "StepEnded", sequence, usage, model: answeredBy, providerData: null, at }))
        })
      const answered = yield* part
        .answer(findTurn(part.name), history)
        // A failed answer is charged with the usage that its error reports. Without a report it is charged with nothing, because no usage
        // is estimated for a refused request.
        .pipe(Effect.tapError(({ usage = noUsage }) => endStep(usage, null)))
      if (!isAnswer(answered))
        return yield* Effect.die(new TypeError(`The part "${part.name}" gave no text as its answer`))
      const { supplement } = answered
      const end = endStep(answered.usage ?? noUsage, answered.model ?? model.model)
      const content =
        review === null ? answered.content : yield* Effect.onInterrupt(review.whole(answered.content), () => end)
      if (supplement !== undefined && review?.hasChanged !== true) findTurn(part.name).keep(supplement)
      if (content !== "") log.push((sequence) => ({ _tag: "TextDelta", sequence, text: content }))
      yield* end
      log.wake()
      if (review !== null) yield* review.goesOn
      return LegOutcome.Answered()
    })

    return AnswerByPart.of({ answerByPart })
  })
}
