/** Steps 6 and 7 where a part of the turn answers instead of a conversation model: its answer is one step of the log, as a model's would be. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import { ModelError } from "../models/ModelError.ts"
import { noUsage } from "../primitives/Usage.ts"
import type { History } from "../threads/Message.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { LegOutcome } from "./ModelLoop.ts"

export const answerByPart = Effect.fnUntraced(function* (
  leg: Leg,
  turnOf: (part: string) => LiveTurn,
  history: History
): Effect.fn.Return<LegOutcome, ModelError, Principal> {
  const { log, model } = leg
  const part = leg.parts.find(({ name }) => name === leg.plan.answeredBy)
  // The part was there when the turn was decided: another version of the kernel works on it now, and cannot read its plan.
  if (part?.answer === undefined) {
    return yield* new ModelError({ reason: "invalid_request", provider: model.provider, model: model.model })
  }
  const promptTokens = history.messages.reduce((sum, message) => sum + message.tokens, 0)
  const startedAt = yield* Clock.currentTimeMillis
  log.push((sequence) => ({ _tag: "StepStarted", sequence, promptTokens, at: startedAt }))
  const answer = yield* part.answer(turnOf(part.name), history).pipe(
    // What a failed answer used is what its error tells, and nothing otherwise: a refused request is not estimated.
    Effect.tapError(({ usage = noUsage }) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        log.push((sequence) => ({ _tag: "StepEnded", sequence, usage, model: null, providerData: null, at }))
      })
    )
  )
  const at = yield* Clock.currentTimeMillis
  if (answer.content !== "") log.push((sequence) => ({ _tag: "TextDelta", sequence, text: answer.content }))
  log.push((sequence) => ({
    _tag: "StepEnded",
    sequence,
    usage: answer.usage,
    model: answer.model,
    providerData: null,
    at
  }))
  log.wake()
  return LegOutcome.Answered()
})
