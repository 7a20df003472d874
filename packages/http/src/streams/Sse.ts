/**
 * A run's events as a stream of the wire. Most of the server's time is spent here. So a batch of events becomes one piece of text and one
 * array of bytes, a delta costs one `JSON.stringify` of its text, and the fields that all events of a stream share are written once.
 */
import type { StoreUnavailable, TurnEvent } from "@colloquy/core"
import type { ReplyIds } from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Stream from "effect/Stream"
import { deltaTypes } from "../wire/StreamEvents.ts"
import { openCallToWire, questionToWire, toolCallToWire } from "../wire/Tools.ts"
import type { PartFields } from "../wings/Wing.ts"
import type { Wings } from "../wings/Wings.ts"
import { inBytes, withHeartbeat } from "./Heartbeat.ts"
import { withoutLineEnds } from "./LineEnds.ts"
import { contextUsageToWire, tokensToWire } from "../encoding/Encode.ts"

/** Shows the supplements and events of parts. */
export type Shown = Pick<typeof Wings.Service, "event" | "fields">

/** Events in, text out. Events without a form on the wire give nothing. */
const makeEncoder = (
  { assistantId: assistant_id, runId: run_id, threadId: thread_id }: ReplyIds,
  wings: Shown
): ((events: ReadonlyArray<TurnEvent>) => string) => {
  const head = `id: ${run_id}:`
  const ids = `,${JSON.stringify({ thread_id, assistant_id, run_id }).slice(1, -1)}`
  return (events) => {
    let text = ""
    for (const event of events) {
      const fields = encodeFields(event, wings, run_id)
      if (fields === null) continue
      text += `${head}${event.sequence}\ndata: ${fields}${isDelta(event) ? "" : ids},"sequence":${event.sequence}}\n\n`
    }
    return withoutLineEnds(text)
  }
}

const deltas: ReadonlySet<string> = new Set(deltaTypes)

const isDelta = (event: TurnEvent): boolean =>
  event._tag === "TextDelta" || event._tag === "ReasoningDelta" || (event._tag === "PartTold" && deltas.has(event.type))

/** The event as JSON text without its closing brace, so that the common fields can follow. */
const encodeFields = (event: TurnEvent, wings: Shown, runId: string): string | null => {
  switch (event._tag) {
    case "TextDelta":
      return `{"type":"content_streaming","content":${JSON.stringify(event.text)}`
    case "ReasoningDelta":
      return `{"type":"reasoning_streaming","content":${JSON.stringify(event.text)}`
    default: {
      const fields = rareEventFields(event, wings, runId)
      return fields === null ? null : JSON.stringify(fields).slice(0, -1)
    }
  }
}

type Rare = Exclude<TurnEvent, { readonly _tag: "TextDelta" | "ReasoningDelta" }>

const rareEventFields = (event: Rare, wings: Shown, runId: string) => {
  switch (event._tag) {
    case "UserMessage":
      return { type: "user_message", message_id: event.messageId, content: event.content, role: "user" }
    case "RunStarted":
      return { type: "run_started", ...begunBy(event) }
    case "RunContinuing":
      return { type: "run_continuing", ...begunBy(event) }
    case "ReasoningEnded":
      return { type: "reasoning_ended" }
    case "ToolCallStart":
      return { type: "tool_call_start", tool_call_id: event.toolCallId, name: event.name }
    case "ToolCallReady":
      return { type: "tool_call_ready", tool_call: toolCallToWire(event.call) }
    case "ApprovalRequired": {
      const { arguments: args, id, name } = event.call
      const asked = { tool_call_id: id, name, arguments: args, expires_at: event.expiresAt }
      return { type: "approval_required", ...asked, ...questionToWire(event.question) }
    }
    case "ToolSubmitRequired":
      return {
        type: "tool_submit_required",
        tool_calls: event.toolCalls.map(openCallToWire),
        message_id: event.messageId,
        stop_reason: "tools",
        ...tokensToWire(event.usage)
      }
    case "RunEnded":
      return runEnded(event, wings, runId)
    case "RunFailed":
      return {
        type: "run_failed",
        error: event.error,
        code: event.code,
        retryable: event.retryable,
        ...(event.detail === undefined ? {} : { detail: event.detail }),
        message_id: event.messageId,
        content: event.content
      }
    case "RunCancelled":
      return { type: "run_cancelled", message_id: event.messageId, content: event.content }
    case "MessageSaved":
      return messageSaved(event, wings, runId)
    case "StepStarted":
    case "StepEnded":
    case "ModelFailed":
    case "AnswerWithdrawn":
    case "HostedResult":
    case "ApprovedCallsBegan":
    case "PartKept":
    case "PartRecalled":
    case "Charged":
    case "PaidCallBegan":
    case "PaidCallEnded":
    case "ChildBegan":
    case "ChildEnded":
    case "HandedOver":
    case "LiveMissed":
      return null
    case "PartTold":
      return withoutCommon(wings.event(event))
  }
}

/**
 * Fields that the stream itself writes, after the fields of an event. If a part's event had them too, they would be in the object twice.
 */
const common = ["thread_id", "assistant_id", "run_id", "sequence"]

const withoutCommon = <Fields extends object>(fields: Fields | null): object | null =>
  fields !== null && common.some((name) => name in fields)
    ? Object.fromEntries(Object.entries(fields).filter(([name]) => !common.includes(name)))
    : fields

const begunBy = (event: Extract<TurnEvent, { readonly _tag: "RunStarted" | "RunContinuing" }>) => ({
  message_id: event.messageId,
  model_provider: event.provider,
  model_name: event.model,
  ...(event.ignored === undefined ? {} : { ignored_options: event.ignored })
})

const messageSaved = (event: Extract<TurnEvent, { readonly _tag: "MessageSaved" }>, wings: Shown, runId: string) => ({
  type: "message_saved",
  message_id: event.messageId,
  memory_operation_id: wings.fields({}, event.supplements ?? {}, runId).memory_operation_id ?? null
})

const runEnded = (event: Extract<TurnEvent, { readonly _tag: "RunEnded" }>, wings: Shown, runId: string) => {
  const { added = {}, ...own } = wings.fields(event.supplements ?? {}, {}, runId)
  return {
    ...added,
    type: "run_ended",
    status: "completed",
    message_id: event.messageId,
    content: event.content,
    model_provider: event.provider,
    model_name: event.model,
    stop_reason: event.stopReason ?? null,
    ...tokensToWire(event.usage),
    cost_usd: event.usage.costUsd,
    context_usage: contextUsageToWire(event.contextUsage),
    ...(event.keptAs === undefined ? {} : { kept_as: event.keptAs }),
    ...fieldsOfEnd(own)
  }
}

/** The fields of parts that the end of a stream carries. */
const fieldsOfEnd = ({
  memory_operation_id = null,
  metadata_ = null,
  retrieved_files = null,
  retrieved_memories = null
}: Partial<PartFields>) => {
  const metadata = metadata_ === null ? {} : { metadata_ }
  return { memory_operation_id, retrieved_memories, retrieved_files, ...metadata }
}

/** The bytes of a batch that several readers of one log get, and the wings that encoded it. */
const pieces = new WeakMap<ReadonlyArray<TurnEvent>, { readonly wings: Shown; readonly bytes: Uint8Array }>()

/** All who follow a run get the same array of events from its log: it is encoded for the first of them. */
const shared =
  (wings: Shown, encode: (events: ReadonlyArray<TurnEvent>) => Uint8Array) =>
  (events: ReadonlyArray<TurnEvent>): Uint8Array => {
    const known = pieces.get(events)
    if (known?.wings === wings) return known.bytes
    const bytes = encode(events)
    pieces.set(events, { wings, bytes })
    return bytes
  }

/** Of every stream of events. */
export const streamHeaders = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }

/** The answer that carries the stream. The turn has begun by then, so nothing can be refused any more. */
export const streamResponse = (
  ids: ReplyIds,
  events: Stream.Stream<TurnEvent, StoreUnavailable>,
  { heartbeat, wings }: { readonly heartbeat: Duration.Input; readonly wings: Shown }
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  // The stream is read by a fiber of its own: it takes the kernel's clock along.
  Effect.map(Clock.Clock, (clock) =>
    HttpServerResponse.stream(
      withHeartbeat({ events, encode: shared(wings, inBytes(makeEncoder(ids, wings))), interval: heartbeat, clock }),
      {
        contentType: "text/event-stream",
        headers: streamHeaders
      }
    )
  )
