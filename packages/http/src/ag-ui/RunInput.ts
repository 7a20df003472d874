/**
 * The body of a run, `RunAgentInput` of AG-UI 1.0, and which of its messages are new. Pure. A client sends its whole conversation each time. The
 * thread has the conversation already, so only what stands behind the last answer is read.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ToolName } from "@colloquy/core/adapters"
import { toProblems } from "../bodies/Problems.ts"
import type { Body } from "../bodies/RequestBody.ts"
import { maybe } from "../wire/Fields.ts"
import { holdsMoreThan } from "../wire/Json.ts"

const Source = Schema.Struct({ type: Schema.String, value: Schema.String, mimeType: maybe(Schema.String) })
const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literals(["image", "audio", "video", "document"]), source: Source })
])
export type Part = typeof Part.Type

const Content = Schema.Union([Schema.String, Schema.Array(Part)])
type Content = typeof Content.Type

const Call = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

export const InputMessage = Schema.Union([
  Schema.Struct({ id: Schema.String, role: Schema.Literal("user"), content: Content }),
  Schema.Struct({
    id: Schema.String,
    role: Schema.Literal("assistant"),
    content: maybe(Schema.String),
    toolCalls: maybe(Schema.Array(Call))
  }),
  Schema.Struct({
    id: Schema.String,
    role: Schema.Literal("tool"),
    toolCallId: Schema.String,
    content: Content,
    error: maybe(Schema.String)
  }),
  Schema.Struct({ id: Schema.String, role: Schema.Literals(["system", "developer"]), content: Schema.String }),
  Schema.Struct({ id: Schema.String, role: Schema.Literals(["activity", "reasoning"]) })
])
export type InputMessage = typeof InputMessage.Type

const Resume = Schema.Struct({
  interruptId: Schema.String,
  status: Schema.Literals(["resolved", "cancelled"]),
  payload: maybe(Schema.Json)
})
export type Resume = typeof Resume.Type

const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255))

export const RunInput = Schema.Struct({
  threadId: Id,
  runId: Id,
  /** A field since version 1.0. */
  protocolVersion: maybe(Schema.String),
  messages: Schema.Array(InputMessage),
  state: Schema.optionalKey(Schema.Json),
  tools: maybe(
    Schema.Array(
      Schema.Struct({ name: ToolName, description: maybe(Schema.String), parameters: maybe(Schema.JsonObject) })
    )
  ),
  context: maybe(Schema.Array(Schema.Struct({ description: Schema.String, value: Schema.String }))),
  forwardedProps: Schema.optionalKey(Schema.Json),
  resume: maybe(Schema.Array(Resume))
}).annotate({ identifier: "RunAgentInput" })
export type RunInput = typeof RunInput.Type

/** The number of values from which on only the first problem is told. */
const many = 2_000

/** Unknown fields are allowed everywhere, because the protocol grows. */
export const runBody: Body<RunInput> = {
  files: {},
  decode: ({ value }) => {
    if (value === undefined) return Result.fail([{ loc: ["body"], msg: "Field required", type: "missing" }])
    const errors = holdsMoreThan(value, many) ? "first" : "all"
    const decoded = Schema.decodeUnknownResult(RunInput, { errors, onExcessProperty: "ignore" })(value)
    return Result.mapError(decoded, ({ issue }) => toProblems(issue, ["body"]))
  }
}

type MessageWithRole<Role> = Extract<InputMessage, { readonly role: Role }>

export interface Ending {
  readonly users: ReadonlyArray<MessageWithRole<"user">>
  readonly results: ReadonlyArray<MessageWithRole<"tool">>
}

/** The messages behind the last message of the assistant. */
export const readEnding = (messages: ReadonlyArray<InputMessage>): Ending => {
  const from = messages.findLastIndex(({ role }) => role === "assistant") + 1
  const rest = messages.slice(from)
  return {
    users: rest.filter((message) => message.role === "user"),
    results: rest.filter((message) => message.role === "tool")
  }
}

const parts = (content: Content): ReadonlyArray<Part> =>
  typeof content === "string" ? [{ type: "text", text: content }] : content

export const textIn = (content: Content): string =>
  parts(content)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n")

export type Medium = Exclude<Part, { readonly type: "text" }>

export const mediaIn = (content: Content): ReadonlyArray<Medium> =>
  parts(content).flatMap((part) => (part.type === "text" ? [] : [part]))

export const outputIn = ({ content, error }: MessageWithRole<"tool">): string =>
  [typeof error === "string" ? `Error: ${error}` : "", textIn(content)].filter((text) => text !== "").join("\n")

/** The texts that the model reads before the conversation, besides the assistant's own instructions. */
export const instructionsIn = ({ context, messages, state }: RunInput): ReadonlyArray<string> => {
  const shared = sharedState(state)
  return [
    ...messages.flatMap((message) =>
      message.role === "system" || message.role === "developer" ? [message.content] : []
    ),
    ...(context ?? []).map(({ description, value }) => `${description}:\n${value}`),
    ...(shared === null || Object.keys(shared).length === 0
      ? []
      : [`The state of the user's application, as JSON:\n${JSON.stringify(shared)}`])
  ].filter((text) => text.trim() !== "")
}

/** The key of the state under which the service tells of the run. Everything else belongs to the application. */
export const ownKey = "colloquy"

const isObject = Schema.is(Schema.JsonObject)

/** The application's state; null where it is no object, so that there is no place in it for a key. */
export const sharedState = (state: Schema.Json | undefined): Schema.JsonObject | null => {
  if (state === undefined || state === null) return {}
  if (!isObject(state)) return null
  return Object.fromEntries(Object.entries(state).filter(([key]) => key !== ownKey))
}

/** Fields of a message of the native API, as an application forwards them. */
export const forwardedFields = ({ forwardedProps }: RunInput): Schema.JsonObject => {
  const own = isObject(forwardedProps) ? forwardedProps[ownKey] : undefined
  return isObject(own) ? own : {}
}
