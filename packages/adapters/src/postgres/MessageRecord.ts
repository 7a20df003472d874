/**
 * A message as a row. What the statements look at has a column; the rest is one JSON text, `body`, that comes back exactly as it was.
 * Messages are read as JSON that the database puts together. An answer that is being written has no body: nothing of it is stored yet.
 */
import type { Message, MessageId, RunId, ThreadId } from "@colloquy/core"
import type { NewMessage } from "@colloquy/core/adapters"
import { newRowId } from "./StoredId.ts"
import { fromJson, fromText } from "./StoredText.ts"

/** What the schema's function `message_text` makes of a row, and what `unfinishedText` makes of an answer, which has no body. */
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
  /** Absent where there are none: most messages have none. */
  readonly supplements?: Message["supplements"]
}

/** A history comes as an array of messages in one text, or in few. */
export interface MessagesRow {
  readonly messages: string
}

/** A list comes message by message: it may be of any length, and the first are on their way while the last are looked up. */
export interface MessageRow {
  readonly message: string
}

/** The answer of the run `r` on the thread `t`. */
export const unfinishedText = `concat('["', r.answer_id, '","', r.thread_id, '","', r.id, '",', t.message_count + 1,
  ',"assistant","IN_PROGRESS",0,', (date_part('epoch', coalesce(r.started_at, r.created_at)) * 1000)::bigint,
  ',null,[],', to_json(r.provider), ',', to_json(r.model), ']')`

export const decodeMessages = (rows: ReadonlyArray<MessagesRow>): ReadonlyArray<Message> =>
  rows.flatMap(({ messages }) => fromJson<ReadonlyArray<MessageText>>(messages).map(decodeMessage))

/** Read as one text: to parse one of a thousand messages takes half as long as to parse a thousand. */
export const decodeList = (rows: ReadonlyArray<MessageRow>): ReadonlyArray<Message> =>
  decodeMessages([{ messages: `[${rows.map(({ message }) => message).join(",")}]` }])

const decodeMessage = (stored: MessageText): Message => {
  const [id, threadId, runId, sequence, role, status, tokens, createdAt, body, toolResults, provider, model] = stored
  const said = body ?? unsaid(provider, model)
  return {
    id,
    threadId,
    runId,
    role,
    content: said.content,
    status,
    toolCalls: said.toolCalls,
    toolResults,
    steps: said.steps,
    provider: said.provider,
    model: said.model,
    usage: said.usage,
    metadata: said.metadata,
    supplements: said.supplements ?? null,
    tokens,
    createdAt: new Date(createdAt),
    sequence
  }
}

const unsaid = (provider = "", model = ""): Body => ({
  content: null,
  toolCalls: [],
  steps: [],
  provider: fromText(provider),
  model: fromText(model),
  usage: null,
  metadata: null
})

const bodyOf = ({ content, metadata, model, provider, steps, supplements, toolCalls, usage }: NewMessage): Body => ({
  content,
  toolCalls,
  steps,
  provider,
  model,
  usage,
  metadata,
  ...(supplements === null ? {} : { supplements })
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
