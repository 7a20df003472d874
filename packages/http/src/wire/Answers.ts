/** Typed answers as the wire shows them: with a message, and judged in a report. */
import { Answer } from "@colloquy/core/wings"
import * as Schema from "effect/Schema"
import { maybe, Timestamp } from "./Fields.ts"

const share = Schema.Finite

const Instructions = Schema.Union([Schema.String, Schema.JsonObject, Schema.Array(Schema.Json)])
const instructions = { instructions: Instructions }

/** A typed question. `noul`: a yes or no; `choice`: one of several options; `score`: a level on a scale, the low end first. */
const TypedQuestion = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("noul"),
    ...instructions,
    criteria: maybe(Schema.Struct({ true: Schema.String, false: Schema.String }))
  }),
  Schema.Struct({
    type: Schema.Literal("choice"),
    ...instructions,
    /** The options with their descriptions, in the order of the text. */
    criteria: Schema.Record(Schema.String, Schema.NullOr(Schema.String)),
    /** All options in their order, where what writes the JSON does not keep it. */
    order: Schema.optionalKey(Schema.Array(Schema.String))
  }),
  Schema.Struct({ type: Schema.Literal("score"), ...instructions, criteria: Schema.Array(Schema.String) })
]).annotate({ identifier: "TypedQuestion" })

/** The questions of `system_one`. The server checks them by its own rules, so that every problem is told. */
export const SystemOneRequest = Schema.Struct({
  questions: Schema.Record(Schema.String, TypedQuestion),
  state: maybe(Schema.Union([Schema.String, Schema.JsonObject, Schema.Array(Schema.Json)]))
}).annotate({ identifier: "SystemOneRequest" })

export const SystemOne = Schema.Struct({
  /** By the names of the questions. */
  answers: Schema.Record(Schema.String, Answer),
  /** The model that really answered. */
  model: Schema.String,
  usage: Schema.Struct({ input_tokens: Schema.Int, output_tokens: Schema.Int, total_tokens: Schema.Int }),
  /** Where the probabilities come from. */
  method: Schema.Literals(["native", "logprobs", "stated", "sampled"]),
  /** The probabilities are no measure of what the model believes: they are stated, sampled, or otherwise a stand-in. */
  estimated: Schema.Boolean
}).annotate({ identifier: "SystemOne" })
export type SystemOne = typeof SystemOne.Type

export const OutcomeRequest = Schema.Struct({
  question: Schema.String,
  /** A truth for `noul`, the name of an option for `choice`, the number of a level for `score`. */
  outcome: Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])
}).annotate({ identifier: "OutcomeRequest" })
export type OutcomeRequest = typeof OutcomeRequest.Type

export const OutcomeResponse = Schema.Struct({
  message: Schema.String,
  thread_id: Schema.String,
  message_id: Schema.String,
  question: Schema.String
}).annotate({ identifier: "OutcomeResponse" })

export const OutcomeList = Schema.Struct({
  /** The newest thousand, newest first; for each question of a message only the last one. */
  outcomes: Schema.Array(
    Schema.Struct({
      /** The message whose turn gave the answers; of answers that were asked apart from a turn, their own id. */
      message_id: Schema.String,
      question: Schema.String,
      outcome: Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
      recorded_at: Timestamp
    })
  )
}).annotate({ identifier: "OutcomeList" })
export type OutcomeList = typeof OutcomeList.Type

const Interval = Schema.Struct({ low: share, high: share }).annotate({ identifier: "Interval" })

export const ReliabilityBin = Schema.Struct({
  from: share,
  to: share,
  cases: Schema.Int,
  predicted: Schema.NullOr(share),
  observed: Schema.NullOr(share),
  interval: Schema.NullOr(Interval)
}).annotate({ identifier: "ReliabilityBin" })

const QuestionReport = Schema.Struct({
  question: Schema.String,
  type: Schema.Literals(["noul", "choice", "score"]),
  cases: Schema.Int,
  accuracy: share,
  accuracy_interval: Interval,
  brier_score: Schema.Finite,
  log_loss: Schema.Finite,
  calibration_error: share,
  reliability: Schema.Array(ReliabilityBin)
}).annotate({ identifier: "QuestionReport" })

export const AnswersReport = Schema.Struct({
  /** Equal questions are one set, whatever the order of their names. */
  question_sets: Schema.Array(
    Schema.Struct({ question_set: Schema.String, cases: Schema.Int, questions: Schema.Array(QuestionReport) })
  ),
  cases: Schema.Int,
  /** There are more outcomes than a report looks at; these are the newest. */
  is_partial: Schema.Boolean
}).annotate({ identifier: "AnswersReport" })
export type AnswersReport = typeof AnswersReport.Type
