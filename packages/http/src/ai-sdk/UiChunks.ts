/**
 * The events of a turn as the chunks of which the AI SDK makes a message. Pure but for the reading: the transport and the route both use it.
 * A call is shown when it is known who answers it: the client (`tool_submit_required`), or the server, which has done so by the time the
 * model goes on. A call that has begun and is never made, because its answer ends in the middle of its arguments, ends with an error.
 */
import type { UIMessageChunk } from "ai"
import type { ClientEvent } from "../client/ClientEvents.ts"
import { documentParts, pageParts } from "./Sources.ts"

/** The `metadata` of a chat's messages. The transport reads it when tool outputs go back. */
export interface TurnMetadata {
  readonly threadId: string
  readonly assistantId: string | null
  readonly runId: string
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly costUsd?: number | null
}

interface Call {
  readonly id: string
  readonly name: string
  readonly text: string
}

/** The decision of the chat's user about a call. */
export interface Decided {
  readonly toolCallId: string
  readonly approved: boolean
}

/** `decided`: decisions of the user after which this answer goes on. */
export async function* uiChunks(
  events: AsyncIterable<ClientEvent>,
  decided: ReadonlyArray<Decided> = []
): AsyncGenerator<UIMessageChunk, void, undefined> {
  const message = new MessageInChunks(decided)
  for await (const event of events) yield* message.take(event)
}

/** The arguments as a model wrote them; text where they are no JSON. */
export const parsedArguments = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

class MessageInChunks {
  /** The part that deltas go to. */
  private open: "text" | "reasoning" | null = null
  private parts = 0
  private calls: Array<Call> = []
  /** The names of calls whose arguments are not complete, by the ids of the calls. */
  private readonly begun = new Map<string, string>()
  private readonly approvals = new Set<string>()
  private readonly decided: ReadonlyArray<Decided>

  constructor(decided: ReadonlyArray<Decided>) {
    this.decided = decided
  }

  take(event: ClientEvent): ReadonlyArray<UIMessageChunk> {
    switch (event.type) {
      case "run_started":
        return [
          { type: "start", messageId: event.message_id, messageMetadata: turnMetadata(event) },
          { type: "start-step" }
        ]
      case "run_continuing":
        // The answer goes on in the message that asked for the tools.
        return [
          { type: "start", messageMetadata: turnMetadata(event) },
          ...this.decided.map(decidedChunk),
          { type: "start-step" }
        ]
      case "content_streaming":
        return [...this.answered(), ...this.delta("text", event.content)]
      case "reasoning_streaming":
        return [...this.answered(), ...this.delta("reasoning", event.content)]
      case "reasoning_ended":
        return this.close()
      case "tool_call_start":
        this.begun.set(event.tool_call_id, event.name)
        return [
          ...this.close(),
          { type: "tool-input-start", toolCallId: event.tool_call_id, toolName: event.name, dynamic: true }
        ]
      case "tool_call_ready": {
        const { arguments: text, name } = event.tool_call.function
        this.begun.delete(event.tool_call.id)
        this.calls.push({ id: event.tool_call.id, name, text })
        return this.close()
      }
      case "media_generated":
        return [...this.close(), { type: "file", url: event.media.url, mediaType: event.media.mime_type }]
      case "memory_retrieved":
        return [{ type: "data-memories", data: event.memories }]
      case "output_streaming":
        return [{ type: "data-output", id: "output", data: event.partial }]
      case "approval_required":
        this.approvals.add(event.tool_call_id)
        return []
      case "tool_submit_required":
        return this.end(event, new Set(event.tool_calls.map(({ id }) => id)), "tool-calls")
      case "run_ended":
        return [
          ...this.close(),
          ...(event.output === undefined ? [] : [{ type: "data-output", id: "output", data: event.output } as const]),
          ...documentParts(event),
          ...pageParts(event.metadata_),
          ...this.end(event, new Set(), "stop")
        ]
      case "run_failed":
        return [...this.close(), ...this.answered(), ...this.notMade(), { type: "error", errorText: event.error }]
      case "run_cancelled":
        return [...this.close(), ...this.answered(), ...this.notMade(), { type: "abort" }]
      case "message_saved":
        return [{ type: "start", messageMetadata: turnMetadata(event) }, { type: "finish" }]
      case "user_message":
      case "stt_stream_start":
      case "stt_text_delta":
      case "stt_stream_end":
      case "tts_stream_start":
      case "tts_audio_chunk":
      case "tts_stream_end":
      case "tts_error":
        return []
      default:
        return hostChunks(event)
    }
  }

  private delta(kind: "text" | "reasoning", delta: string): ReadonlyArray<UIMessageChunk> {
    const begin: Array<UIMessageChunk> = []
    if (this.open !== kind) {
      begin.push(...this.close())
      this.open = kind
      begin.push({ type: `${kind}-start`, id: this.partId })
    }
    return [...begin, { type: `${kind}-delta`, id: this.partId, delta }]
  }

  private get partId(): string {
    return String(this.parts)
  }

  private close(): ReadonlyArray<UIMessageChunk> {
    if (this.open === null) return []
    const closed: UIMessageChunk = { type: `${this.open}-end`, id: this.partId }
    this.open = null
    this.parts++
    return [closed]
  }

  /** The calls that the server has answered: all that are known so far, without those of the client. */
  private answered(clientCalls: ReadonlySet<string> = new Set()): ReadonlyArray<UIMessageChunk> {
    const chunks = this.calls
      .filter(({ id }) => !clientCalls.has(id))
      .flatMap((call): ReadonlyArray<UIMessageChunk> => [
        { ...inputChunk(call), providerExecuted: true },
        { type: "tool-output-available", toolCallId: call.id, output: null, dynamic: true, providerExecuted: true }
      ])
    this.calls = this.calls.filter(({ id }) => clientCalls.has(id))
    return chunks
  }

  /** Calls that were never made. They count as calls of the server: errors in calls of the client would make a chat send its messages again. */
  private notMade(): ReadonlyArray<UIMessageChunk> {
    const errorText = "The call was not made: the answer ended before its arguments were complete."
    const shared = { type: "tool-input-error", input: null, errorText, dynamic: true, providerExecuted: true } as const
    const chunks = [...this.begun].map(([toolCallId, toolName]) => ({ ...shared, toolCallId, toolName }))
    this.begun.clear()
    return chunks
  }

  private end(
    event: Extract<ClientEvent, { readonly type: "run_ended" | "tool_submit_required" }>,
    clientCalls: ReadonlySet<string>,
    finishReason: "stop" | "tool-calls"
  ): ReadonlyArray<UIMessageChunk> {
    const chunks = [...this.close(), ...this.answered(clientCalls), ...this.notMade()]
    for (const call of this.calls)
      chunks.push(...(this.approvals.has(call.id) ? approvalChunks(call) : [inputChunk(call)]))
    this.calls = []
    const usage = { inputTokens: event.input_tokens, outputTokens: event.output_tokens }
    const cost = event.type === "run_ended" ? { costUsd: event.cost_usd, model: event.model_name } : {}
    const messageMetadata = { ...turnMetadata(event), ...usage, ...cost }
    return [...chunks, { type: "finish-step" }, { type: "finish", finishReason, messageMetadata }]
  }
}

/** An event of a part that the host added. */
const hostChunks = (event: ClientEvent): ReadonlyArray<UIMessageChunk> => {
  const { assistant_id: _assistant, run_id: _run, sequence: _sequence, thread_id: _thread, type, ...data } = event
  return [{ type: `data-${type}`, data }]
}

const inputChunk = ({ id, name, text }: Call) =>
  ({
    type: "tool-input-available",
    toolCallId: id,
    toolName: name,
    input: parsedArguments(text),
    dynamic: true
  }) as const

/** The input is sent as a delta. Whole input would mean a tool of the client, and the chat would call its `onToolCall`. */
const approvalChunks = ({ id, text }: Call): ReadonlyArray<UIMessageChunk> => [
  { type: "tool-input-delta", toolCallId: id, inputTextDelta: text },
  { type: "tool-approval-request", toolCallId: id, approvalId: id }
]

const decidedChunk = ({ approved, toolCallId }: Decided): UIMessageChunk =>
  approved
    ? { type: "tool-output-available", toolCallId, output: null, dynamic: true, providerExecuted: true }
    : { type: "tool-output-denied", toolCallId }

const turnMetadata = (event: ClientEvent): TurnMetadata => ({
  threadId: event.thread_id,
  assistantId: event.assistant_id,
  runId: event.run_id,
  ...("model_name" in event ? { model: event.model_name } : {})
})
