/**
 * A message as a row. What the statements look at has a column; the rest is one JSON text, `body`, that comes back exactly as it was.
 * The row of an answer that is being written has no body: nothing of it is stored yet.
 */
import type { Message, MessageId, NewMessage, RunId, ThreadId } from "@colloquy/core"
import { newRowId } from "./StoredId.ts"
import { fromJson, fromText } from "./StoredText.ts"

export interface MessageRow {
  readonly id: MessageId
  readonly thread_id: ThreadId
  readonly run_id: RunId | null
  readonly sequence: number
  readonly role: Message["role"]
  readonly status: Message["status"]
  readonly tokens: number
  readonly created_at: Date
  readonly body: string
  readonly tool_results: string
}

export interface UnfinishedRow extends Omit<MessageRow, "body"> {
  readonly body: null
  readonly provider: string
  readonly model: string
}

type Body = Pick<Message, "content" | "toolCalls" | "steps" | "provider" | "model" | "usage" | "metadata">

const columns: ReadonlyArray<keyof MessageRow> = [
  "id",
  "thread_id",
  "run_id",
  "sequence",
  "role",
  "status",
  "tokens",
  "created_at",
  "body",
  "tool_results"
]

/** `m.id, m.thread_id, …` */
export const messageColumns = columns.map((column) => `m.${column}`).join(", ")

export const decodeMessage = (row: MessageRow | UnfinishedRow): Message => {
  const { content, metadata, model, provider, steps, toolCalls, usage } =
    row.body === null ? unsaid(row) : fromJson<Body>(row.body)
  return {
    id: row.id,
    threadId: row.thread_id,
    runId: row.run_id,
    role: row.role,
    content,
    status: row.status,
    toolCalls,
    toolResults: fromJson(row.tool_results),
    steps,
    provider,
    model,
    usage,
    metadata,
    tokens: row.tokens,
    createdAt: row.created_at,
    sequence: row.sequence
  }
}

const unsaid = ({ model, provider }: UnfinishedRow): Body => ({
  content: null,
  toolCalls: [],
  steps: [],
  provider: fromText(provider),
  model: fromText(model),
  usage: null,
  metadata: null
})

const bodyOf = ({ content, metadata, model, provider, steps, toolCalls, usage }: NewMessage): Body => ({
  content,
  toolCalls,
  steps,
  provider,
  model,
  usage,
  metadata
})

/** The arguments by which functions take a new message. Its thread and its run are those of the call. */
export const messageArguments = (message: NewMessage) => ({
  message_id: newRowId(message.id),
  message_role: message.role,
  message_status: message.status,
  message_tokens: message.tokens,
  message_at: message.createdAt,
  message_body: JSON.stringify(bodyOf(message)),
  message_results: JSON.stringify(message.toolResults)
})
