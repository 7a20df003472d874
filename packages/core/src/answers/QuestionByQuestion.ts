/**
 * Shared by the drivers that make typed answers with chat models: each question is asked separately, all in parallel, and the answers
 * become one reply. A question with a single option is answered without a request.
 */
import * as Effect from "effect/Effect"
import type { AnswerMethod, AnswerReply, AnswerRequest } from "../models/AnswerDriver.ts"
import { ModelError } from "../models/ModelError.ts"
import { addUsage, noUsage, type Usage } from "../primitives/Usage.ts"
import { questionOptions, type Question } from "./Question.ts"

export interface OneAnswer {
  readonly probabilities: { readonly [option: string]: number }
  readonly model: string | null
  readonly usage: Usage
}

/** `addSpent` adds the usage of the other questions to an error. */
export const answerEach = <E>(
  request: AnswerRequest,
  {
    concurrency,
    ...reply
  }: { readonly method: AnswerMethod; readonly estimated: boolean; readonly concurrency: number },
  answer: (question: Question) => Effect.Effect<OneAnswer, E>,
  addSpent: (error: E, spent: Usage) => E
): Effect.Effect<AnswerReply, E> =>
  Effect.suspend(() => {
    let spent = noUsage
    const answered = Effect.forEach(
      Object.entries(request.questions),
      ([name, question]) =>
        Effect.map(answerOne(question, answer), (one) => {
          spent = addUsage(spent, one.usage)
          return [name, one] as const
        }),
      { concurrency }
    )
    return Effect.mapBoth(answered, {
      onFailure: (error) => addSpent(error, spent),
      onSuccess: (answers) => ({
        ...reply,
        distributions: Object.fromEntries(answers.map(([name, { probabilities }]) => [name, probabilities])),
        model: answers.find(([, { model }]) => model !== null)?.[1].model ?? null,
        usage: spent
      })
    })
  })

const answerOne = <E>(
  question: Question,
  answer: (question: Question) => Effect.Effect<OneAnswer, E>
): Effect.Effect<OneAnswer, E> => {
  const [only, ...others] = questionOptions(question)
  return only !== undefined && others.length === 0
    ? Effect.succeed({ probabilities: Object.fromEntries([[only, 1]]), model: null, usage: noUsage })
    : answer(question)
}

/** The model's text is not an answer to the question. Its usage is paid for all the same. */
export const unreadable = ({ provider, model }: Pick<AnswerRequest, "provider" | "model">, usage: Usage): ModelError =>
  new ModelError({ reason: "malformed", code: "no_such_label", provider, model, usage })

/** The same error, with additional usage. */
export const withSpent = (error: ModelError, spent: Usage): ModelError =>
  spent === noUsage
    ? error
    : new ModelError(Object.assign({}, error, { usage: addUsage(error.usage ?? noUsage, spent) }))
