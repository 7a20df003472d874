/**
 * Typed answers from the probabilities of tokens: the model is asked for one label, and what it might have said instead is the
 * distribution. More options than a provider tells candidates for are asked in rounds: first within groups, then among the winners of the
 * groups, whose shares weigh the groups.
 *
 * A model that has no log-probabilities, or refuses to give them, answers in words where it can; the reply says so.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { AnswerDriver, AnswerReply, AnswerRequest } from "../models/AnswerDriver.ts"
import { ModelError } from "../models/ModelError.ts"
import type { NextTokenDriver } from "../models/NextTokenDriver.ts"
import { estimateTokens } from "../models/TokenCounter.ts"
import { addUsage, noUsage, type Usage } from "../primitives/Usage.ts"
import type { AnswerPolicy } from "./AnswerSettings.ts"
import {
  byOption,
  demandLabel,
  type Labelled,
  labelsOf,
  lettered,
  maximumLabels,
  promptOf,
  rules,
  toSumOne,
  weighLabels
} from "./Labels.ts"
import { answerEach, unreadable, withSpent } from "./QuestionByQuestion.ts"
import type { Question } from "./Question.ts"
import type { Refusals } from "./Refusals.ts"

/** `instead` answers where there are no log-probabilities. */
export const labelDriver =
  (
    nextToken: NextTokenDriver,
    instead: AnswerDriver | undefined,
    settings: AnswerPolicy,
    refusals: Refusals
  ): AnswerDriver =>
  (request) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (instead !== undefined && refusals.has(request, now)) return instead(request)
      const replace = (spent: Usage) =>
        Effect.tap(answerInstead(instead, request, spent), () => Effect.sync(() => refusals.add(request, now)))
      return answerByLabels(nextToken, request, settings).pipe(
        Effect.catchTag("NoLogProbabilities", ({ usage }) => replace(usage)),
        Effect.catchIf(
          (error) => instead !== undefined && error.reason === "invalid_request",
          ({ usage }) => replace(usage ?? noUsage)
        )
      )
    })

const answerByLabels = (nextToken: NextTokenDriver, request: AnswerRequest, settings: AnswerPolicy) =>
  answerEach(
    request,
    { method: "logprobs", estimated: false, concurrency: settings.concurrency },
    (question) =>
      Effect.map(weigh(nextToken, request, question, labelsOf(question), settings), ({ labels, weights, ...told }) => ({
        ...told,
        probabilities: byOption(labels, weights)
      })),
    (error, spent) =>
      error._tag === "ModelError"
        ? withSpent(error, spent)
        : new NoLogProbabilities({ usage: addUsage(error.usage, spent) })
  )

/** The answer came without log-probabilities; it has cost something nevertheless. */
class NoLogProbabilities extends Data.TaggedError("NoLogProbabilities")<{ readonly usage: Usage }> {}

const answerInstead = (
  instead: AnswerDriver | undefined,
  request: AnswerRequest,
  spent: Usage
): Effect.Effect<AnswerReply, ModelError> => {
  const { provider, model } = request
  return instead === undefined
    ? Effect.fail(
        new ModelError({ reason: "malformed", code: "no_logprobs", shouldRetry: false, usage: spent, provider, model })
      )
    : Effect.mapBoth(instead(request), {
        onFailure: (error) => withSpent(error, spent),
        onSuccess: (reply) => ({ ...reply, usage: reply.usage === null ? null : addUsage(spent, reply.usage) })
      })
}

interface Weighed {
  readonly labels: ReadonlyArray<Labelled>
  /** Of the labels, with the sum 1. */
  readonly weights: ReadonlyArray<number>
  readonly model: string | null
  readonly usage: Usage
}

type Weighing = Effect.Effect<Weighed, ModelError | NoLogProbabilities>

const weigh = (
  nextToken: NextTokenDriver,
  request: AnswerRequest,
  question: Question,
  labels: ReadonlyArray<Labelled>,
  settings: AnswerPolicy
): Weighing => {
  if (labels.length > maximumLabels) return weighInRounds(nextToken, request, question, labels, settings)
  const forward = weighOnce(nextToken, request, question, labels)
  if (!settings.bothOrders) return forward
  const backward = weighOnce(nextToken, request, question, turned(question, labels))
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

/** The same options in the other order. Letters belong to places; digits, Yes and No belong to what they mean. */
const turned = (question: Question, labels: ReadonlyArray<Labelled>): ReadonlyArray<Labelled> =>
  question.type === "choice" ? lettered(labels.toReversed()) : labels.toReversed()

const weighOnce = (
  nextToken: NextTokenDriver,
  request: AnswerRequest,
  question: Question,
  labels: ReadonlyArray<Labelled>
): Weighing => {
  const { apiKey, info, model, provider } = request
  const prompt = promptOf(request.state, question, labels, demandLabel(labels))
  return Effect.flatMap(
    nextToken({ provider, model, info, system: rules, prompt, maxTokens: 4, apiKey }),
    (reply): Weighing => {
      const usage = reply.usage ?? estimate(rules + prompt)
      if (reply.places.every(({ candidates }) => candidates.length === 0)) {
        return Effect.fail(new NoLogProbabilities({ usage }))
      }
      const weights = weighLabels(reply.places, labels)
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

const weighInRounds = (
  nextToken: NextTokenDriver,
  request: AnswerRequest,
  question: Question,
  labels: ReadonlyArray<Labelled>,
  settings: AnswerPolicy
): Weighing =>
  Effect.gen(function* () {
    const again = (some: ReadonlyArray<Labelled>) => weigh(nextToken, request, question, lettered(some), settings)
    const groups = yield* Effect.forEach(toGroups(labels), again, { concurrency: settings.concurrency })
    const final = yield* again(groups.flatMap(winnerOf))
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

/** As few groups as can be, of nearly the same size. */
const toGroups = (labels: ReadonlyArray<Labelled>): ReadonlyArray<ReadonlyArray<Labelled>> => {
  const count = Math.ceil(labels.length / maximumLabels)
  const startOf = (group: number) => Math.round((group * labels.length) / count)
  return Array.from({ length: count }, (_, group) => labels.slice(startOf(group), startOf(group + 1)))
}

/** A list, of one label. */
const winnerOf = ({ labels, weights }: Weighed): ReadonlyArray<Labelled> => {
  const place = weights.indexOf(Math.max(...weights))
  return labels.slice(place, place + 1)
}
