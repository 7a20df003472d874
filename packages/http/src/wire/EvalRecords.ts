/** Cases and experiments of evals on the wire. */
import {
  askedFields,
  CaseName,
  CaseQuestion,
  CaseTags,
  ExcerptOptions,
  Expectations,
  FeedbackComment,
  FeedbackScore,
  Score
} from "@colloquy/core/wings"
import * as Schema from "effect/Schema"
import { ReliabilityBin } from "./Answers.ts"
import { ModelOptions } from "./MessageBody.ts"
import { maybe, maybeOr, Timestamp, Uuid } from "./Fields.ts"
import { Tool } from "./Tools.ts"

const Id = Schema.String.annotate({ format: "uuid" })

const CaseCall = Schema.Struct({
  id: Schema.String,
  type: Schema.optionalKey(Schema.Literal("function")),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

const Role = Schema.Literals(["user", "assistant", "tool"])

/** In the form in which threads are imported. */
const GivenMessage = Schema.Struct({
  role: Role,
  content: maybe(Schema.String),
  tool_calls: maybe(Schema.Array(CaseCall)),
  /** Of a tool: the call that it answers. */
  tool_call_id: maybe(Schema.String)
})
export type GivenMessage = typeof GivenMessage.Type

/** Arguments are JSON as a text, as a model writes them. */
const Recorded = Schema.Struct({ name: Schema.String, arguments: Schema.String, output: Schema.String })

/** A field of a record that is sent back. It is not read. */
const recordField = Schema.optionalKey(Schema.Unknown)

const record = {
  case_id: recordField,
  source: recordField,
  created_at: recordField,
  updated_at: recordField
}

const texts = {
  name: maybe(CaseName),
  expectations: maybe(Expectations),
  tags: maybe(CaseTags)
}

const byHand = {
  ...record,
  ...texts,
  /** The assistant that is asked. Absent: an experiment names one. */
  assistant_id: maybe(Uuid),
  /** The messages before the question, oldest first. */
  messages: maybe(Schema.Array(GivenMessage)),
  /** The outputs of tools whose calls are answered from the record. */
  tools: maybe(Schema.Array(Recorded).check(Schema.isMaxLength(1000))),
  /** The tools that the question brings in the place of the assistant's, as `tools` of a message. */
  tool_definitions: maybe(Schema.Array(Tool)),
  /** The system prompt that the question brings in the place of the assistant's; empty: none. */
  instructions: maybe(Schema.String.check(Schema.isMaxLength(200_000))),
  ...askedFields
}

export const GivenCase = Schema.Struct({ ...byHand, question: CaseQuestion }).annotate({ identifier: "EvalCaseGiven" })
export type GivenCase = typeof GivenCase.Type

/** Either `thread_id` and `message_id` of a stored turn, or `question` and what goes with it. */
export const EvalCaseRequest = Schema.Struct({
  ...byHand,
  question: maybe(CaseQuestion),
  thread_id: maybe(Uuid),
  /** The question of the turn, or an answer to it. */
  message_id: maybe(Uuid)
}).annotate({ identifier: "EvalCaseRequest" })

export const EvalCasesImport = Schema.Struct({ cases: Schema.Array(GivenCase) }).annotate({
  identifier: "EvalCasesImport"
})

/** A change of a case. Absent fields stay unchanged. */
export const EvalCaseUpdate = Schema.Struct({
  ...record,
  ...texts,
  assistant_id: recordField,
  messages: recordField,
  question: recordField,
  tools: recordField,
  tool_definitions: recordField,
  instructions: recordField,
  output_schema: recordField,
  output_name: recordField,
  system_one: recordField
}).annotate({ identifier: "EvalCaseUpdate" })

export const EvalCase = Schema.Struct({
  case_id: Id,
  name: Schema.NullOr(Schema.String),
  assistant_id: Schema.NullOr(Id),
  messages: Schema.Array(
    Schema.Struct({
      role: Role,
      content: Schema.NullOr(Schema.String),
      tool_calls: Schema.optionalKey(Schema.Array(CaseCall)),
      tool_call_id: Schema.optionalKey(Schema.String)
    })
  ),
  question: Schema.String,
  expectations: Expectations,
  tags: Schema.Array(Schema.String),
  tools: Schema.Array(Recorded),
  /** Null: the tools of the assistant. */
  tool_definitions: Schema.NullOr(Schema.Array(Tool)),
  /** Null: the instructions of the assistant. */
  instructions: Schema.NullOr(Schema.String),
  /** The form of the answer that the question wants, as in a message. */
  ...askedFields,
  /** The ids of the question's message when the case was made of a stored turn. The thread may be gone. */
  source: Schema.NullOr(Schema.Struct({ thread_id: Id, message_id: Id })),
  created_at: Timestamp,
  updated_at: Timestamp
}).annotate({ identifier: "EvalCase" })
export type EvalCase = typeof EvalCase.Type

export const EvalCaseCreated = EvalCase.annotate({ identifier: "EvalCaseCreated", httpApiStatus: 201 })

export const EvalCasesImported = Schema.Struct({
  imported: Schema.Int,
  /** In the order of the cases. */
  case_ids: Schema.Array(Id)
}).annotate({ identifier: "EvalCasesImported", httpApiStatus: 201 })

export const EvalCaseList = Schema.Struct({
  cases: Schema.Array(EvalCase),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "EvalCaseList" })

export const EvalCaseDeleted = Schema.Struct({
  message: Schema.String,
  case_id: Id,
  deleted_at: Timestamp
}).annotate({ identifier: "EvalCaseDeleted" })

const VariantName = Schema.NonEmptyString.check(Schema.isMaxLength(200))

/** One way to answer the cases. Absent fields have the values of the assistant. */
const EvalVariant = Schema.Struct({
  name: VariantName,
  /** Absent: the assistant of each case. */
  assistant_id: maybe(Uuid),
  assistant_version: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  llm_provider: maybe(Schema.String),
  model_name: maybe(Schema.String),
  model_options: maybe(ModelOptions),
  /** The system prompt. */
  instructions: maybe(Schema.String.check(Schema.isMaxLength(200_000))),
  /** How excerpts of documents are found. */
  retrieval: maybe(
    Schema.Struct({
      /** In the place of the assistant's. */
      tok_k: maybe(ExcerptOptions.fields.searchLimit.schema),
      /** Added before the message, searched by the model with a tool, or not searched at all; in the place of the host's setting. */
      excerpts: maybe(ExcerptOptions.fields.excerpts.schema)
    })
  )
}).annotate({ identifier: "EvalVariant" })
export type EvalVariant = typeof EvalVariant.Type

const Tools = Schema.Literals(["recorded", "live"])

/** The cases: those with these ids, those that have all of these tags, or all. */
export const ExperimentRequest = Schema.Struct({
  name: maybe(VariantName),
  case_ids: maybe(Schema.Array(Uuid).check(Schema.isUnique())),
  tags: maybe(Schema.Array(Schema.String)),
  variants: Schema.Array(EvalVariant).check(Schema.isMinLength(1), Schema.isMaxLength(10)),
  repeats: maybeOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 })), 1),
  /** `recorded`: tools answer what their case has of them. `live`: tools of the server run. */
  tools: maybeOr(Tools, "recorded"),
  concurrency: maybeOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16 })), 3),
  /** No attempt begins when this much is spent. */
  budget_usd: maybe(Schema.Finite.check(Schema.isGreaterThan(0))),
  /** Expectations of every case, beside its own ones. */
  expectations: maybe(Expectations)
}).annotate({ identifier: "ExperimentRequest" })
export type ExperimentRequest = typeof ExperimentRequest.Type

export const ExperimentResume = Schema.Struct({
  /** In the place of the budget so far; null: there is none. Absent: as it was. */
  budget_usd: maybe(Schema.Finite.check(Schema.isGreaterThan(0)))
}).annotate({ identifier: "ExperimentResume" })

export const Experiment = Schema.Struct({
  experiment_id: Id,
  name: Schema.NullOr(Schema.String),
  /** `stopped`: its budget was spent. */
  status: Schema.Literals(["running", "completed", "stopped", "cancelled"]),
  reason: Schema.NullOr(Schema.String),
  cases: Schema.Int,
  variants: Schema.Array(EvalVariant),
  repeats: Schema.Int,
  tools: Tools,
  concurrency: Schema.Int,
  budget_usd: Schema.NullOr(Schema.Finite),
  expectations: Expectations,
  /** Cases × variants × repeats, and how many of them have a result. */
  attempts: Schema.Struct({ total: Schema.Int, done: Schema.Int }),
  /** What the attempts cost, as far as it is known, with their judges. */
  cost_usd: Schema.Finite,
  created_at: Timestamp,
  ended_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "Experiment" })
export type Experiment = typeof Experiment.Type

export const ExperimentCreated = Experiment.annotate({ identifier: "ExperimentCreated", httpApiStatus: 201 })

export const ExperimentList = Schema.Struct({
  experiments: Schema.Array(Experiment),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ExperimentList" })

export const ExperimentDeleted = Schema.Struct({
  message: Schema.String,
  experiment_id: Id,
  deleted_at: Timestamp
}).annotate({ identifier: "ExperimentDeleted" })

const NullableText = Schema.NullOr(Schema.String)
const NullableNumber = Schema.NullOr(Schema.Finite)

const Result = Schema.Struct({
  number: Schema.Int,
  case_id: Schema.String,
  name: Schema.String,
  tags: Schema.Array(Schema.String),
  variant: Schema.String,
  /** From 0. */
  repeat: Schema.Int,
  passed: Schema.Boolean,
  scores: Schema.Array(Score),
  /** Why the attempt could not be made or scored. */
  error: NullableText,
  content: Schema.String,
  tool_calls: Schema.Array(Schema.Struct({ name: Schema.String, arguments: Schema.String, result: NullableText })),
  model_provider: NullableText,
  model_name: NullableText,
  assistant_version: Schema.NullOr(Schema.Int),
  /** Equal for equal instructions. */
  prompt_hash: NullableText,
  cost_usd: NullableNumber,
  judges_cost_usd: NullableNumber,
  ms: Schema.Finite,
  tokens: Schema.Int,
  ended_at: Timestamp
}).annotate({ identifier: "ExperimentResult" })
export type Result = typeof Result.Type

export const ExperimentResults = Schema.Struct({
  results: Schema.Array(Result),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ExperimentResults" })

const Interval = Schema.Struct({ low: Schema.Finite, high: Schema.Finite })

const Calibration = Schema.Struct({
  cases: Schema.Int,
  brier_score: Schema.Finite,
  calibration_error: Schema.Finite,
  reliability: Schema.Array(ReliabilityBin)
}).annotate({ identifier: "EvalCalibration" })

const Judge = Schema.Struct({
  /** The question and the expected answer, in a few words. */
  expected: Schema.String,
  /** Equal for equal questions. */
  question_set: Schema.String,
  /** The judge's probabilities, compared with the feedback on the turns that it judged. Null: there is no feedback. */
  feedback: Schema.NullOr(Calibration),
  /** The judge's answers, compared with the outcomes that persons told. Null: nobody told any. */
  outcomes: Schema.NullOr(Calibration)
}).annotate({ identifier: "EvalJudge" })

export const ExperimentSummary = Schema.Struct({
  variants: Schema.Array(
    Schema.Struct({
      variant: Schema.String,
      cases: Schema.Int,
      attempts: Schema.Int,
      passed: Schema.Int,
      pass_rate: Schema.Finite,
      /** 95 percent (Wilson). */
      interval: Interval,
      score: NullableNumber,
      scorers: Schema.Array(
        Schema.Struct({ scorer: Schema.String, scores: Schema.Int, passed: Schema.Int, mean: Schema.Finite })
      ),
      cost_usd: NullableNumber,
      attempts_without_cost: Schema.Int,
      tokens: Schema.Int,
      median_ms: Schema.Finite,
      slow_ms: Schema.Finite,
      /** Cases that were not always passed, the worst first. */
      worst: Schema.Array(
        Schema.Struct({
          case_id: Schema.String,
          name: Schema.String,
          attempts: Schema.Int,
          passed: Schema.Int,
          score: NullableNumber,
          reasons: Schema.Array(Schema.String)
        })
      )
    })
  ),
  /** The reliability of each judge of the results. */
  judges: Schema.Array(Judge)
}).annotate({ identifier: "ExperimentSummary" })

const Compared = Schema.Struct({
  case_id: Schema.String,
  name: Schema.String,
  before: Schema.Finite,
  after: Schema.Finite,
  reasons: Schema.Array(Schema.String)
})

const Difference = Schema.NullOr(Schema.Struct({ mean: Schema.Finite, interval: Interval }))

export const ExperimentComparison = Schema.Struct({
  before: Schema.String,
  after: Schema.String,
  judgement: Schema.String,
  /** The result in a sentence or two. */
  words: Schema.String,
  cases: Schema.Int,
  unpaired: Schema.Array(Schema.String),
  /** The probability that chance alone makes the numbers as unequal as this (McNemar's exact test). */
  probability: Schema.Finite,
  better: Schema.Array(Compared),
  worse: Schema.Array(Compared),
  pass_rate: Difference,
  score: Difference,
  cost_usd: Difference,
  ms: Difference
}).annotate({ identifier: "ExperimentComparison" })

export const FeedbackRequest = Schema.Struct({
  /** From -1 (bad) to 1 (good). */
  score: FeedbackScore,
  comment: maybe(FeedbackComment),
  tags: maybe(CaseTags)
}).annotate({ identifier: "FeedbackRequest" })

export const Feedback = Schema.Struct({
  thread_id: Id,
  message_id: Id,
  run_id: NullableText,
  /** The assistant that answered, with the version that it had. */
  assistant_id: Id,
  assistant_version: Schema.NullOr(Schema.Int),
  model_name: NullableText,
  score: Schema.Finite,
  comment: NullableText,
  tags: Schema.Array(Schema.String),
  created_at: Timestamp
}).annotate({ identifier: "Feedback" })
export type Feedback = typeof Feedback.Type

export const FeedbackList = Schema.Struct({
  feedback: Schema.Array(Feedback),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "FeedbackList" })

export const JudgeOutcomeRequest = Schema.Struct({
  /** The position of the judge's score among the scores, from 0. */
  score: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** What is true: yes or no as true and false, or one of the judge's options. */
  outcome: Schema.Union([Schema.Boolean, Schema.String])
}).annotate({ identifier: "JudgeOutcomeRequest" })

export const JudgeOutcome = Schema.Struct({
  message: Schema.String,
  /** The question and the expected answer, in a few words. */
  expected: Schema.String,
  /** The probability that the judge gave the expected answer. */
  value: Schema.Finite,
  outcome: Schema.Union([Schema.Boolean, Schema.String])
}).annotate({ identifier: "JudgeOutcome" })

export const JudgeOutcomeList = Schema.Struct({
  /** In the order of the scores; a score of which nothing was said has none. */
  outcomes: Schema.Array(
    Schema.Struct({
      score: Schema.Int,
      outcome: Schema.Union([Schema.Boolean, Schema.String, Schema.Finite]),
      recorded_at: Timestamp
    })
  )
}).annotate({ identifier: "JudgeOutcomeList" })
export type JudgeOutcomeList = typeof JudgeOutcomeList.Type

const group = {
  assistant_id: Id,
  assistant_version: Schema.NullOr(Schema.Int),
  turns: Schema.Int,
  /** How many of the turns could not be scored. */
  unscored: Schema.Int,
  passed: Schema.Int,
  pass_rate: NullableNumber,
  /** 95 percent (Wilson). */
  interval: Schema.NullOr(Interval),
  score: NullableNumber,
  /** One for each expectation. */
  scorers: Schema.Array(
    Schema.Struct({
      scorer: Schema.String,
      expected: Schema.String,
      scores: Schema.Int,
      passed: Schema.Int,
      mean: Schema.Finite
    })
  ),
  cost_usd: NullableNumber,
  judges_cost_usd: NullableNumber,
  tokens: Schema.Int,
  median_ms: Schema.Finite
}

export const OnlineReport = Schema.Struct({
  /** Of all turns, from 0 to 1. */
  share: Schema.Finite,
  expectations: Expectations,
  from: Schema.String,
  to: Schema.String,
  days: Schema.Array(Schema.Struct({ day: Schema.String, ...group }).annotate({ identifier: "OnlineDay" })),
  /** The same over all days. */
  versions: Schema.Array(Schema.Struct(group).annotate({ identifier: "OnlineVersion" })),
  judges: Schema.Array(Judge),
  /** True: there are more turns, and these are the newest. */
  is_partial: Schema.Boolean
}).annotate({ identifier: "OnlineReport" })
export type OnlineReport = typeof OnlineReport.Type

const OnlineScore = Schema.Struct({
  run_id: Id,
  thread_id: Id,
  /** The last answer of the turn. */
  message_id: Schema.NullOr(Id),
  assistant_id: Id,
  assistant_version: Schema.NullOr(Schema.Int),
  passed: Schema.Boolean,
  scores: Schema.Array(Score),
  /** Why the turn could not be scored. */
  error: NullableText,
  model_provider: NullableText,
  model_name: NullableText,
  prompt_hash: NullableText,
  cost_usd: NullableNumber,
  judges_cost_usd: NullableNumber,
  ms: Schema.Finite,
  tokens: Schema.Int,
  /** The last feedback on the turn. */
  feedback: NullableNumber,
  ended_at: Timestamp
}).annotate({ identifier: "OnlineScore" })
export type OnlineScore = typeof OnlineScore.Type

export const OnlineScoreList = Schema.Struct({
  scores: Schema.Array(OnlineScore),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "OnlineScoreList" })
