/** The state of one answer, from its events while it is streamed, and from the store afterwards. Pure. */
import type {
  Excerpt,
  GeneratedMedia,
  JsonRecord,
  RetrievedMemory,
  Source,
  StoredMessage,
  StreamEvent,
  SystemOne,
  ToolCall
} from "../wire.ts"
import { isRecord } from "../wire.ts"

export interface Call {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly given: string
  /** Null: not known yet. */
  readonly output: string | null
}

/** A stretch of an answer: text, or calls of tools without text between them. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "calls"; readonly ids: ReadonlyArray<string> }

export interface Answer {
  readonly messageId: string | null
  readonly runId: string | null
  /** `broken`: the connection was lost, and is being restored. */
  readonly state: "live" | "broken" | "waiting" | "done" | "failed" | "cancelled"
  readonly text: string
  /** The text and the calls in the order in which they came. */
  readonly pieces: ReadonlyArray<Piece>
  readonly thoughts: string
  readonly calls: ReadonlyArray<Call>
  readonly media: ReadonlyArray<GeneratedMedia>
  readonly sources: ReadonlyArray<Source>
  readonly memories: ReadonlyArray<RetrievedMemory>
  readonly files: ReadonlyArray<string>
  /** The excerpts of documents that the model was given: `[d1]` in the text is the first. */
  readonly excerpts: ReadonlyArray<Excerpt>
  readonly typed: SystemOne | null
  /** The reason why the answer failed. */
  readonly problem: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
  readonly memoryOperationId: string | null
  /** The address of the spoken answer. */
  readonly speech: string | null
  /** The reason why the answer could not be read aloud. */
  readonly speechProblem: string | null
  readonly startedAt: string | null
  /** The times that the voice of a spoken answer reported; empty if it reports none. Null: the answer was not spoken. */
  readonly voiceTimes: Readonly<Record<string, unknown>> | null
}

export const emptyAnswer: Answer = {
  messageId: null,
  runId: null,
  state: "live",
  text: "",
  pieces: [],
  thoughts: "",
  calls: [],
  media: [],
  sources: [],
  memories: [],
  files: [],
  excerpts: [],
  typed: null,
  problem: null,
  provider: null,
  model: null,
  inputTokens: null,
  outputTokens: null,
  costUsd: null,
  memoryOperationId: null,
  speech: null,
  speechProblem: null,
  startedAt: null,
  voiceTimes: null
}

export const isOpen = ({ state }: Answer): boolean => state === "live" || state === "broken"

const newCall = (call: Omit<ToolCall, "kind">): Call => ({
  id: call.id,
  name: call.function.name,
  given: call.function.arguments,
  output: null
})

const withCall = (calls: ReadonlyArray<Call>, call: Call): ReadonlyArray<Call> =>
  calls.some(({ id }) => id === call.id)
    ? calls.map((each) => (each.id === call.id ? { ...each, given: call.given } : each))
    : [...calls, call]

const withText = (pieces: ReadonlyArray<Piece>, text: string): ReadonlyArray<Piece> => {
  const last = pieces.at(-1)
  return last?.kind === "text"
    ? [...pieces.slice(0, -1), { kind: "text", text: last.text + text }]
    : [...pieces, { kind: "text", text }]
}

const withId = (pieces: ReadonlyArray<Piece>, id: string): ReadonlyArray<Piece> => {
  if (pieces.some((piece) => piece.kind === "calls" && piece.ids.includes(id))) return pieces
  const last = pieces.at(-1)
  return last?.kind === "calls"
    ? [...pieces.slice(0, -1), { kind: "calls", ids: [...last.ids, id] }]
    : [...pieces, { kind: "calls", ids: [id] }]
}

const addCall = (answer: Answer, call: Call): Answer => ({
  ...answer,
  calls: withCall(answer.calls, call),
  pieces: withId(answer.pieces, call.id)
})

/** The pieces of a whole text: those that were streamed, unless some of them were missed. */
const whole = ({ calls, pieces }: Answer, text: string): ReadonlyArray<Piece> => {
  const streamed = pieces.map((piece) => (piece.kind === "text" ? piece.text : "")).join("")
  return streamed === text
    ? pieces
    : splitPieces(
        text,
        calls.map(({ id }) => ({ id, offset: 0 }))
      )
}

/** Calls at their positions in a text. */
const splitPieces = (
  text: string,
  calls: ReadonlyArray<{ readonly id: string; readonly offset: number }>
): ReadonlyArray<Piece> => {
  let at = 0
  let pieces: ReadonlyArray<Piece> = []
  for (const { id, offset } of calls) {
    if (offset > at) pieces = withText(pieces, text.slice(at, offset))
    at = Math.max(at, offset)
    pieces = withId(pieces, id)
  }
  return at < text.length ? withText(pieces, text.slice(at)) : pieces
}

/** The answer after one more event. Other events do not change it. */
export const afterEvent = (answer: Answer, event: StreamEvent): Answer => {
  switch (event.type) {
    case "run_started":
    case "run_continuing":
      return {
        ...answer,
        state: "live",
        messageId: event.message_id,
        runId: event.run_id,
        provider: event.model_provider,
        model: event.model_name
      }
    case "reasoning_streaming":
      return { ...answer, thoughts: answer.thoughts + event.content }
    case "reasoning_ended":
      return { ...answer, thoughts: `${answer.thoughts}\n` }
    case "content_streaming":
      return { ...answer, text: answer.text + event.content, pieces: withText(answer.pieces, event.content) }
    case "tool_call_start":
      return addCall(answer, { id: event.tool_call_id, name: event.name, given: "", output: null })
    case "tool_call_ready":
      return addCall(answer, newCall(event.tool_call))
    case "memory_retrieved":
      return { ...answer, memories: event.memories }
    case "media_generated":
      return { ...answer, media: [...answer.media, event.media] }
    case "tool_submit_required":
      return { ...answer, state: "waiting", ...readTokens(event) }
    case "tts_stream_end":
      return { ...answer, speech: event.document_id }
    case "tts_error":
      return { ...answer, speechProblem: event.error }
    case "run_ended":
      return {
        ...answer,
        ...readTokens(event),
        state: "done",
        text: event.content,
        pieces: whole(answer, event.content),
        costUsd: event.cost_usd,
        memoryOperationId: event.memory_operation_id,
        memories: event.retrieved_memories ?? answer.memories,
        files: event.retrieved_files ?? answer.files,
        excerpts: event.retrieved ?? []
      }
    case "run_failed":
      return { ...answer, state: "failed", messageId: event.message_id, runId: event.run_id, problem: event.error }
    case "run_cancelled":
      return { ...answer, state: "cancelled" }
    default:
      return answer
  }
}

const readTokens = (event: { readonly input_tokens: number; readonly output_tokens: number }) => ({
  inputTokens: event.input_tokens,
  outputTokens: event.output_tokens
})

const states: Readonly<Record<StoredMessage["status"], Answer["state"]>> = {
  IN_PROGRESS: "live",
  REQUIRES_ACTION: "waiting",
  COMPLETED: "done",
  FAILED: "failed",
  CANCELLED: "cancelled"
}

/** An answer as the server stores it. */
export const storedAnswer = (message: StoredMessage): Answer => ({
  ...emptyAnswer,
  messageId: message.message_id,
  runId: message.run_id,
  state: states[message.status],
  text: message.content ?? "",
  pieces: storedPieces(message),
  thoughts: message.reasoning ?? "",
  calls: callsIn(message),
  media: message.generated_media ?? [],
  sources: sourcesIn(message.metadata_),
  memories: message.retrieved_memories ?? [],
  files: message.retrieved_files ?? [],
  excerpts: message.retrieved ?? [],
  typed: message.system_one,
  problem: message.fault?.message ?? null,
  provider: message.model_provider,
  model: message.model_name,
  inputTokens: message.input_tokens,
  outputTokens: message.output_tokens,
  speech: message.voice_records?.tts?.document_id ?? null,
  startedAt: message.created_at,
  voiceTimes: voiceTimesIn(message)
})

/** An answer without a run comes from a voice session, or from an import. */
const voiceTimesIn = ({ imported, metadata_, run_id }: StoredMessage): Answer["voiceTimes"] => {
  const times = metadata_?.["voice_times"]
  return run_id !== null || imported ? null : isRecord(times) ? times : {}
}

/**
 * The id of the answer's turn in addresses. A voice session is no run, so its id is `spoken-` and the message's id. Null: nothing is known
 * of the turn.
 */
export const turnId = ({ messageId, runId, voiceTimes }: Answer): string | null =>
  runId ?? (voiceTimes && `spoken-${messageId}`)

/** The client's calls with their submitted outputs, and the calls that the server ran itself. */
const callsIn = ({ metadata_, tool_calls }: StoredMessage): ReadonlyArray<Call> => {
  const outputs = new Map(
    recordsIn(metadata_, "tool_outputs").map((each) => [text(each["tool_call_id"]), text(each["output"])])
  )
  const hosted = recordsIn(metadata_, "hosted_calls").map((each) => ({
    id: text(each["tool_call_id"]),
    name: text(each["tool_name"]),
    given: text(each["arguments"]),
    output: typeof each["output"] === "string" ? each["output"] : null
  }))
  const own = (tool_calls ?? []).map((call) => ({ ...newCall(call), output: outputs.get(call.id) ?? null }))
  return [...hosted, ...own.filter(({ id }) => !hosted.some((each) => each.id === id))]
}

/** The calls that the server ran stand where they were made; the client's own end a message. */
const storedPieces = (message: StoredMessage): ReadonlyArray<Piece> => {
  const content = message.content ?? ""
  const offsets = new Map(
    recordsIn(message.metadata_, "hosted_calls").map((each) => [
      text(each["tool_call_id"]),
      typeof each["content_offset"] === "number" ? each["content_offset"] : 0
    ])
  )
  return splitPieces(
    content,
    callsIn(message).map(({ id }) => ({ id, offset: offsets.get(id) ?? content.length }))
  )
}

const sourcesIn = (metadata: StoredMessage["metadata_"]): ReadonlyArray<Source> =>
  recordsIn(metadata, "sources").flatMap(({ title, url }) =>
    typeof url === "string" ? [{ url, title: typeof title === "string" ? title : null }] : []
  )

const recordsIn = (metadata: unknown, name: string): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const list = isRecord(metadata) ? metadata[name] : null
  return Array.isArray(list) ? list.filter(isRecord) : []
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

export type MessageBody = JsonRecord & { readonly content: string }
