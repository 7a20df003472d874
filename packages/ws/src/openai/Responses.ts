/**
 * The answers of a session as OpenAI's events: a response with its items, their words, sound and calls. The session tells words and calls, and the
 * end of an answer; the beginning and the end of each item follow from them.
 */
import type { Usage } from "@colloquy/core"
import { makeResampler } from "@colloquy/core/adapters"
import type { AudioFormat, ServiceEvent } from "@colloquy/core/realtime"
import type { Fields } from "../Json.ts"
import type { EventType } from "./EventTypes.ts"
import type { Item } from "./Items.ts"
import { Buffer } from "node:buffer"

export type Told<Tag extends ServiceEvent["_tag"]> = Extract<ServiceEvent, { readonly _tag: Tag }>

export interface ResponsesSink {
  readonly send: (event: Fields & { readonly type: EventType }) => void
  readonly sendAudio: (event: Buffer) => void
  readonly newId: (kind: string) => string
  /** Adds an item to the conversation: `conversation.item.added`, and `done` if it is complete. */
  readonly added: (item: Item, isDone: boolean) => void
  readonly done: (item: Item) => void
  readonly isTextOnly: () => boolean
  readonly conversationId: () => string
}

interface SpokenItem {
  readonly id: string
  readonly index: number
  readonly isText: boolean
  text: string
  /** Whether its words are complete. */
  isFinal: boolean
  hasSound: boolean
}

interface Response {
  readonly id: string
  readonly spoken: Map<string, SpokenItem>
  readonly output: Array<Fields>
  items: number
  /** Why it was broken off. */
  cancelled: "client_cancelled" | "turn_detected" | null
}

/** The kinds of tokens that the ledger does not tell apart (text, sound) are left out. */
const usageRecord = ({ cachedInputTokens, inputTokens, outputTokens }: Usage): Fields => ({
  total_tokens: inputTokens + outputTokens,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  input_token_details: { cached_tokens: cachedInputTokens },
  output_token_details: {}
})

/** The server of the hosted tools in the protocol's words. */
const serverLabel = "service"

export const makeResponses = (sink: ResponsesSink) => {
  const { added, newId, send } = sink
  let active: Response | null = null
  let hasSpoken = false
  /** The items of all responses. Words and sound that arrive for an item after its end are dropped. */
  const known = new Set<string>()
  const hosted = new Map<string, { readonly item: Item; readonly index: number }>()
  let resample: ReturnType<typeof makeResampler> | null = null

  const responseRecord = ({ cancelled, id, output }: Response, isDone: boolean): Fields => ({
    object: "realtime.response",
    id,
    status: !isDone ? "in_progress" : cancelled === null ? "completed" : "cancelled",
    status_details: !isDone || cancelled === null ? null : { type: "cancelled", reason: cancelled },
    output: [...output],
    conversation_id: sink.conversationId(),
    output_modalities: [sink.isTextOnly() ? "text" : "audio"],
    metadata: null
  })

  const begin = (): Response => {
    if (active !== null) return active
    active = { id: newId("resp"), spoken: new Map(), output: [], items: 0, cancelled: null }
    send({ type: "response.created", response: responseRecord(active, false) })
    return active
  }

  const inItem = (response: Response, { id, index }: { readonly id: string; readonly index: number }) => ({
    response_id: response.id,
    item_id: id,
    output_index: index
  })

  /** Items of messages have one part of content. */
  const inPart = (response: Response, item: SpokenItem) => ({ ...inItem(response, item), content_index: 0 })

  const beginOutput = ({ id }: Response, index: number, item: Item): void => {
    send({ type: "response.output_item.added", response_id: id, output_index: index, item })
    added(item, false)
  }

  const message = ({ id, isFinal, isText, text }: SpokenItem, status: string): Item => ({
    id,
    object: "realtime.item",
    type: "message",
    role: "assistant",
    status,
    content: isFinal ? [isText ? { type: "output_text", text } : { type: "output_audio", transcript: text }] : []
  })

  const openItem = (itemId: string): { readonly response: Response; readonly item: SpokenItem } | null => {
    const before = active?.spoken.get(itemId)
    if (active !== null && before !== undefined) return { response: active, item: before }
    if (known.has(itemId)) return null
    const response = begin()
    const isText = sink.isTextOnly()
    const item: SpokenItem = { id: itemId, index: response.items++, isText, text: "", isFinal: false, hasSound: false }
    response.spoken.set(itemId, item)
    known.add(itemId)
    beginOutput(response, item.index, message(item, "in_progress"))
    const part = isText ? { type: "text", text: "" } : { type: "audio", transcript: "" }
    send({ type: "response.content_part.added", ...inPart(response, item), part })
    return { response, item }
  }

  const words = (event: Told<"TranscriptDelta" | "TranscriptFinal">): void => {
    const open = openItem(event.itemId)
    if (open === null || open.item.isFinal) return
    const { item, response } = open
    if (event._tag === "TranscriptDelta") {
      item.text += event.text
      const type = item.isText ? "response.output_text.delta" : "response.output_audio_transcript.delta"
      return send({ type, ...inPart(response, item), delta: event.text })
    }
    item.text = event.text
    finishWords(response, item)
  }

  const finishWords = (response: Response, item: SpokenItem): void => {
    if (item.isFinal) return
    item.isFinal = true
    const position = inPart(response, item)
    if (item.isText) send({ type: "response.output_text.done", ...position, text: item.text })
    else send({ type: "response.output_audio_transcript.done", ...position, transcript: item.text })
  }

  const finishItem = (response: Response, item: SpokenItem): void => {
    finishWords(response, item)
    const position = inPart(response, item)
    if (item.hasSound) send({ type: "response.output_audio.done", ...position })
    const part = item.isText ? { type: "text", text: item.text } : { type: "audio", transcript: item.text }
    send({ type: "response.content_part.done", ...position, part })
    finishOutput(response, item.index, message(item, response.cancelled === null ? "completed" : "incomplete"))
  }

  const finishOutput = (response: Response, index: number, item: Item): void => {
    response.output.push(item)
    send({ type: "response.output_item.done", response_id: response.id, output_index: index, item })
    sink.done(item)
  }

  const call = ({ arguments: args, hosted: isHosted, name, toolCallId }: Told<"ToolCall">): void => {
    const response = begin()
    const index = response.items++
    const text = typeof args === "string" ? args : JSON.stringify(args)
    const id = newId("item")
    const position = inItem(response, { id, index })
    const item = isHosted
      ? { id, type: "mcp_call", server_label: serverLabel, name, arguments: text, output: null, error: null }
      : { id, object: "realtime.item", type: "function_call", call_id: toolCallId, name, arguments: text }
    const opening = isHosted ? item : { ...item, status: "in_progress", arguments: "" }
    beginOutput(response, index, opening)
    if (isHosted) {
      hosted.set(toolCallId, { item, index })
      response.output.push(item)
      return send({ type: "response.mcp_call.in_progress", item_id: id, output_index: index })
    }
    send({ type: "response.function_call_arguments.delta", ...position, call_id: toolCallId, delta: text })
    send({ type: "response.function_call_arguments.done", ...position, call_id: toolCallId, name, arguments: text })
    finishOutput(response, index, { ...item, status: "completed" })
  }

  return {
    isActive: (): boolean => active !== null,
    /** Whether any answer has had sound. */
    hasSpoken: (): boolean => hasSpoken,
    words,
    call,
    sound: (itemId: string, base64: Uint8Array, format: AudioFormat): void => {
      if (sink.isTextOnly()) return
      const open = openItem(itemId)
      if (open === null) return
      const { item, response } = open
      item.hasSound = true
      hasSpoken = true
      const event = { type: "response.output_audio.delta", event_id: newId("event"), ...inPart(response, item) }
      const head = JSON.stringify(event)
      const piece = format.sampleRate === 24_000 ? base64 : resampled(base64, format.sampleRate)
      sink.sendAudio(Buffer.concat([Buffer.from(`${head.slice(0, -1)},"delta":"`), piece, Buffer.from('"}')]))
    },
    completed: (toolCallId: string): void => {
      const found = hosted.get(toolCallId)
      if (found === undefined) return
      const { index, item } = found
      hosted.delete(toolCallId)
      send({ type: "response.mcp_call.completed", item_id: item.id, output_index: index })
      sink.done(item)
    },
    approval: ({ arguments: args, name }: Told<"ApprovalNeeded">, id: string): void => {
      const text = typeof args === "string" ? args : JSON.stringify(args)
      added({ id, type: "mcp_approval_request", server_label: serverLabel, name, arguments: text }, true)
    },
    breakOff: (reason: NonNullable<Response["cancelled"]>): void => {
      if (active !== null) active.cancelled ??= reason
    },
    end: (usage?: Usage): void => {
      const response = begin()
      for (const item of response.spoken.values()) finishItem(response, item)
      active = null
      const spent = usage === undefined ? {} : { usage: usageRecord(usage) }
      send({ type: "response.done", response: { ...responseRecord(response, true), ...spent } })
    },
    /** Whether this is the item of an answer. */
    hasItem: (itemId: string): boolean => known.has(itemId)
  }

  function resampled(base64: Uint8Array, rate: number): Buffer {
    resample ??= makeResampler(rate, 24_000)
    const made = resample(Buffer.from(Buffer.from(base64).toString("latin1"), "base64"))
    return Buffer.from(Buffer.from(made).toString("base64"), "latin1")
  }
}
