/** A response as a record: its request, its status, and its output items. A reply and the store give the same record. Pure. */
import type { Message, Run, StartedTurn, ToolDefinition, TurnReply, Usage } from "@colloquy/core"
import { addUsage, isAtRest, type RunFault, type RunStatus, totalTokens } from "@colloquy/core/adapters"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { isRecord } from "../wire/Json.ts"
import { responseAnnotations } from "./Annotations.ts"
import { writeConversationId, writeItemId, type ResponseIds, writeResponseId } from "./Ids.ts"
import { endLeg } from "./StoredTurns.ts"

export type ResponseStatus = "incomplete" | "queued" | "in_progress" | "completed" | "failed" | "cancelled"

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** The fields of its request that a response shows. They are stored with the user's message, and read from there. */
export const Asked = Schema.Struct({
  instructions: Schema.NullOr(Schema.String),
  previous: Schema.NullOr(Schema.String),
  isConversation: Schema.Boolean,
  isBackground: Schema.Boolean,
  format: Schema.JsonObject,
  metadata: Schema.JsonObject,
  /** Settings of the answer, as they were sent. */
  settings: Schema.optionalKey(Schema.JsonObject)
})
export type Asked = typeof Asked.Type

const readAsked = Schema.decodeUnknownOption(Asked)

/** The request of a response. The values are empty for a run that was begun by the native API, because nothing is stored then. */
export const readAskedOrEmpty = (kept: unknown): Asked =>
  Option.getOrElse(readAsked(kept), () => ({
    instructions: null,
    previous: null,
    isConversation: false,
    isBackground: false,
    format: { type: "text" },
    metadata: {}
  }))

export interface ResponseParts {
  readonly ids: ResponseIds
  readonly asked: Asked
  readonly isStored: boolean
  readonly status: ResponseStatus
  readonly model: string
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly createdAt: Date
  readonly fault: RunFault | null
  /** The reason why the answer is incomplete. Null: the answer is complete. */
  readonly cut: "max_output_tokens" | "content_filter" | "approval_required" | null
  readonly output: ReadonlyArray<OutputItem>
  readonly usage: Usage | null
}

export type OutputItem = ReturnType<typeof messageItem> | ReturnType<typeof callItem>

type Annotations = ReturnType<typeof responseAnnotations>

export const textPart = (text: string, annotations: Annotations = []) => ({
  type: "output_text",
  text,
  annotations,
  logprobs: []
})

export const messageItem = (messageId: string, text: string | null, status: string, annotations: Annotations = []) => ({
  id: writeItemId("msg", messageId),
  type: "message",
  role: "assistant",
  status,
  content: text === null ? [] : [textPart(text, annotations)]
})

export const callItem = (messageId: string, call: Call, index: number, status: string) => ({
  id: writeItemId("fc", messageId, index),
  type: "function_call",
  status,
  call_id: call.id,
  name: call.name,
  arguments: call.arguments
})

export const outputItems = (
  messageId: string,
  text: string,
  calls: Calls,
  status: "completed" | "incomplete",
  supplements: Schema.JsonObject | null
): ReadonlyArray<OutputItem> => [
  ...(text === "" ? [] : [messageItem(messageId, text, status, responseAnnotations(supplements))]),
  ...calls
    .filter(({ approval }) => approval === undefined)
    .map((call, index) => callItem(messageId, call, index, status))
]

const usageToResponse = (usage: Usage) => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: { cached_tokens: usage.cachedInputTokens, cache_write_tokens: usage.cacheWriteTokens },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: totalTokens(usage)
})

const toolToResponse = ({ description, name, parameters, strict }: ToolDefinition) => ({
  type: "function",
  name,
  description,
  parameters,
  strict: strict ?? false
})

export const responseRecord = (parts: ResponseParts) => {
  const { asked, createdAt, fault, ids, status } = parts
  return {
    id: writeResponseId(ids),
    object: "response",
    created_at: Math.floor(createdAt.getTime() / 1000),
    status,
    background: asked.isBackground,
    error:
      fault === null
        ? null
        : { code: fault.code === "rate_limited" ? "rate_limit_exceeded" : "server_error", message: fault.message },
    incomplete_details: parts.cut === null ? null : { reason: parts.cut },
    instructions: asked.instructions,
    max_output_tokens: null,
    model: parts.model,
    output: parts.output,
    parallel_tool_calls: true,
    previous_response_id: ids.leg === 0 ? asked.previous : writeResponseId({ ...ids, leg: ids.leg - 1 }),
    ...(asked.isConversation ? { conversation: { id: writeConversationId(ids.threadId) } } : {}),
    reasoning: { effort: null, summary: null },
    store: parts.isStored,
    temperature: null,
    text: { format: asked.format },
    tool_choice: "auto",
    tools: parts.tools.map(toolToResponse),
    top_p: null,
    truncation: "auto",
    usage: parts.usage === null ? null : usageToResponse(parts.usage),
    user: null,
    metadata: asked.metadata,
    ...asked.settings
  }
}

/** The calls of an answer. A call with `approval` waits for a person. */
type Calls = ReadonlyArray<{
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly approval?: object
}>

/**
 * The reason why the output ended early. With a call that waits for an approval, which the client cannot answer, the response is
 * incomplete.
 */
export const cutBy = (reason: TurnReply["stopReason"], calls: Calls = []): ResponseParts["cut"] => {
  if (calls.some(({ approval }) => approval !== undefined)) return "approval_required"
  if (reason === "length") return "max_output_tokens"
  return reason === "filtered" ? "content_filter" : null
}

/** The fields of a response that are known before its run begins. */
export type Beginning = Pick<ResponseParts, "ids" | "asked" | "isStored" | "tools">

export const begun = (beginning: Beginning, model: string, createdAt: Date, status: ResponseStatus): ResponseParts => ({
  ...beginning,
  status,
  model,
  createdAt,
  fault: null,
  cut: null,
  output: [],
  usage: null
})

const statusOfReply = {
  COMPLETED: "completed",
  REQUIRES_ACTION: "completed",
  FAILED: "failed",
  CANCELLED: "cancelled",
  IN_PROGRESS: "in_progress"
} as const

export const repliedParts = (beginning: Beginning, reply: TurnReply): ResponseParts => ({
  ...begun(
    beginning,
    `${reply.provider}/${reply.model}`,
    reply.createdAt,
    cutBy(reply.stopReason, reply.toolCalls) === null ? statusOfReply[reply.status] : "incomplete"
  ),
  cut: cutBy(reply.stopReason, reply.toolCalls),
  output: outputItems(
    reply.messageId,
    reply.fault === null ? reply.content : "",
    reply.toolCalls,
    reply.status === "CANCELLED" || cutBy(reply.stopReason, reply.toolCalls) !== null ? "incomplete" : "completed",
    reply.supplements
  ),
  fault: reply.fault,
  usage: reply.usage
})

/** Tools that the run's plan names. */
export const toolsIn = ({ plan }: Pick<Run, "plan">): ReadonlyArray<ToolDefinition> => {
  const tools = isRecord(plan) ? plan["tools"] : null
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) => {
    if (!isRecord(tool) || typeof tool["name"] !== "string") return []
    const { description, name, parameters, strict } = tool
    return [
      {
        name,
        description: typeof description === "string" ? description : null,
        parameters: isJsonObject(parameters) ? parameters : null,
        ...(typeof strict === "boolean" ? { strict } : {})
      }
    ]
  })
}

const isJsonObject = Schema.is(Schema.JsonObject)

/** The stored response, made of the answers of its run. Null while nothing of its leg is stored. */
export const storedParts = (
  ids: ResponseIds,
  run: Run,
  asked: Asked,
  answers: ReadonlyArray<Message>
): ResponseParts | null => {
  if (ids.leg > run.leg) return null
  const leg = endLeg(answers, ids.leg, run.leg)
  const message = answers[leg]
  const before = answers.slice(ids.leg, leg)
  const isLast = run.leg === leg
  const running = isLast && !isAtRest(run.status)
  const beginning = { ids, asked, isStored: true, tools: toolsIn(run) }
  const model = `${message?.provider ?? run.provider}/${message?.model ?? run.model}`
  if (running || message === undefined) {
    const status = run.status === "QUEUED" ? "queued" : running ? "in_progress" : statusOfRun[run.status]
    return { ...begun(beginning, model, run.createdAt, status), fault: running ? null : run.fault }
  }
  const waiting = message.status === "REQUIRES_ACTION" ? message.toolCalls : []
  const cut = message.status === "COMPLETED" ? cutBy(message.stopReason) : cutBy(null, waiting)
  const status =
    message.status === "CANCELLED" && message.toolCalls.length > 0 ? "completed" : statusOfReply[message.status]
  return {
    ...begun(beginning, model, message.createdAt, cut === null ? status : "incomplete"),
    cut,
    fault: isLast ? run.fault : null,
    output: [
      ...before.flatMap((each) => messageItems(each, "completed")),
      ...messageItems(message, status === "completed" && cut === null ? "completed" : "incomplete")
    ],
    usage: [...before, message].reduce<Usage | null>(addMessageUsage, null)
  }
}

const messageItems = ({ content, id, supplements, toolCalls }: Message, status: "completed" | "incomplete") =>
  outputItems(id, content ?? "", toolCalls, status, supplements)

const addMessageUsage = (sum: Usage | null, { usage }: Message): Usage | null =>
  sum === null || usage === null ? (usage ?? sum) : addUsage(sum, usage)

const statusOfRun: { readonly [Status in RunStatus]: ResponseStatus } = {
  QUEUED: "queued",
  IN_PROGRESS: "in_progress",
  REQUIRES_ACTION: "completed",
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "cancelled"
}

export const responseIds = ({ runId, threadId }: StartedTurn, leg: number): ResponseIds => ({ threadId, runId, leg })
