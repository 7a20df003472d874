/**
 * A message as a row. What the statements look at has a column; the rest is one JSON text, `body`, that comes back exactly as it was.
 * Messages are read as JSON that the database puts together. An answer that is being written has no body: nothing of it is stored yet.
 */
import type { Message, MessageId, NewMessage, RunId, ThreadId } from "@colloquy/core"
import { newRowId } from "./StoredId.ts"
import { fromJson, fromText } from "./StoredText.ts"

/** What the schema's function `message_text` makes of a row, and what `unfinishedText` makes of an answer. */
interface MessageText {
  readonly id: MessageId
  readonly threadId: ThreadId
  readonly runId?: RunId
  readonly sequence: number
  readonly role: Message["role"]
  readonly status: Message["status"]
  readonly tokens: number
  readonly createdAt: number
  readonly body: Body
  readonly toolResults: Message["toolResults"]
}

interface UnfinishedText extends Omit<MessageText, "body"> {
  readonly body: null
  readonly provider: string
  readonly model: string
}

type Body = Pick<Message, "content" | "toolCalls" | "steps" | "provider" | "model" | "usage" | "metadata">

/** Messages in a row are an array of them in one text. */
export interface MessagesRow {
  readonly messages: string
}

/**
 * Lists what a query finds, which gives a `place` and a `message`, in rows of about a million bytes: a client takes one long text faster
 * than many short ones, but not one of any length.
 */
export const listMessages = (found: string): string =>
  `select '[' || string_agg(page.message, ',' order by page.place) || ']' as messages
   from (select found.*, sum(octet_length(found.message)) over (order by found.place) / 1000000 as part from (${found}) found) page
   group by page.part order by page.part`

/** The answer of the run `r` on the thread `t`. */
export const unfinishedText = `concat('{"id":"', r.answer_id, '","threadId":"', r.thread_id, '","runId":"', r.id,
  '","sequence":', t.message_count + 1, ',"role":"assistant","status":"IN_PROGRESS","tokens":0,"createdAt":',
  (extract(epoch from coalesce(r.started_at, r.created_at)) * 1000)::bigint, ',"body":null,"toolResults":[],"provider":',
  to_json(r.provider), ',"model":', to_json(r.model), '}')`

export const decodeMessages = (rows: ReadonlyArray<MessagesRow>): ReadonlyArray<Message> =>
  rows.flatMap(({ messages }) => fromJson<ReadonlyArray<MessageText | UnfinishedText>>(messages).map(decodeMessage))

const decodeMessage = (stored: MessageText | UnfinishedText): Message => {
  const { content, metadata, model, provider, steps, toolCalls, usage } =
    stored.body === null ? unsaid(stored) : stored.body
  return {
    id: stored.id,
    threadId: stored.threadId,
    runId: stored.runId ?? null,
    role: stored.role,
    content,
    status: stored.status,
    toolCalls,
    toolResults: stored.toolResults,
    steps,
    provider,
    model,
    usage,
    metadata,
    tokens: stored.tokens,
    createdAt: new Date(stored.createdAt),
    sequence: stored.sequence
  }
}

const unsaid = ({ model, provider }: UnfinishedText): Body => ({
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
