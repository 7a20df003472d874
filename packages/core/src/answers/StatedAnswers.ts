/** Typed answers from any chat model: it writes a distribution as one JSON object. The reply is marked as an estimate. */
import * as Effect from "effect/Effect"
import type { AnswerDriver, AnswerRequest } from "../models/AnswerDriver.ts"
import type { ChatDriver } from "../models/ChatDriver.ts"
import { noUsage, addUsage } from "../primitives/Usage.ts"
import type { AnswerPolicy } from "./AnswerSettings.ts"
import { complete } from "../models/Completion.ts"
import { byOption, fold, type OptionLabel, optionLabels, labelPrompt, rules, toSumOne } from "./Labels.ts"
import type { Question } from "./Question.ts"
import { answerEach, unreadable, withSpent } from "./QuestionByQuestion.ts"

const answerStated = Effect.fnUntraced(function* (
  chat: ChatDriver,
  settings: AnswerPolicy,
  request: AnswerRequest,
  question: Question
) {
  const labels = optionLabels(question)
  const asked = {
    system: rules,
    prompt: labelPrompt(request.state, question, labels, demand(labels)),
    jsonOutput: true
  }
  let spent = noUsage
  for (let attempt = 0; attempt <= settings.retries; attempt++) {
    const completion = complete(chat, request, asked, settings)
    const { model, text, usage } = yield* Effect.mapError(completion, (error) => withSpent(error, spent))
    spent = addUsage(spent, usage)
    const weights = readStated(text, labels)
    if (weights !== undefined) return { model, probabilities: byOption(labels, weights), usage: spent }
  }
  return yield* unreadable(request, spent)
})

export const statedDriver =
  (chat: ChatDriver, settings: AnswerPolicy): AnswerDriver =>
  (request) =>
    answerEach(
      request,
      { method: "stated", estimated: true, concurrency: settings.concurrency },
      (question) => answerStated(chat, settings, request, question),
      withSpent
    )

const demand = (labels: ReadonlyArray<OptionLabel>): string =>
  "Say how probable each of them is to be the right answer. Reply with one JSON object and nothing else: " +
  `${labels.map(({ label }) => JSON.stringify(label)).join(", ")} as its keys, each with a number from 0 to 1; ` +
  "the numbers add up to 1."

/**
 * The numbers of the labels, scaled to a sum of 1. Models round, and some write percentages. Undefined if the text contains no such object,
 * an unknown key, a value that is not a number, or numbers that are not a distribution. A missing label counts as 0.
 */
export const readStated = (text: string, labels: ReadonlyArray<OptionLabel>): ReadonlyArray<number> | undefined => {
  const stated = objectIn(text)
  if (stated === undefined) return undefined
  const entries = Object.entries(stated).map(([key, value]) => [fold(key), value] as const)
  const known = new Set(labels.map(({ label }) => fold(label)))
  const isSound = entries.every(
    ([key, value]) => known.has(key) && typeof value === "number" && Number.isFinite(value) && value >= 0
  )
  if (!isSound || new Set(entries.map(([key]) => key)).size !== entries.length) return undefined
  const weights = labels.map(({ label }) => Number(entries.find(([key]) => key === fold(label))?.[1] ?? 0))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return isNear(sum, 1) || isNear(sum, 100) ? toSumOne(weights) : undefined
}

const isNear = (sum: number, whole: number): boolean => Math.abs(sum - whole) <= 0.25 * whole

/** Finds the object, also between other words or in a block of code. */
const objectIn = (text: string): object | undefined => {
  try {
    const parsed: unknown = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1))
    return typeof parsed === "object" && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}
