/**
 * Turns the answer that another library has read from a provider into the kernel's events. Both libraries open, extend and close texts,
 * reasoning and calls under an id, and may attach data of the provider to each of these steps. That data is collected here and kept with the
 * answer (`Replay`), so that a signature is sent back with the part that it signs.
 *
 * Used by the bridges `providers/AiSdk` and `providers/EffectAi`. Each object serves one answer and is changed in place.
 */
import { type ModelInfo, type Usage } from "@colloquy/core"
import { type ChatEvent, type ChatRequest, type FinishReason, ModelError } from "@colloquy/core/adapters"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { newCallId } from "./CallId.ts"
import { areArguments, type FilePart } from "./Lowering.ts"
import { keepParts, type KeptPart } from "./Replay.ts"
import { isRecord, json } from "./Wire.ts"

/** Data that providers attach to a part, by the provider's name. */
export type PartData = { readonly [provider: string]: unknown } | undefined

export interface BridgedAnswer {
  /** Opens a text or a piece of reasoning. An id that was used before then names the new part. */
  readonly open: (type: "text" | "reasoning", id: string, data: PartData) => void
  /** Adds a delta to a part. An empty delta only adds data. */
  readonly add: (
    type: "text" | "reasoning",
    id: string,
    delta: string,
    data: PartData,
    events: Array<ChatEvent>
  ) => void
  readonly openCall: (id: string, name: string, data: PartData, events: Array<ChatEvent>) => void
  readonly addToCall: (id: string, delta: string, events: Array<ChatEvent>) => void
  /** Completes a call. `written` holds all its arguments, which are not added if they came in pieces. A later call may have the same id. */
  readonly endCall: (id: string, name: string, written: string, data: PartData, events: Array<ChatEvent>) => void
  /** Ends the answer. `usage` is null if the library does not report it. */
  readonly finish: (reason: FinishReason, model: string | null, usage: Usage | null, events: Array<ChatEvent>) => void
}

interface OpenPart {
  readonly type: "text" | "reasoning"
  from: number
  text: string
  readonly data: GatheredData
}

interface OpenCall {
  readonly type: "call"
  readonly id: string
  name: string
  written: string
  /** The arguments as the library told them with the whole call; null before. */
  whole: string | null
  readonly data: GatheredData
}

export const makeAnswer = (request: ChatRequest): BridgedAnswer => {
  const showsReasoning = request.thinking?.excludeReasoning !== true
  const parts: Array<OpenPart | OpenCall> = []
  const current = new Map<string, OpenPart>()
  /** The newest call of each id. */
  const calls = new Map<string, OpenCall>()
  let spoken = 0
  let reasoned = false

  const open = (type: "text" | "reasoning", id: string, data: PartData): OpenPart => {
    const part: OpenPart = { type, from: spoken, text: "", data: join(new Map(), data) }
    parts.push(part)
    current.set(`${type} ${id}`, part)
    return part
  }

  const add: BridgedAnswer["add"] = (type, id, delta, data, events) => {
    const part = current.get(`${type} ${id}`) ?? open(type, id, undefined)
    join(part.data, data)
    if (delta === "") return
    if (type === "reasoning") think(part, delta, events)
    else say(part, delta, events)
    part.text += delta
  }

  const say = (part: OpenPart, delta: string, events: Array<ChatEvent>): void => {
    if (part.text === "") part.from = spoken
    spoken += delta.length
    events.push({ _tag: "TextDelta", text: delta })
  }

  /** A blank line separates one part of the reasoning from the next. */
  const think = (part: OpenPart, delta: string, events: Array<ChatEvent>): void => {
    if (!showsReasoning) return
    events.push({ _tag: "ReasoningDelta", text: part.text === "" && reasoned ? `\n\n${delta}` : delta })
    reasoned = true
  }

  const openCall = (id: string, name: string, data: PartData, events: Array<ChatEvent>): OpenCall => {
    const known = calls.get(id)
    if (known?.whole === null) {
      join(known.data, data)
      return known
    }
    const ownId = known === undefined ? id : newCallId()
    const call: OpenCall = { type: "call", id: ownId, name, written: "", whole: null, data: join(new Map(), data) }
    calls.set(id, call)
    parts.push(call)
    events.push({ _tag: "ToolCallStart", id: ownId, name })
    return call
  }

  const addToCall: BridgedAnswer["addToCall"] = (id, delta, events) => {
    const call = calls.get(id)
    if (call === undefined || call.whole !== null || delta === "") return
    call.written += delta
    events.push({ _tag: "ToolCallDelta", id: call.id, arguments: delta })
  }

  const endCall: BridgedAnswer["endCall"] = (id, name, written, data, events) => {
    const known = calls.get(id)
    // A call that the library repeats.
    if (known?.whole === written && known.name === name) return
    const call = openCall(id, name, data, events)
    if (call.written === "") addToCall(id, written, events)
    call.whole = written
  }

  const finish: BridgedAnswer["finish"] = (reason, model, usage, events) => {
    const ready = parts
      .filter((part) => part.type === "call")
      .filter((call) => call.whole !== null && (reason !== "length" || areArguments(call.written)))
    for (const { id, name, written } of ready) {
      events.push({ _tag: "ToolCallReady", call: { id, name, arguments: written.trim() === "" ? "{}" : written } })
    }
    if (usage !== null) events.push({ _tag: "Usage", usage })
    const isPlainEnd = reason === "stop" || reason === "tool_calls"
    const endReason = isPlainEnd ? (ready.length > 0 ? "tool_calls" : "stop") : reason
    events.push({ _tag: "Finished", reason: endReason, model, providerData: keepParts(request.model, parts.map(keep)) })
  }

  return { open, add, openCall, addToCall, endCall, finish }
}

const keep = (part: OpenPart | OpenCall): KeptPart => {
  if (part.type === "call") return { type: "call", id: part.id, data: gatheredData(part.data) }
  if (part.type === "reasoning") return { type: "reasoning", text: part.text, data: gatheredData(part.data) }
  return {
    type: "text",
    from: part.text === "" ? 0 : part.from,
    length: part.text.length,
    data: gatheredData(part.data)
  }
}

/** Data is added in place: copying it for each piece would take time proportional to the square of the number of pieces. */
type GatheredData = Map<string, Schema.Json | Map<string, Schema.Json>>

/** Adds data of a provider to the data that it has sent before. */
const join = (into: GatheredData, data: PartData): GatheredData => {
  for (const [provider, value] of Object.entries(data ?? {})) {
    const known = into.get(provider)
    const fields = known instanceof Map ? known : new Map<string, Schema.Json>()
    if (isRecord(value)) for (const [field, each] of Object.entries(value)) fields.set(field, json(each))
    into.set(provider, isRecord(value) ? fields : json(value))
  }
  return into
}

const gatheredData = (gathered: GatheredData): Schema.JsonObject =>
  Object.fromEntries(
    [...gathered].map(([provider, value]) => [provider, value instanceof Map ? Object.fromEntries(value) : value])
  )

/** An exception that a library throws unexpectedly becomes a `ModelError` of the answer, so that it does not end the process. */
export const withoutDefects = (
  events: Stream.Stream<ChatEvent, ModelError>,
  { provider, model }: ChatRequest
): Stream.Stream<ChatEvent, ModelError> =>
  Stream.catchCause(events, (cause) => {
    const failure = Cause.hasInterrupts(cause) ? undefined : Cause.squash(cause)
    if (failure === undefined) return Stream.fromEffect(Effect.interrupt)
    return Stream.fail(failure instanceof ModelError ? failure : new ModelError({ reason: "unknown", provider, model }))
  })

/**
 * Whether to send this file to the model. If its capabilities are unknown, pictures and PDFs are sent, but audio and video are not, because
 * a library refuses the whole conversation when it does not support them.
 */
export const isReadable = (part: FilePart, info: ModelInfo): boolean => {
  if (part.type === "image") return info.supportsVision !== false
  if (part.type === "audio") return info.supportsAudioInput === true
  if (part.type === "video") return info.supportsVideoInput === true
  return part.mediaType === "application/pdf" && info.supportsPdfInput !== false
}
