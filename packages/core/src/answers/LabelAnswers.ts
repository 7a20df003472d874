/**
 * Typed answers from token probabilities: the model is asked for one label, and the probabilities of all labels at that token are the
 * distribution. If there are more options than a provider reports candidates for, they are asked in rounds: first within groups, then among
 * the winners of the groups, whose shares weight the groups.
 *
 * If a model does not report log-probabilities, the fallback driver answers in words, and the reply says so.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AnswerDriver, AnswerReply, AnswerRequest } from "../models/AnswerDriver.ts"
import { ModelError } from "../models/ModelError.ts"
import type { NextTokenDriver } from "../models/NextTokenDriver.ts"
import { estimateTokens } from "../models/EstimateTokens.ts"
import { addUsage, noUsage, Usage } from "../primitives/Usage.ts"
import type { AnswerPolicy } from "./AnswerSettings.ts"
import {
  byOption,
  demandLabel,
  type OptionLabel,
  optionLabels,
  withLetters,
  maximumLabels,
  labelPrompt,
  rules,
  toSumOne,
  weighLabels
} from "./Labels.ts"
import { answerEach, unreadable, withSpent } from "./QuestionByQuestion.ts"
import type { Question } from "./Question.ts"
import type { Refusals } from "./Refusals.ts"

/** `fallback` answers when the model reports no log-probabilities. */
export const labelDriver =
  (
    nextToken: NextTokenDriver,
    fallback: AnswerDriver | undefined,
    settings: AnswerPolicy,
    refusals: Refusals
  ): AnswerDriver =>
  (request) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (fallback !== undefined && refusals.has(request, now)) return fallback(request)
      const useFallback = (spent: Usage) =>
        Effect.tap(answerByFallback(fallback, request, spent), () => Effect.sync(() => refusals.add(request, now)))
      return answerByLabels(nextToken, request, settings).pipe(
        Effect.catchTag("NoLogProbabilities", ({ usage }) => useFallback(usage)),
        Effect.catchIf(
          (error) => fallback !== undefined && error.reason === "invalid_request",
          ({ usage }) => useFallback(usage ?? noUsage)
        )
      )
    })

const answerByLabels = (nextToken: NextTokenDriver, request: AnswerRequest, settings: AnswerPolicy) =>
  answerEach(
    request,
    { method: "logprobs", estimated: false, concurrency: settings.concurrency },
    (question) =>
      Effect.map(
        weigh(nextToken, request, question, optionLabels(question), settings),
        ({ labels, weights, ...told }) => ({
          ...told,
          probabilities: byOption(labels, weights)
        })
      ),
    (error, spent) =>
      error._tag === "ModelError"
        ? withSpent(error, spent)
        : new NoLogProbabilities({ usage: addUsage(error.usage, spent) })
  )

/** The answer came without log-probabilities. Its usage is paid for all the same. */
class NoLogProbabilities extends Schema.TaggedError<NoLogProbabilities>()("NoLogProbabilities", { usage: Usage }) {}

const answerByFallback = (
  fallback: AnswerDriver | undefined,
  request: AnswerRequest,
  spent: Usage
): Effect.Effect<AnswerReply, ModelError> => {
  const { provider, model } = request
  return fallback === undefined
    ? Effect.fail(
        new ModelError({ reason: "malformed", code: "no_logprobs", shouldRetry: false, usage: spent, provider, model })
      )
    : Effect.mapBoth(fallback(request), {
        onFailure: (error) => withSpent(error, spent),
        onSuccess: (reply) => ({ ...reply, usage: reply.usage === null ? null : addUsage(spent, reply.usage) })
      })
}

interface Weighed {
  readonly labels: ReadonlyArray<OptionLabel>
  /** One weight for each label; their sum is 1. */
  readonly weights: ReadonlyArray<number>
  readonly model: string | null
  readonly usage: Usage
}

type Weighing = Effect.Effect<Weighed, ModelError | NoLogProbabilities>

const weigh = (
  nextToken: NextTokenDriver,
  request: AnswerRequest,
  question: Question,
  labels: ReadonlyArray<OptionLabel>,
  settings: AnswerPolicy
): Weighing => {
  if (labels.length > maximumLabels) return weighInRounds(nextToken, request, question, labels, settings)
  const forward = weighOnce(nextToken, request, question, labels)
  if (!settings.bothOrders) return forward
  const backward = weighOnce(nextToken, request, question, reversed(question, labels))
  return Effect.map(Effect.all([forward, backward], { concurrency: 2 }), ([there, back]) => {
    const other = byOption(back.labels, back.weights)
    return {
      labels,
      weights: labels.map(({ option }, index) => ((there.weights[index] ?? 0) + (other[option] ?? 0)) / 2),
      model: there.model ?? back.model,
      usage: addUsage(there.usage, back.usage)
    }
  })
}

/**
 * The same options in reverse order. Letters belong to positions, so they are assigned again; digits, Yes and No belong to their meaning.
 */
const reversed = (question: Question, labels: ReadonlyArray<OptionLabel>): ReadonlyArray<OptionLabel> =>
  question.type === "choice" ? withLetters(labels.toReversed()) : labels.toReversed()

const weighOnce = (
  nextToken: NextTokenDriver,
  request: AnswerRequest,
  question: Question,
  labels: ReadonlyArray<OptionLabel>
): Weighing => {
  const { apiKey, info, model, provider } = request
  const prompt = labelPrompt(request.state, question, labels, demandLabel(labels))
  return Effect.flatMap(
    nextToken({ provider, model, info, system: rules, prompt, maxTokens: 4, apiKey }),
    (reply): Weighing => {
      const usage = reply.usage ?? estimate(rules + prompt)
      if (reply.positions.every(({ candidates }) => candidates.length === 0)) {
        return Effect.fail(new NoLogProbabilities({ usage }))
      }
      const weights = weighLabels(reply.positions, labels)
      return weights === undefined
        ? Effect.fail(unreadable(request, usage))
        : Effect.succeed({ labels, weights, usage, model: reply.model })
    }
  )
}

const estimate = (prompt: string): Usage => ({
  ...noUsage,
  inputTokens: estimateTokens(prompt),
  outputTokens: 1,
  estimated: true
})

const weighInRounds = Effect.fnUntraced(function* (
  nextToken: NextTokenDriver,
  request: AnswerRequest,
  question: Question,
  labels: ReadonlyArray<OptionLabel>,
  settings: AnswerPolicy
) {
  const again = (some: ReadonlyArray<OptionLabel>) => weigh(nextToken, request, question, withLetters(some), settings)
  const groups = yield* Effect.forEach(toGroups(labels), again, { concurrency: settings.concurrency })
  const final = yield* again(groups.flatMap(winningLabels))
  const weights = groups.flatMap((group, index) => {
    const highest = Math.max(...group.weights)
    return group.weights.map((weight) => ((final.weights[index] ?? 0) * weight) / highest)
  })
  return {
    labels,
    weights: toSumOne(weights),
    model: final.model,
    usage: groups.map(({ usage }) => usage).reduce(addUsage, final.usage)
  }
})

/** Makes as few groups as possible, of nearly the same size. */
const toGroups = (labels: ReadonlyArray<OptionLabel>): ReadonlyArray<ReadonlyArray<OptionLabel>> => {
  const count = Math.ceil(labels.length / maximumLabels)
  const groupStart = (group: number) => Math.round((group * labels.length) / count)
  return Array.from({ length: count }, (_, group) => labels.slice(groupStart(group), groupStart(group + 1)))
}

/** The most probable label of a group, as a list of one. */
const winningLabels = ({ labels, weights }: Weighed): ReadonlyArray<OptionLabel> => {
  const index = weights.indexOf(Math.max(...weights))
  return labels.slice(index, index + 1)
}
