/**
 * Threads with all their messages, as JSON text. A thousand messages are not made records first: a plain one is written straight from what
 * the store has of it, others as everywhere (`messageToWire`). A long answer goes out in pieces, because a text or buffer of a megabyte
 * costs more memory and time than thirty small ones.
 */
import { isPlain, type ListedMessage, type ListedThread, type PlainMessage, totalTokens } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { respondWithTexts, type TextPiece, textPiece } from "./TextPieces.ts"
import { writeTimestamp } from "../wire/Fields.ts"
import type * as Records from "../wire/Records.ts"
import { emptyFields, messageToWire, type Parts, threadToWire } from "./Encode.ts"

type Write = (message: PlainMessage) => string

const { metadata_: _, ...emptyOfParts } = emptyFields

/** Every field of a plain message, in the order of `messageToWire`: a value that all of them have, or a function for the JSON of one. */
const plainFields: { readonly [Field in keyof Records.StoredMessage]: Records.StoredMessage[Field] | Write } = {
  message_id: ({ json }) => json.id,
  role: ({ json }) => json.role,
  content: ({ json }) => json.content,
  fault: null,
  partial_content: null,
  status: ({ json }) => json.status,
  stop_reason: ({ json }) => (json.role === '"assistant"' && json.status === '"COMPLETED"' ? '"stop"' : "null"),
  run_id: ({ json }) => json.runId,
  tool_calls: null,
  metadata_: ({ json }) => json.metadata,
  model_provider: ({ json }) => json.provider,
  model_name: ({ json }) => json.model,
  assistant_id: ({ json }) => json.assistantId,
  assistant_version: ({ json }) => json.assistantVersion,
  input_tokens: ({ usage }) => `${usage === null ? null : usage.inputTokens}`,
  output_tokens: ({ usage }) => `${usage === null ? null : usage.outputTokens}`,
  total_tokens: ({ usage }) => `${usage === null ? null : totalTokens(usage)}`,
  ...emptyOfParts,
  reasoning: null,
  created_at: ({ createdAt }) => `"${writeTimestamp(createdAt)}"`
}

/** Joins the constant text between two fields that differ from message to message into one text. */
const compile = (fields: Readonly<Record<string, unknown>>): Write => {
  const before: Array<string> = []
  const writes: Array<Write> = []
  let text = "{"
  for (const [name, field] of Object.entries(fields)) {
    text += `${text === "{" ? "" : ","}${JSON.stringify(name)}:`
    if (isWrite(field)) {
      before.push(text)
      writes.push(field)
      text = ""
    } else text += JSON.stringify(field)
  }
  const end = `${text}}`
  return (message) => {
    let written = ""
    for (let index = 0; index < writes.length; index++) written += before[index] + (writes[index]?.(message) ?? "")
    return written + end
  }
}

const isWrite = (field: unknown): field is Write => typeof field === "function"

const writePlain = compile(plainFields)

export const messageText = (message: ListedMessage, wings: Parts): string =>
  isPlain(message) ? writePlain(message) : JSON.stringify(messageToWire(message, wings))

const noMessages = "[]}"

function* textsOfThread({ messages, thread }: ListedThread, wings: Parts, fields: object = {}): Generator<string> {
  const empty = JSON.stringify({ ...fields, ...threadToWire({ thread, messages: [] }, wings) })
  yield `${empty.slice(0, -noMessages.length)}[`
  let separator = ""
  for (const message of messages) {
    yield separator + messageText(message, wings)
    separator = ","
  }
  yield "]}"
}

function* textsOfThreads(threads: ReadonlyArray<ListedThread>, wings: Parts): Generator<string> {
  yield "["
  for (const [index, thread] of threads.entries()) {
    if (index > 0) yield ","
    yield* textsOfThread(thread, wings)
  }
  yield "]"
}

function* textsOfList(records: ReadonlyArray<object>, before = "[", after = "]"): Generator<string> {
  yield before
  for (const [index, record] of records.entries()) yield `${index > 0 ? "," : ""}${JSON.stringify(record)}`
  yield after
}

/** Records that may be large, such as assistants with their instructions. */
export const writeList = (records: ReadonlyArray<object>) => written(textsOfList(records))
/** Such records as the list `name` of an object, before the fields of `page`. */
export const writePage = (name: string, records: ReadonlyArray<object>, page: object) =>
  written(textsOfList(records, `{${JSON.stringify(name)}:[`, `],${JSON.stringify(page).slice(1)}`))
export const writeThread = (thread: ListedThread, wings: Parts, fields?: object, status?: number) =>
  written(textsOfThread(thread, wings, fields), status)
export const writeThreads = (threads: ReadonlyArray<ListedThread>, wings: Parts) =>
  written(textsOfThreads(threads, wings))

/** Characters in a piece. */
const pieceLength = 32 * 1024

/** Characters after which others get a turn: a list may have hundreds of megabytes. */
const turnLength = 1024 * 1024

const written = Effect.fnUntraced(function* (
  texts: Iterable<string>,
  status = 200
): Effect.fn.Return<HttpServerResponse.HttpServerResponse> {
  let group: Array<TextPiece> = []
  const groups = [group]
  let piece = ""
  let sinceTurn = 0
  for (const text of texts) {
    piece += text
    if (piece.length < pieceLength) continue
    group.push(textPiece(piece))
    sinceTurn += piece.length
    piece = ""
    if (sinceTurn < turnLength) continue
    sinceTurn = 0
    groups.push((group = []))
    yield* Effect.yieldNow
  }
  const as = { contentType: "application/json", status }
  if (groups.length === 1 && group.length === 0) return HttpServerResponse.text(piece, as)
  group.push(textPiece(piece))
  return respondWithTexts(groups, as)
})
