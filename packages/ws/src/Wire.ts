/**
 * The JSON of the realtime socket: decodes the client's text frames to inputs of the session, and encodes the session's events as text frames.
 * Clients send audio as binary frames. Audio to a client is JSON that is assembled from bytes, so the base64 is not decoded or encoded again.
 */
import type { DocumentId } from "@colloquy/core/adapters"
import {
  type AudioFormat,
  type ClientFrame,
  type ClientInput,
  type ErrorCode,
  type ServiceEvent
} from "@colloquy/core/realtime"
import { readMedium } from "@colloquy/core/media"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { readFirstFrame } from "./FirstFrame.ts"
import { textFrame } from "./TextFrames.ts"

const Output = Schema.Struct({ tool_call_id: Schema.String, name: Schema.String, output: Schema.Json })

export const WireFrame = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literals(["commit", "cancel", "stop"]) }),
  Schema.Struct({
    type: Schema.Literal("audio.played"),
    item_id: Schema.String,
    played_ms: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
  }),
  Schema.Struct({ type: Schema.Literal("tool.outputs"), outputs: Schema.Array(Output) }),
  Schema.Struct({ type: Schema.Literal("provider.event"), event: Schema.JsonObject })
])

const decodeFrame = Schema.decodeUnknownResult(WireFrame)

const frameTypes: ReadonlySet<unknown> = new Set([
  "text",
  "commit",
  "cancel",
  "audio.played",
  "stop",
  "tool.outputs",
  "provider.event"
])

/** The largest depth of a client's JSON: more than any meaningful frame needs, and little enough for recursive functions. */
const maxDepth = 200

/** Decodes a text frame. */
export const readText = (text: string, isFirst: boolean): ClientInput => {
  const bytes = Buffer.byteLength(text)
  const malformed = (code: ErrorCode, message: string): ClientInput => ({ _tag: "Malformed", code, message, bytes })
  const json = readObject(text)
  if (json === undefined) {
    return malformed(isFirst ? "invalid_first_frame" : "invalid_frame", "A text frame must contain one JSON object.")
  }
  if (isFirst) {
    const request = readFirstFrame(json)
    return Result.isSuccess(request)
      ? { _tag: "Begin", request: request.success, bytes }
      : malformed("invalid_first_frame", request.failure)
  }
  const type: unknown = "type" in json ? json.type : undefined
  if (!frameTypes.has(type))
    return malformed("unsupported_frame", `The type of a frame must be one of ${[...frameTypes].join(", ")}.`)
  const decoded = decodeFrame(json)
  return Result.isSuccess(decoded)
    ? { _tag: "Frame", frame: toFrame(decoded.success), bytes }
    : malformed(type === "tool.outputs" ? "invalid_tool_output" : "invalid_frame", decoded.failure.message)
}

const toFrame = (frame: typeof WireFrame.Type): ClientFrame => {
  switch (frame.type) {
    case "text":
      return { _tag: "Text", text: frame.text }
    case "commit":
      return { _tag: "Commit" }
    case "cancel":
      return { _tag: "Cancel" }
    case "audio.played":
      return { _tag: "Played", itemId: frame.item_id, millis: frame.played_ms }
    case "stop":
      return { _tag: "Stop" }
    case "tool.outputs":
      return {
        _tag: "ToolOutputs",
        outputs: frame.outputs.map(({ name, output, tool_call_id }) => ({ toolCallId: tool_call_id, name, output }))
      }
    case "provider.event":
      return { _tag: "ProviderEvent", event: frame.event }
  }
}

/** One JSON object of a client; undefined if the text is none, or too deep. */
export const readObject = (text: string): object | undefined => {
  const json = isTooDeep(text) ? undefined : parse(text)
  return typeof json === "object" && json !== null && !Array.isArray(json) ? json : undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isTooDeep = (text: string): boolean => {
  let depth = 0
  let isText = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (isText) {
      if (code === 92) index++
      else if (code === 34) isText = false
    } else if (code === 34) isText = true
    else if (code === 91 || code === 123) {
      depth++
      if (depth > maxDepth) return true
    } else if (code === 93 || code === 125) depth--
  }
  return false
}

const wireFormat = ({ channels, encoding, sampleRate }: AudioFormat) => ({
  encoding,
  sample_rate: sampleRate,
  channels
})

/** Returns the URL of a document. */
export type UrlOf = (documentId: DocumentId) => string

/** Used without `DocumentLinks`: the path below the base URL. Reading it needs a key. */
const contentPath: UrlOf = (documentId) => `/documents/${documentId}/content`

type VendorMessage = Extract<ServiceEvent, { readonly _tag: "ProviderEvent" }>
/** Clients of this wire cannot ask for approvals or change a session, so they are told nothing of either. */
type Told = Exclude<ServiceEvent, { readonly _tag: "ProviderEvent" | "ApprovalNeeded" | "SessionChanged" }>

/** Encodes an event as a text frame. */
export const writeEvent = (event: Told | VendorMessage, documentUrl: UrlOf = contentPath): string =>
  event._tag === "ProviderEvent"
    ? `{"type":"provider.event","event":${event.json}}`
    : JSON.stringify(toWire(event, documentUrl))

/** Encodes generated media in the same form as the HTTP API. A value of another form, from a part of the host, is sent unchanged. */
const mediumToWire = (medium: Schema.JsonObject, documentUrl: UrlOf): object =>
  Option.match(readMedium(medium), {
    onNone: () => medium,
    onSome: ({ documentId, mediaType, mimeType, size }) => ({
      document_id: documentId,
      url: documentUrl(documentId),
      media_type: mediaType,
      mime_type: mimeType,
      file_size_bytes: size
    })
  })

const toWire = (event: Told, documentUrl: UrlOf): object => {
  switch (event._tag) {
    case "SessionBegin":
      return {
        type: "session.begin",
        session_id: event.sessionId,
        thread_id: event.threadId,
        assistant_id: event.assistantId,
        input_format: wireFormat(event.inputFormat),
        output_format: wireFormat(event.outputFormat),
        provider: event.provider,
        model: event.model
      }
    case "TranscriptStarted":
      return { type: "transcript.started", item_id: event.itemId, role: event.role }
    case "TranscriptDelta":
      return { type: "transcript.delta", item_id: event.itemId, role: event.role, text: event.text }
    case "TranscriptFinal":
      return { type: "transcript.final", item_id: event.itemId, role: event.role, text: event.text }
    case "TranscriptFailed":
      return { type: "transcript.failed", item_id: event.itemId, role: event.role }
    case "ToolCall":
      return {
        type: "tool.call",
        tool_call_id: event.toolCallId,
        name: event.name,
        arguments: event.arguments,
        hosted: event.hosted
      }
    case "ToolCancelled":
      return { type: "tool.cancelled", tool_call_ids: event.toolCallIds }
    case "ToolCompleted":
      return { type: "tool.completed", tool_call_id: event.toolCallId }
    case "MediaGenerated":
      return {
        type: "media.generated",
        tool_call_id: event.toolCallId,
        generated_media: event.media.map((each) => mediumToWire(each, documentUrl))
      }
    case "ResponseDone":
      return { type: "response.done" }
    case "Interrupted":
      return { type: "interrupted" }
    case "SessionEnded":
      return {
        type: "session.ended",
        provider_cost_usd: event.providerCostUsd,
        charged_usd: event.chargedUsd,
        reconciliation_required: event.reconciliationRequired
      }
    case "Error":
      return { type: "error", code: event.code, message: event.message }
  }
}

const audioOpening = '{"type":"audio.delta","item_id":'
const audioMiddle = ',"data":"'

/**
 * Writes `audio.delta` events: as complete frames if `asFrames` is true and the event is not too long, otherwise as the bytes of their text. The
 * beginning is kept until the item changes, because an item has many pieces in a row.
 */
export const makeAudioWriter = (
  format: AudioFormat,
  asFrames: boolean
): ((itemId: string, base64: Uint8Array) => string | Buffer) => {
  const ending = Buffer.from(`",${JSON.stringify(wireFormat(format)).slice(1)}`)
  let item: string | null = null
  let opening = ending
  return (itemId, base64) => {
    if (item !== itemId) {
      item = itemId
      opening = Buffer.from(audioOpening + JSON.stringify(itemId) + audioMiddle)
    }
    return (asFrames ? textFrame(opening, base64, ending) : null) ?? Buffer.concat([opening, base64, ending])
  }
}
