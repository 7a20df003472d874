/** Cases of evals on the wire. */
import { CaseName, CaseQuestion, CaseTags, Expectations } from "@colloquy/core/wings"
import * as Schema from "effect/Schema"
import { maybe, Timestamp, Uuid } from "./Fields.ts"

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

const texts = {
  name: maybe(CaseName),
  expectations: maybe(Expectations),
  tags: maybe(CaseTags)
}

const byHand = {
  ...texts,
  /** The assistant that is asked. Absent: an experiment names one. */
  assistant_id: maybe(Uuid),
  /** What was said before the question, oldest first. */
  messages: maybe(Schema.Array(GivenMessage)),
  /** What tools answer when they are answered from the record. */
  tools: maybe(Schema.Array(Recorded).check(Schema.isMaxLength(1000)))
}

const GivenCase = Schema.Struct({ ...byHand, question: CaseQuestion }).annotate({ identifier: "EvalCaseGiven" })
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

/** What is absent stays as it is. */
export const EvalCaseUpdate = Schema.Struct(texts).annotate({ identifier: "EvalCaseUpdate" })

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
  /** The question's place when the case was made of a stored turn. The thread may be gone. */
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
