/**
 * A case: a conversation up to a question, and what is expected of the answer. It is a copy: it stays as it is when the thread that it was
 * made from changes or goes.
 */
import * as Schema from "effect/Schema"
import { AssistantId, CaseId, MessageId, ThreadId } from "../primitives/Ids.ts"
import { ToolCall } from "../tools/ToolCall.ts"
import { ToolList } from "../tools/ToolDefinition.ts"
import { AskedParts } from "./AskedParts.ts"
import { Expectations } from "./Expectation.ts"

/** A message before the question, in the form in which threads are imported. */
export const CaseMessage = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "tool"]),
  content: Schema.NullOr(Schema.String),
  toolCalls: Schema.optionalKey(Schema.Array(ToolCall)),
  /** Of a tool: the call that it answers. */
  toolCallId: Schema.optionalKey(Schema.String)
})
export type CaseMessage = typeof CaseMessage.Type

/** What a tool returned when the question was answered. */
export const RecordedTool = Schema.Struct({
  name: Schema.String,
  /** JSON text as the model wrote it. */
  arguments: Schema.String,
  output: Schema.String
})
export type RecordedTool = typeof RecordedTool.Type

/** A name of at most 200 characters. */
export const CaseName = Schema.NonEmptyString.check(Schema.isMaxLength(200))

/** The last message of a case, which is answered. */
export const CaseQuestion = Schema.String.check(
  Schema.isMaxLength(1_000_000),
  Schema.isPattern(/\S/u, { expected: "a question that is not empty" })
)

/** Up to 20 different tags, each of one line with at most 100 characters. */
export const CaseTags = Schema.Array(
  Schema.String.check(Schema.isMaxLength(100), Schema.isPattern(/^[^\r\n]+$/u, { expected: "one line" }))
).check(Schema.isMaxLength(20), Schema.isUnique())

/** What the question asked for besides its text and its tools. */
const asking = {
  /** The system prompt that it brought in the place of the assistant's; empty: none. Absent: that of the assistant. */
  instructions: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200_000))),
  options: Schema.optionalKey(AskedParts)
}

/** A stored case: a conversation up to a question, and what is expected of the answer. */
export const EvalCase = Schema.Struct({
  id: CaseId,
  name: Schema.NullOr(Schema.String),
  expectations: Expectations,
  tags: Schema.Array(Schema.String),
  /** The assistant that is asked; null: an experiment names one. */
  assistantId: Schema.NullOr(AssistantId),
  /** What was said before the question, oldest first. */
  messages: Schema.Array(CaseMessage),
  question: Schema.String,
  /** What tools answer when they are answered from the record. */
  tools: Schema.Array(RecordedTool),
  /** The tools that the question brought in the place of the assistant's; absent: those of the assistant. */
  toolDefinitions: Schema.optionalKey(ToolList),
  ...asking,
  /** The ids of the question's message when the case was made; null: it was written by hand. The thread may be gone. */
  source: Schema.NullOr(Schema.Struct({ threadId: ThreadId, messageId: MessageId })),
  createdAt: Schema.Date,
  updatedAt: Schema.Date
})
export type EvalCase = typeof EvalCase.Type

const given = {
  name: Schema.optionalKey(Schema.NullOr(CaseName)),
  expectations: Schema.optionalKey(Expectations),
  tags: Schema.optionalKey(CaseTags)
}

/** The fields that an update takes: name, expectations and tags. Absent fields stay. */
export const CaseChange = Schema.Struct(given)
export type CaseChange = typeof CaseChange.Type

/** A case as it is written by hand. */
export const NewCase = Schema.Struct({
  ...given,
  assistantId: Schema.optionalKey(Schema.NullOr(AssistantId)),
  messages: Schema.optionalKey(Schema.Array(CaseMessage)),
  question: CaseQuestion,
  tools: Schema.optionalKey(Schema.Array(RecordedTool).check(Schema.isMaxLength(1000))),
  toolDefinitions: Schema.optionalKey(ToolList),
  ...asking
})
export type NewCase = typeof NewCase.Type

/** Makes a case of what was said: a message, and what the answer should have been like. */
export const CaseOfTurn = Schema.Struct({
  ...given,
  threadId: ThreadId,
  /** The question, or an answer to it. */
  messageId: MessageId
})
export type CaseOfTurn = typeof CaseOfTurn.Type

/** The owner has no case with this id. */
export class CaseNotFound extends Schema.TaggedError<CaseNotFound>()("CaseNotFound", { caseId: CaseId }) {
  override get message() {
    return `There is no case ${this.caseId}.`
  }
}

const Problem = Schema.Struct({
  /** The index of the case in the list; null: there was no list. */
  index: Schema.NullOr(Schema.Int),
  path: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  message: Schema.String
})
/** One reason why a case was refused, with the path of the field. */
export type CaseProblem = typeof Problem.Type

/** A case cannot be as it was given. Nothing is stored. */
export class CaseRefused extends Schema.TaggedError<CaseRefused>()("CaseRefused", { problems: Schema.Array(Problem) }) {
  override get message() {
    return this.problems
      .map(
        ({ index, message, path }) => [...(index === null ? [] : [`case ${index}`]), ...path].join(".") + `: ${message}`
      )
      .join(" ")
  }
}

/** The owner has as many cases as the settings allow. */
export class TooManyCases extends Schema.TaggedError<TooManyCases>()("TooManyCases", { limit: Schema.Int }) {
  override get message() {
    return `An owner has at most ${this.limit} cases. Delete some of them first.`
  }
}
