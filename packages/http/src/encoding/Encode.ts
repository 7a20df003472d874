/** From the kernel's records to those of the wire. Total functions: nothing is decided here. */
import {
  type Assistant,
  type Message,
  type Run,
  type RunReport,
  readSupplement,
  type TurnReply,
  type Usage
} from "@colloquy/core"
import {
  type AssistantVersion,
  type Colleague,
  type ContextUsage,
  type Decision,
  type MessageStatus,
  type ModelOptions,
  type ThreadWithMessages,
  totalTokens,
  type VersionedField
} from "@colloquy/core/adapters"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { compact, timestampOrNull, writeTimestamp } from "../wire/Fields.ts"
import type * as Records from "../wire/Records.ts"
import type { PartFields } from "../wings/Wing.ts"
import type { Wings } from "../wings/Wings.ts"
import { openCallToWire, toolToWire } from "../wire/Tools.ts"

/** Shows what parts have kept, as fields of the wire. */
export type Parts = Pick<typeof Wings.Service, "fields">

export const assistantToWire = (assistant: Assistant): Records.Assistant => ({
  assistant_id: assistant.id,
  name: assistant.name,
  description: assistant.description,
  system_prompt: assistant.systemPrompt,
  llm_provider: assistant.provider,
  model_name: assistant.model,
  tools: assistant.tools === null ? null : assistant.tools.map(toolToWire),
  model_options: assistant.modelOptions === null ? null : modelOptionsToWire(assistant.modelOptions),
  tok_k: assistant.searchLimit,
  embedding_provider: assistant.embedding.provider,
  embedding_model_name: assistant.embedding.model,
  embedding_dims: assistant.embedding.dimensions,
  custom_fact_extraction_prompt: assistant.factExtractionPrompt,
  custom_update_memory_prompt: assistant.memoryUpdatePrompt,
  metadata_: assistant.metadata,
  helpers: assistant.helpers.map(colleagueToWire),
  handoffs: assistant.handoffs.map(colleagueToWire),
  version: assistant.version,
  created_at: writeTimestamp(assistant.createdAt),
  updated_at: writeTimestamp(assistant.updatedAt)
})

const colleagueToWire = ({ assistantId, description, name }: Colleague) => ({
  assistant_id: assistantId,
  name,
  description
})

const fieldNames: { readonly [Field in VersionedField]: string } = {
  name: "name",
  description: "description",
  systemPrompt: "system_prompt",
  provider: "llm_provider",
  model: "model_name",
  tools: "tools",
  modelOptions: "model_options",
  searchLimit: "tok_k",
  factExtractionPrompt: "custom_fact_extraction_prompt",
  memoryUpdatePrompt: "custom_update_memory_prompt",
  metadata: "metadata",
  helpers: "helpers",
  handoffs: "handoffs"
}

export const versionToWire = ({ by, changes, createdAt, version }: AssistantVersion) => ({
  version,
  created_at: writeTimestamp(createdAt),
  by,
  changes: changes.map((field) => fieldNames[field])
})

export const modelOptionsToWire = (options: ModelOptions): Records.Assistant["model_options"] => {
  const { maxOutputTokens, maxSteps, parallelToolCalls, seed, stop, temperature, toolChoice, topP } = options
  return compact({
    temperature,
    top_p: topP,
    max_output_tokens: maxOutputTokens,
    stop,
    seed,
    tool_choice: toolChoice,
    parallel_tool_calls: parallelToolCalls,
    max_steps: maxSteps
  })
}

/** Writes a reply without encoding it by its schema: its type is that of the wire already. */
export const writeRecord = (record: Records.MessageResponse) => HttpServerResponse.jsonUnsafe(record)

export const threadToWire = ({ messages, thread }: ThreadWithMessages, wings: Parts): Records.Thread => ({
  thread_id: thread.id,
  assistant_id: thread.assistantId,
  created_at: writeTimestamp(thread.createdAt),
  updated_at: writeTimestamp(thread.updatedAt),
  metadata_: thread.metadata,
  assistant_version: thread.assistantVersion,
  acting_assistant_id: thread.actingAssistantId ?? null,
  forked_from:
    thread.forkedFrom === undefined
      ? null
      : { thread_id: thread.forkedFrom.threadId, message_id: thread.forkedFrom.messageId },
  messages: messages.map((message) => messageToWire(message, wings))
})

const listOrNull = <A, B>(list: ReadonlyArray<A>, encode: (each: A) => B): ReadonlyArray<B> | null =>
  list.length === 0 ? null : list.map(encode)

/** Null where no model was asked. */
export const tokensToWire = (usage: Usage | null) => ({
  input_tokens: usage?.inputTokens ?? null,
  output_tokens: usage?.outputTokens ?? null,
  total_tokens: usage === null ? null : totalTokens(usage)
})

export const messageToWire = (message: Message, wings: Parts): Records.StoredMessage => {
  const { added, metadata_, ...own } = ownFields(message, wings)
  return {
    ...added,
    message_id: message.id,
    role: message.role,
    content: message.content,
    fault: message.fault,
    partial_content: message.fault === null ? null : (message.content ?? ""),
    status: message.status,
    stop_reason: message.status === "CANCELLED" ? null : message.stopReason,
    run_id: message.runId,
    tool_calls: listOrNull(message.toolCalls, openCallToWire),
    metadata_,
    model_provider: message.provider,
    model_name: message.model,
    assistant_id: message.assistant?.id ?? null,
    assistant_version: message.assistant?.version ?? null,
    ...tokensToWire(message.usage),
    ...own,
    reasoning: null,
    created_at: writeTimestamp(message.createdAt),
    ...(message.imported === undefined ? {} : { imported: message.imported })
  }
}

/** The fields of a stored message that belong to parts. */
const ownFields = (message: Message, wings: Parts): Partial<PartFields> & Omit<PartFields, "added"> => {
  if (message.supplements === null) return { ...emptyFields, metadata_: metadataToWire(message) }
  const kept = Object.fromEntries(
    Object.keys(message.supplements).map((part) => [part, readSupplement(message, part)?.value ?? null])
  )
  // A message with calls is not the last one of its run.
  const completedRun = message.status === "COMPLETED" && message.toolCalls.length === 0 ? message.runId : null
  const own = message.role === "user" ? wings.fields({}, kept, completedRun) : wings.fields(kept, {}, completedRun)
  const metadata = metadataToWire(message)
  return { ...emptyFields, ...own, metadata_: own.metadata_ == null ? metadata : { ...metadata, ...own.metadata_ } }
}

export const emptyFields: Omit<PartFields, "added"> = {
  attachments: null,
  generated_media: null,
  memory_operation_id: null,
  metadata_: null,
  retrieved_files: null,
  retrieved_files_count: 0,
  retrieved_memories: null,
  system_one: null,
  voice_records: null
}

/**
 * The metadata of a message. They include the outputs that the client submitted for its calls, and the calls that the server ran itself.
 */
const metadataToWire = ({ content, metadata, steps, toolResults }: Message) => {
  const hosted = hostedCallsToWire(content ?? "", steps)
  if (toolResults.length === 0 && hosted.length === 0) return metadata
  return {
    ...metadata,
    ...(toolResults.length === 0
      ? {}
      : {
          tool_outputs: toolResults.map(({ decided, isPending = false, output, toolCallId, toolName }) => ({
            tool_call_id: toolCallId,
            tool_name: toolName,
            output: isPending ? null : output,
            ...(decided === undefined ? {} : decisionToWire(decided))
          }))
        }),
    ...(hosted.length === 0 ? {} : { hosted_calls: hosted })
  }
}

/** The decision about a call that waited for an approval, and the arguments of the call, if they are not those of the model. */
const decisionToWire = ({ arguments: args, at, decision, reason }: Decision) => ({
  decision,
  ...(args === undefined ? {} : { arguments: args }),
  ...(reason === undefined ? {} : { reason }),
  decided_at: at
})

/** The calls, each with the position in the content where it was made: behind the text of its step. */
const hostedCallsToWire = (content: string, steps: Message["steps"]) => {
  let offset = 0
  return steps.flatMap(({ hostedResults, text, toolCalls }) => {
    const begin = content.indexOf(text, offset)
    if (begin >= 0) offset = begin + text.length
    return hostedResults.map(({ output, toolCallId, toolName }) => ({
      tool_call_id: toolCallId,
      tool_name: toolName,
      arguments: toolCalls.find(({ id }) => id === toolCallId)?.arguments ?? "",
      output,
      content_offset: offset
    }))
  })
}

const acknowledgements: { readonly [Status in MessageStatus]: string } = {
  COMPLETED: "The message was answered.",
  REQUIRES_ACTION:
    "The answer waits for the listed tool calls: for the outputs of the client's tools, and for decisions about the others.",
  FAILED: "The message was kept, but the run failed.",
  CANCELLED: "The message was kept, and the run was cancelled.",
  IN_PROGRESS: "The message is being answered."
}

export const replyToWire = (reply: TurnReply, wings: Parts): Records.MessageResponse => {
  const completedRun = reply.status === "COMPLETED" ? reply.runId : null
  const { added, ...own } = wings.fields(reply.supplements, reply.userSupplements, completedRun)
  return { ...added, ...replyRecord(reply), ...emptyFields, ...own }
}

const replyRecord = (reply: TurnReply) => ({
  message: reply.role === "user" ? "The message was saved." : acknowledgements[reply.status],
  thread_id: reply.threadId,
  assistant_id: reply.assistantId,
  assistant_version: reply.assistantVersion,
  message_id: reply.messageId,
  run_id: reply.runId,
  role: reply.role,
  status: reply.status,
  // Clients of the API read the reason of a failed reply in `content`.
  content: reply.fault === null ? reply.content : reply.fault.message,
  fault: reply.fault,
  partial_content: reply.fault === null ? null : reply.content,
  stop_reason: reply.stopReason,
  ignored_options: reply.ignored,
  model_provider: reply.provider,
  model_name: reply.model,
  ...tokensToWire(reply.provider === null ? null : reply.usage),
  cost_usd: reply.usage.costUsd,
  created_at: writeTimestamp(reply.createdAt),
  timestamp: writeTimestamp(reply.createdAt),
  tool_calls: listOrNull(reply.toolCalls, openCallToWire),
  reasoning: reply.reasoning,
  context_usage: contextUsageToWire(reply.contextUsage),
  ...(reply.keptAs === null ? {} : { kept_as: reply.keptAs })
})

export const contextUsageToWire = (usage: ContextUsage | null): Records.ContextUsage | null =>
  usage === null
    ? null
    : {
        model: usage.model,
        used_tokens: usage.usedTokens,
        context_limit: usage.contextLimit,
        percent: usage.percent,
        summary_tokens: usage.summaryTokens
      }

export const runToWire = ({ assistantVersion, explanation, ignored, ownUsage, run }: RunReport): Records.Run => ({
  run_id: run.id,
  thread_id: run.threadId,
  assistant_id: run.assistantId,
  assistant_version: assistantVersion,
  parent_run_id: run.parentRunId,
  status: run.status,
  user_message_id: run.userMessageId,
  message_id: run.answerId,
  model_provider: run.provider,
  model_name: run.model,
  sequence: run.lastSequence,
  input_tokens: run.usage.inputTokens,
  output_tokens: run.usage.outputTokens,
  total_tokens: totalTokens(run.usage),
  cost_usd: run.usage.costUsd,
  usage_estimated: run.usage.estimated,
  usage_own: {
    input_tokens: ownUsage.inputTokens,
    output_tokens: ownUsage.outputTokens,
    total_tokens: totalTokens(ownUsage),
    cost_usd: ownUsage.costUsd
  },
  cancel_requested: run.cancelRequested,
  error: run.fault,
  ignored_options: ignored,
  prompt: promptToWire(explanation),
  created_at: writeTimestamp(run.createdAt),
  started_at: timestampOrNull(run.startedAt),
  ended_at: timestampOrNull(run.endedAt)
})

const promptToWire = (explanation: RunReport["explanation"]): Records.Run["prompt"] =>
  explanation === null
    ? null
    : {
        model: explanation.model,
        context_limit: explanation.contextLimit,
        reserved_for_answer: explanation.reservedForAnswer,
        used_tokens: explanation.usedTokens,
        parts: explanation.parts,
        left_out: explanation.leftOut
      }

export const cancelToWire = (run: Run) => ({
  thread_id: run.threadId,
  run_id: run.id,
  cancelled: true as const,
  status: run.status
})
