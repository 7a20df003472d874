/**
 * Converts a message to a row of the table `messages`, and back. A field that some statement reads has a column; the other fields are one
 * JSON text in the column `body`. Messages are read as JSON arrays that the database builds. While a run is still writing its answer, the
 * database builds the answer from the run's row: nothing of the answer is stored yet, so it has no body.
 */
import type { AssistantId, Message, MessageId, RunId, ThreadId } from "@colloquy/core"
import { type NewMessage, usualStop } from "@colloquy/core/adapters"
import { newRowId } from "./StoredId.ts"
import { fromJson, fromText } from "./StoredText.ts"

/** The array that `messageText` builds. `unfinishedText` builds the same array with `body` null, `provider` and `model`. */
type MessageText = readonly [
  id: MessageId,
  threadId: ThreadId,
  runId: RunId | null,
  sequence: number,
  role: Message["role"],
  status: Message["status"],
  tokens: number,
  createdAt: number,
  body: Body | null,
  toolResults: Message["toolResults"],
  provider?: string,
  model?: string
]

type Body = Pick<Message, "content" | "toolCalls" | "steps" | "provider" | "model" | "usage" | "metadata"> & {
  /** The id and the version of the assistant that gave an answer. */
  readonly assistant?: readonly [id: AssistantId, version: number]
  /** Most messages have no supplements; the field is then absent. */
  readonly supplements?: Message["supplements"]
  /** Present in failed answers. */
  readonly fault?: Message["fault"]
  /** Absent if it is `usualStop`, so that most answers have no such field and are listed without being parsed. */
  readonly stopReason?: Message["stopReason"]
  readonly imported?: true
}

/** A history is read as a few rows, usually one. Each is the JSON array of many messages. */
export interface MessagesRow {
  readonly messages: string
}

/** A list is read as one row for each message, so that the server can send the first messages while it still looks up the last. */
export interface MessageRow {
  readonly message: string
}

/** SQL that builds the unfinished answer of the run `r` on the thread `t`. */
export const unfinishedText = `concat('["', r.answer_id, '","', r.thread_id, '","', r.id, '",', t.message_count + 1,
  ',"assistant","IN_PROGRESS",0,', (date_part('epoch', coalesce(r.started_at, r.created_at)) * 1000)::bigint,
  ',null,[],', to_json(r.provider), ',', to_json(r.model), ']')`

export const decodeMessages = (rows: ReadonlyArray<MessagesRow>): ReadonlyArray<Message> =>
  rows.flatMap(({ messages }) => fromJson<ReadonlyArray<MessageText>>(messages).map(decodeMessage))

/** Joins the rows and parses them as one text: this takes half as long as parsing a thousand texts. */
export const decodeList = (rows: ReadonlyArray<MessageRow>): ReadonlyArray<Message> =>
  decodeMessages([{ messages: `[${rows.map(({ message }) => message).join(",")}]` }])

const decodeMessage = (stored: MessageText): Message => {
  const [id, threadId, runId, sequence, role, status, tokens, createdAt, body, toolResults, provider, model] = stored
  const fields = body ?? unfinishedBody(provider, model)
  return {
    id,
    threadId,
    runId,
    role,
    content: fields.content,
    status,
    fault: fields.fault ?? null,
    stopReason:
      fields.stopReason === undefined ? usualStop({ role, status, toolCalls: fields.toolCalls }) : fields.stopReason,
    toolCalls: fields.toolCalls,
    toolResults,
    steps: fields.steps,
    provider: fields.provider,
    model: fields.model,
    assistant: fields.assistant === undefined ? null : { id: fields.assistant[0], version: fields.assistant[1] },
    usage: fields.usage,
    metadata: fields.metadata,
    supplements: fields.supplements ?? null,
    ...(fields.imported === undefined ? {} : { imported: fields.imported }),
    tokens,
    createdAt: new Date(createdAt),
    sequence
  }
}

const unfinishedBody = (provider = "", model = ""): Body => ({
  content: null,
  toolCalls: [],
  steps: [],
  provider: fromText(provider),
  model: fromText(model),
  usage: null,
  metadata: null
})

const messageBody = (message: NewMessage): Body => {
  const { assistant, content, fault, metadata, model, provider, steps, stopReason, supplements, toolCalls, usage } =
    message
  return {
    content,
    toolCalls,
    steps,
    provider,
    model,
    ...(assistant === null ? {} : { assistant: [assistant.id, assistant.version] }),
    usage,
    metadata,
    ...(supplements === null ? {} : { supplements }),
    ...(fault === null ? {} : { fault }),
    ...(stopReason === usualStop(message) ? {} : { stopReason }),
    ...(message.imported === undefined ? {} : { imported: message.imported })
  }
}

/** The arguments of the schema's functions that store a new message. The ids of its thread and its run are separate arguments. */
export const messageArguments = (message: NewMessage) => ({
  message_id: newRowId(message.id),
  message_role: message.role,
  message_status: message.status,
  message_tokens: message.tokens,
  message_at: message.createdAt,
  message_body: JSON.stringify(messageBody(message)),
  message_results: JSON.stringify(message.toolResults)
})

/** The arguments for the message with which a run begins or ends. Null stands for the value that nearly every message of this role has. */
export const turnMessageArguments = (message: NewMessage, usualRole: Message["role"]) => {
  const { message_at, message_body, message_id, message_results, message_role, message_status, message_tokens } =
    messageArguments(message)
  return {
    message_id,
    message_role: message_role === usualRole ? null : message_role,
    message_status: message_status === "COMPLETED" ? null : message_status,
    message_tokens,
    message_at,
    message_body,
    message_results: message.toolResults.length === 0 ? null : message_results
  }
}
