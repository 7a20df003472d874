/** A model's request to run a tool, and the answer to it. Arguments stay the text that the model wrote. */
import * as Schema from "effect/Schema"
import { RunId, ThreadId } from "../primitives/Ids.ts"

export const ToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** JSON text as the model wrote it; `{}` if it wrote nothing. */
  arguments: Schema.String
})
export type ToolCall = typeof ToolCall.Type

/** The ids by which a run is found: its own and that of its thread. */
export const RunIds = Schema.Struct({ threadId: ThreadId, runId: RunId })
export type RunIds = typeof RunIds.Type

/** What a hosted tool asks a person in the middle of its call. */
export const Question = Schema.Struct({
  message: Schema.String,
  /** JSON Schema of the answer, which is an object. */
  schema: Schema.JsonObject,
  /** What the tool needs to go on, in any process. It is shown to nobody. */
  state: Schema.Json
})
export type Question = typeof Question.Type

/** A question without what only its tool reads. */
export const shownQuestion = ({ message, schema }: Question): Pick<Question, "message" | "schema"> => ({
  message,
  schema
})

/** A call that is answered from outside of the kernel. */
const AskedCall = Schema.Struct({
  ...ToolCall.fields,
  /**
   * Set for a call of a hosted tool that a person approves or rejects before it runs. Absent: the client runs the call. With a `question` the
   * tool has begun and waits for an answer: who approves gives it as arguments, and the tool learns of a rejection.
   */
  approval: Schema.optionalKey(
    Schema.Struct({ expiresAt: Schema.NullOr(Schema.String), question: Schema.optionalKey(Question) })
  ),
  /** The run of a helper that waits for this call. Absent: the run that names the call. */
  of: Schema.optionalKey(RunIds)
})

/** A call that waits for its result. The call of a helper also tells for which calls inside of the helper it waits. */
export const OpenCall = Schema.Struct({
  ...AskedCall.fields,
  /**
   * Set for the call of a helper whose run waits for approvals. No client answers this call: it is answered when the helper's run has ended.
   * `calls` are the calls for which that run waited when this was stored. They are shown in place of this one.
   */
  waitsFor: Schema.optionalKey(Schema.Struct({ ...RunIds.fields, calls: Schema.Array(AskedCall) }))
})
export type OpenCall = typeof OpenCall.Type

/** The calls that a client or a person can answer. */
export const shownCalls = (calls: ReadonlyArray<OpenCall>): ReadonlyArray<OpenCall> =>
  calls.flatMap((call) => call.waitsFor?.calls ?? [call])

/** What a person decided about a call. */
export const Decision = Schema.Struct({
  decision: Schema.Literals(["approve", "reject"]),
  /** JSON text that replaces the model's arguments. Absent: the call runs as the model wrote it. */
  arguments: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String),
  /** True: a question of the tool was answered. `arguments` are the answer, and the call runs as the model wrote it. */
  isAnswer: Schema.optionalKey(Schema.Boolean),
  at: Schema.String
})
export type Decision = typeof Decision.Type

/** What a client submits for one open call. */
export const ToolOutput = Schema.Struct({ toolCallId: Schema.String, output: Schema.String })
export type ToolOutput = typeof ToolOutput.Type

/** An answered call, stored with the message that made it. `hosted` is true if the kernel ran it. */
export const ToolResult = Schema.Struct({
  toolCallId: Schema.String,
  toolName: Schema.String,
  output: Schema.String,
  hosted: Schema.Boolean,
  /** Absent: nobody was asked. */
  decided: Schema.optionalKey(Decision),
  /** True as long as a call that was approved, or whose question was decided, has no output yet. */
  isPending: Schema.optionalKey(Schema.Boolean)
})
export type ToolResult = typeof ToolResult.Type
