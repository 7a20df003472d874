/**
 * The questions of a typed turn, with every rule. The client names questions and options,
 * and these names become the keys of the answer. `checkQuestions` finds the problems of an unchecked value; these schemas are for values
 * that are known to be JSON, such as a stored plan.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { TypedQuestion } from "../models/AnswerDriver.ts"

export const maximumOptions = 255
export const maximumLevels = 10

const Instructions = Schema.Union([Schema.NonEmptyString, Schema.JsonObject, Schema.Array(Schema.Json)])

export const Question = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("noul"),
    instructions: Instructions,
    criteria: Schema.optionalKey(Schema.Struct({ true: Schema.String, false: Schema.String }))
  }),
  Schema.Struct({
    type: Schema.Literal("choice"),
    instructions: Instructions,
    criteria: Schema.Record(Schema.String, Schema.NullOr(Schema.String)).check(
      Schema.isMinProperties(1),
      Schema.isMaxProperties(maximumOptions)
    ),
    order: Schema.optionalKey(Schema.Array(Schema.String))
  }),
  Schema.Struct({
    type: Schema.Literal("score"),
    instructions: Instructions,
    criteria: Schema.Array(Schema.String).check(Schema.isMinLength(2), Schema.isMaxLength(maximumLevels))
  })
])
export type Question = TypedQuestion

/** Typed questions by their names; at least one. */
export const Questions = Schema.Record(Schema.String, Question).check(Schema.isMinProperties(1))
export type Questions = typeof Questions.Type

/** The possible answers, in the order of the question. A tie is decided for the first. */
export const questionOptions = (question: Question): ReadonlyArray<string> => {
  switch (question.type) {
    case "noul":
      return ["true", "false"]
    case "choice":
      return question.order ?? Object.keys(question.criteria)
    case "score":
      return question.criteria.map((_, level) => String(level))
  }
}

/** The options of a choice with their descriptions, in the order of the question. */
export const orderedCriteria = (
  question: Extract<Question, { readonly type: "choice" }>
): ReadonlyArray<readonly [option: string, description: string | null]> =>
  questionOptions(question).map((option) => [option, question.criteria[option] ?? null])

/** Equal for equal questions, independent of the order of their names. The order of options counts, because ties depend on it. */
export const questionsFingerprint = (questions: Questions): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() =>
      globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonicalQuestions(questions)))
    ),
    (digest) =>
      Array.from(new Uint8Array(digest).subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("")
  )

const canonicalQuestions = (questions: Questions): string =>
  JSON.stringify(
    Object.keys(questions)
      .sort()
      .map((name) => {
        const question = questions[name]
        if (question === undefined) return [name]
        const { type, instructions, criteria } = question
        const listed = type === "choice" ? orderedCriteria(question) : (criteria ?? null)
        return [name, type, instructions, type === "noul" ? criteria && [criteria.true, criteria.false] : listed]
      })
  )
