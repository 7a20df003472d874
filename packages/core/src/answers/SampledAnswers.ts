/**
 * Typed answers from any chat model: it is asked the same question many times, and the shares of its answers are the distribution. This is
 * coarse and expensive, but independent of what the model says about its own certainty. The reply is marked as an estimate.
 */
import * as Effect from "effect/Effect"
import type { AnswerDriver, AnswerRequest } from "../models/AnswerDriver.ts"
import type { ChatDriver } from "../models/ChatDriver.ts"
import { addUsage, noUsage } from "../primitives/Usage.ts"
import type { AnswerPolicy } from "./AnswerSettings.ts"
import { complete } from "../models/Completion.ts"
import { byOption, demandLabel, labelIn, optionLabels, labelPrompt, rules, toSumOne } from "./Labels.ts"
import type { Question } from "./Question.ts"
import { answerEach, unreadable, withSpent } from "./QuestionByQuestion.ts"

/** Answers without a label do not count. If no answer has a label, there is no distribution. */
const answerSampled = Effect.fnUntraced(function* (
  chat: ChatDriver,
  settings: AnswerPolicy,
  request: AnswerRequest,
  question: Question
) {
  const labels = optionLabels(question)
  const asked = {
    system: rules,
    prompt: labelPrompt(request.state, question, labels, demandLabel(labels)),
    jsonOutput: false
  }
  let usage = noUsage
  const sample = Effect.tap(complete(chat, request, asked, settings), (each) =>
    Effect.sync(() => {
      usage = addUsage(usage, each.usage)
    })
  )
  const samples = yield* Effect.mapError(
    Effect.replicateEffect(sample, Math.max(1, settings.samples), { concurrency: settings.concurrency }),
    (error) => withSpent(error, usage)
  )
  const said = samples.map(({ text }) => labelIn(text, labels))
  const counts = labels.map((label) => said.filter((each) => each === label).length)
  if (counts.every((count) => count === 0)) return yield* unreadable(request, usage)
  return {
    probabilities: byOption(labels, toSumOne(counts)),
    model: samples.find(({ model }) => model !== null)?.model ?? null,
    usage
  }
})

export const sampledDriver =
  (chat: ChatDriver, settings: AnswerPolicy): AnswerDriver =>
  (request) =>
    // The samples of one question run in parallel, the questions one after the other, so that the number of concurrent requests stays
    // within the host's limit.
    answerEach(
      request,
      { method: "sampled", estimated: true, concurrency: 1 },
      (question) => answerSampled(chat, settings, request, question),
      withSpent
    )
