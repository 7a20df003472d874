/**
 * The messages between client and service in a voice session, independent of a wire format: the first frame, the client's frames, the
 * service's events, and the codes of errors. `@colloquy/ws` translates them to JSON. Audio is not part of them: it is sent as bytes.
 */
import * as Schema from "effect/Schema"
import { pcmBytesPerSecond } from "../primitives/Pcm.ts"
import { Usage } from "../primitives/Usage.ts"
import { ToolList } from "../tools/ToolDefinition.ts"

/** How the bytes of sound are to be read. */
export const AudioFormat = Schema.Struct({
  /** `pcm_s16le` is signed 16-bit little-endian PCM without a file header; the other two are 8-bit G.711. */
  encoding: Schema.Literals(["pcm_s16le", "pcmu", "pcma"]),
  sampleRate: Schema.Int,
  channels: Schema.Int
})
export type AudioFormat = typeof AudioFormat.Type

/** How many bytes one second has in this format. */
export const bytesPerSecond = (format: AudioFormat): number =>
  format.encoding === "pcm_s16le" ? pcmBytesPerSecond(format) : format.sampleRate * format.channels

const MemoryMode = Schema.Literals(["off", "Readonly", "Auto"])

const MediaSelection = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  config: Schema.NullOr(Schema.JsonObject)
})

/**
 * Which of the service's own features a session uses. The selection holds for the whole session; to change it, the client connects again.
 */
export const ServiceSelection = Schema.Struct({
  memory: MemoryMode,
  memoryPro: MemoryMode,
  webSearch: Schema.Boolean,
  image: Schema.NullOr(MediaSelection),
  video: Schema.NullOr(MediaSelection)
})
export type ServiceSelection = typeof ServiceSelection.Type

/** None of the service's own features. */
export const nothingSelected: ServiceSelection = {
  memory: "off",
  memoryPro: "off",
  webSearch: false,
  image: null,
  video: null
}

/**
 * The settings of a session that the client has set itself, and may change during the session. An absent field stays unchanged, null stands
 * for the assistant's value, and an empty field for none.
 */
export const SessionSettings = Schema.Struct({
  systemPrompt: Schema.optionalKey(Schema.NullOr(Schema.String)),
  tools: Schema.optionalKey(Schema.NullOr(ToolList))
})
export type SessionSettings = typeof SessionSettings.Type

/** The first frame. */
export const SessionRequest = Schema.Struct({
  threadId: Schema.NullOr(Schema.String),
  assistantId: Schema.NullOr(Schema.String),
  /** Null: the assistant's instructions; an empty text: none. */
  systemPrompt: Schema.NullOr(Schema.String),
  /** The client's own tools, in the place of the assistant's; null keeps the latter. */
  tools: Schema.NullOr(ToolList),
  provider: Schema.String,
  model: Schema.String,
  /** The vendor's own settings, merged over the defaults. */
  providerOptions: Schema.JsonObject,
  selection: ServiceSelection,
  /** True: the client asks a person about calls that need an approval. Absent or false: such calls are not run. */
  approvals: Schema.optionalKey(Schema.Boolean),
  /**
   * Present: the thread keeps what the client sets, for its next session. These settings, and where they say nothing those that the thread has
   * kept, stand above `systemPrompt` and `tools`.
   */
  kept: Schema.optionalKey(SessionSettings)
})
export type SessionRequest = typeof SessionRequest.Type

/** The output of a client's tool. */
export const SessionToolOutput = Schema.Struct({
  toolCallId: Schema.String,
  name: Schema.String,
  /** A text goes to the model unchanged, any other value as JSON. */
  output: Schema.Json
})
export type SessionToolOutput = typeof SessionToolOutput.Type

/** The frames that a client sends after the first one. */
export const ClientFrame = Schema.Union([
  Schema.TaggedStruct("Text", { text: Schema.String }),
  Schema.TaggedStruct("Commit", {}),
  Schema.TaggedStruct("Cancel", {}),
  /** How much of an item's audio the client has played so far. */
  Schema.TaggedStruct("Played", { itemId: Schema.String, millis: Schema.Finite }),
  /** The client plays no more of this item, and has played this much. */
  Schema.TaggedStruct("Heard", { itemId: Schema.String, millis: Schema.Finite }),
  /** The decision of a person about a call that needs an approval. `reason` goes to the model. */
  Schema.TaggedStruct("Approval", {
    toolCallId: Schema.String,
    isApproved: Schema.Boolean,
    reason: Schema.NullOr(Schema.String)
  }),
  Schema.TaggedStruct("ToolOutputs", { outputs: Schema.Array(SessionToolOutput) }),
  /** Holds from the next answer on. `SessionChanged` says that the thread has kept it. */
  Schema.TaggedStruct("Change", { settings: SessionSettings }),
  Schema.TaggedStruct("ProviderEvent", { event: Schema.JsonObject }),
  Schema.TaggedStruct("Stop", {})
])
export type ClientFrame = typeof ClientFrame.Type

/** The codes of errors in a voice session. */
export const ErrorCode = Schema.Literals([
  "unauthorized",
  "forbidden",
  "ticket_invalid",
  "origin_mismatch",
  "too_many_waiting",
  "first_frame_timeout",
  "invalid_first_frame",
  "thread_not_found",
  "assistant_not_found",
  "model_mismatch",
  "provider_unavailable",
  "insufficient_credit",
  "session_conflict",
  "history_too_large",
  "not_ready",
  "invalid_frame",
  "unsupported_frame",
  "invalid_tool_output",
  "frame_too_large",
  "input_limit",
  "session_limit",
  "idle_timeout",
  "provider_error",
  "provider_closed",
  "history_incomplete",
  "billing_pending",
  "internal_error"
])
export type ErrorCode = typeof ErrorCode.Type

const Role = Schema.Literals(["user", "assistant"])

/** A JSON frame from the service to the client of a voice session, by its `type`. */
export const ServiceEvent = Schema.Union([
  Schema.TaggedStruct("SessionBegin", {
    sessionId: Schema.String,
    threadId: Schema.String,
    assistantId: Schema.String,
    inputFormat: AudioFormat,
    outputFormat: AudioFormat,
    provider: Schema.String,
    model: Schema.String,
    /** The client's own settings of the session, from this session or the last one, if the first frame has `kept`. */
    settings: Schema.optionalKey(SessionSettings)
  }),
  /** A `Change` of the client holds, and is stored. */
  Schema.TaggedStruct("SessionChanged", {}),
  Schema.TaggedStruct("TranscriptStarted", {
    itemId: Schema.String,
    role: Role,
    /** True: words of the user that still speaks follow. */
    isOpen: Schema.optionalKey(Schema.Literal(true))
  }),
  Schema.TaggedStruct("TranscriptDelta", { itemId: Schema.String, role: Role, text: Schema.String }),
  Schema.TaggedStruct("TranscriptFinal", { itemId: Schema.String, role: Role, text: Schema.String }),
  Schema.TaggedStruct("TranscriptFailed", { itemId: Schema.String, role: Role }),
  Schema.TaggedStruct("ToolCall", {
    toolCallId: Schema.String,
    name: Schema.String,
    /** An object if the model wrote one; otherwise its text. */
    arguments: Schema.Json,
    hosted: Schema.Boolean
  }),
  /** A hosted call waits for an `Approval`, in a session that asks for approvals. */
  Schema.TaggedStruct("ApprovalNeeded", { toolCallId: Schema.String, name: Schema.String, arguments: Schema.Json }),
  Schema.TaggedStruct("ToolCancelled", { toolCallIds: Schema.Array(Schema.String) }),
  Schema.TaggedStruct("ToolCompleted", { toolCallId: Schema.String }),
  Schema.TaggedStruct("MediaGenerated", { toolCallId: Schema.String, media: Schema.Array(Schema.JsonObject) }),
  /** `usage`: what the vendor has reported for this answer, if it has. */
  Schema.TaggedStruct("ResponseDone", { usage: Schema.optionalKey(Usage) }),
  Schema.TaggedStruct("Interrupted", {}),
  Schema.TaggedStruct("ProviderEvent", {
    /** The vendor's message unchanged: one JSON text. */
    json: Schema.String
  }),
  Schema.TaggedStruct("SessionEnded", {
    /** The vendor's price in US dollars; null when it is not known. */
    providerCostUsd: Schema.NullOr(Schema.Finite),
    chargedUsd: Schema.NullOr(Schema.Finite),
    /** True: part of the cost is estimated or not known, and will be corrected. */
    reconciliationRequired: Schema.Boolean
  }),
  Schema.TaggedStruct("Error", { code: ErrorCode, message: Schema.String })
])
export type ServiceEvent = typeof ServiceEvent.Type

/** Why the service closes a connection. */
export type CloseReason = "ended" | "refused" | "too_large" | "fault" | "shutdown"
