/**
 * The events of a stream as the wire carries them, for descriptions of the API and for clients. The server does not encode with these (it
 * writes each delta as text, `Sse.ts`); a test decodes everything that it writes with them.
 */
import * as Schema from "effect/Schema"
import {
  citationFields,
  ContextUsage,
  GeneratedMedia,
  helperFields,
  IgnoredOptions,
  RetrievedMemory,
  StopReason
} from "./Records.ts"
import { OpenToolCall, Question, ToolCall } from "./Tools.ts"

const sequence = { sequence: Schema.Int }

const common = {
  thread_id: Schema.String.annotate({ format: "uuid" }),
  assistant_id: Schema.String.annotate({ format: "uuid" }),
  run_id: Schema.String,
  ...sequence
}

const tokens = { input_tokens: Schema.Int, output_tokens: Schema.Int, total_tokens: Schema.Int }
const text = Schema.String

const begun = {
  message_id: text,
  model_provider: text,
  model_name: text,
  /** Absent when every option has an effect. */
  ignored_options: Schema.optionalKey(IgnoredOptions)
}

/** An event that tells its run. */
export const event = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields, ...common })

/** Deltas are many. The id of the event holds run and sequence, and every other event tells the rest. */
const delta = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields, ...sequence })

/** An event of a stream: text, calls, and the end. */
export const StreamEvent = Schema.Union([
  event("user_message", { message_id: text, content: text, role: Schema.Literal("user") }),
  event("run_started", begun),
  event("run_continuing", begun),
  event("memory_retrieved", { memories: Schema.Array(RetrievedMemory) }),
  delta("reasoning_streaming", { content: text }),
  event("reasoning_ended", {}),
  delta("content_streaming", { content: text }),
  event("output_streaming", { partial: Schema.Json }),
  event("tool_call_start", { tool_call_id: text, name: text }),
  event("tool_call_ready", { tool_call: ToolCall }),
  event("approval_required", {
    tool_call_id: text,
    name: text,
    arguments: text,
    expires_at: Schema.NullOr(text),
    question: Schema.optionalKey(Question)
  }),
  event("tool_submit_required", {
    tool_calls: Schema.Array(OpenToolCall),
    message_id: text,
    stop_reason: Schema.Literal("tools"),
    ...tokens
  }),
  event("helper_started", { tool_call_id: text, name: text, helper_thread_id: text, helper_run_id: text }),
  event("handed_over", { tool_call_id: text, name: text, reason: text }),
  event("media_generated", { media: GeneratedMedia }),
  event("stt_stream_start", {}),
  delta("stt_text_delta", { delta: text }),
  event("stt_stream_end", { transcript: text }),
  event("tts_stream_start", { content_type: text }),
  delta("tts_audio_chunk", { data: text }),
  event("tts_stream_end", { audio_url: Schema.NullOr(text), document_id: Schema.NullOr(text) }),
  event("tts_error", { error: text }),
  event("run_ended", {
    status: Schema.Literal("completed"),
    message_id: text,
    content: text,
    model_provider: text,
    model_name: text,
    stop_reason: StopReason,
    ...tokens,
    cost_usd: Schema.NullOr(Schema.Finite),
    output: Schema.optionalKey(Schema.Json),
    output_method: Schema.optionalKey(Schema.Literals(["native", "instructed", "repaired"])),
    memory_operation_id: Schema.NullOr(text),
    retrieved_memories: Schema.NullOr(Schema.Array(RetrievedMemory)),
    retrieved_files: Schema.NullOr(Schema.Array(text)),
    ...citationFields,
    ...helperFields,
    metadata_: Schema.optionalKey(Schema.JsonObject),
    context_usage: Schema.NullOr(ContextUsage),
    /** After regenerate and edit in place: the thread that has the conversation as it was. */
    kept_as: Schema.optionalKey(text)
  }),
  event("run_failed", {
    error: text,
    code: text,
    retryable: Schema.Boolean,
    detail: Schema.optionalKey(Schema.Json),
    message_id: text,
    content: text
  }),
  event("run_cancelled", { message_id: text, content: text }),
  event("message_saved", { message_id: text, memory_operation_id: Schema.NullOr(text) })
]).annotate({ identifier: "StreamEvent" })
export type StreamEvent = typeof StreamEvent.Type

/** Events that name no thread, no assistant and no run. */
export const deltaTypes = [
  "content_streaming",
  "reasoning_streaming",
  "stt_text_delta",
  "tts_audio_chunk"
] as const satisfies ReadonlyArray<StreamEvent["type"]>

/** The last event of every stream is one of these. */
export const terminalTypes = [
  "run_ended",
  "tool_submit_required",
  "run_failed",
  "run_cancelled",
  "message_saved"
] as const satisfies ReadonlyArray<StreamEvent["type"]>
