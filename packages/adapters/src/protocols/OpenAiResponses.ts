/**
 * OpenAI Responses. A conversation is a list of items, and an answer is a stream of events about items. The vendor stores nothing: the model's
 * reasoning arrives encrypted, is kept with the answer and sent back in its place, so that the model continues its reasoning after tool calls.
 *
 * The protocol repeats each text (as deltas, when it is done, in its item, in the whole response). Reading emits only what is new each time.
 * Used by `providers/OpenAi`.
 */
import type { ToolCall, Usage } from "@colloquy/core"
import type {
  ChatDriver,
  ChatEvent,
  ChatMessage,
  ChatRequest,
  ContentPart,
  FinishReason
} from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import type { ApiKey } from "./ApiKey.ts"
import { newCallId } from "./CallId.ts"
import type { Fault } from "./Fault.ts"
import { areArguments, type FilePart, noteForUnreadableFile, textOfFile, fileUrl } from "./Lowering.ts"
import { lowerSampling, reasoningEffort, type SamplingRules } from "./OpenAiDialect.ts"
import { toFault } from "./OpenAiErrors.ts"
import { openAiFormat } from "./OutputForms.ts"
import { type AnswerPart, keepParts, type KeptPart, replayedParts } from "./Replay.ts"
import { bearer, type StreamDialect, streamAnswer, type TransportSettings } from "./Transport.ts"
import {
  base64,
  count,
  finite,
  fromBase64,
  isRecord,
  jsonRecord,
  list,
  lookUp,
  record,
  string,
  text,
  type WireRecord
} from "./Wire.ts"

// ------ settings

export interface OpenAiResponsesSettings extends TransportSettings {
  /** The address including the version; `/responses` is appended. */
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

// ------ request

type WirePart =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string; readonly detail: "auto" }
  | { readonly type: "input_file"; readonly filename: string; readonly file_data: string }
  | { readonly type: "input_file"; readonly file_url: string }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" } }

type WireItem =
  | { readonly type: "message"; readonly role: "user" | "developer"; readonly content: ReadonlyArray<WirePart> }
  | {
      readonly type: "message"
      readonly role: "assistant"
      readonly content: readonly [{ readonly type: "output_text"; readonly text: string }]
      readonly phase?: string
    }
  | { readonly type: "function_call"; readonly call_id: string; readonly name: string; readonly arguments: string }
  | { readonly type: "function_call_output"; readonly call_id: string; readonly output: string }
  | ({ readonly type: "reasoning" } & WireRecord)

/** The body of the request. Its fields have a fixed order and do not depend on time, so equal requests have equal bytes (for the cache). */
export interface WireRequest {
  readonly model: string
  readonly input: ReadonlyArray<WireItem>
  readonly stream: true
  readonly store: false
  readonly prompt_cache_key: string
}

// ------ lowering

export const lower = (request: ChatRequest): WireRequest => ({
  model: request.model,
  ...(request.system === null || request.system === "" ? {} : { instructions: request.system }),
  ...lowerTools(request),
  input: [...requestForJson(request), ...request.messages.flatMap((message) => lowerMessage(message, request))],
  stream: true,
  store: false,
  ...(request.info.supportsThinking === false ? {} : { include: ["reasoning.encrypted_content"] }),
  ...(request.maxOutputTokens === null ? {} : { max_output_tokens: request.maxOutputTokens }),
  ...lowerSampling(request, sampling),
  ...lowerFormat(request),
  prompt_cache_key: request.conversationId,
  ...lowerThinking(request)
})

const lowerFormat = ({ info, jsonOutput, output }: ChatRequest): WireRecord => {
  if (output !== undefined && info.supportsOutputSchema !== false)
    return { text: { format: { type: "json_schema", ...openAiFormat(output) } } }
  return jsonOutput && info.supportsJsonOutput !== false ? { text: { format: { type: "json_object" } } } : {}
}

/** The vendor refuses JSON mode unless the input contains the word "JSON". The instructions do not count as input, so a message asks for it. */
const requestForJson = (request: ChatRequest): ReadonlyArray<WireItem> =>
  request.jsonOutput
    ? [
        {
          type: "message",
          role: "developer",
          content: [{ type: "input_text", text: "Answer with one JSON object and nothing else." }]
        }
      ]
    : []

/** `strict` is always sent: without it, the vendor rewrites the schema of the parameters. */
const lowerTools = (request: ChatRequest): WireRecord => {
  const own = request.ownTools?.map((type) => ({ type })) ?? []
  const functions = request.tools.map((tool) => ({
    type: "function",
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    parameters: tool.parameters ?? { type: "object", properties: {} },
    strict: tool.strict ?? false
  }))
  if (own.length + functions.length === 0) return {}
  return { tools: [...own, ...functions], ...lowerChoice(request) }
}

/** A call of a function can be forced only where the request has functions. */
const lowerChoice = ({ toolChoice, tools }: ChatRequest): WireRecord => {
  if (toolChoice === "none") return { tool_choice: "none" }
  if (toolChoice === "auto" || tools.length === 0) return {}
  return { tool_choice: typeof toolChoice === "object" ? { type: "function", ...toolChoice } : toolChoice }
}

/** The protocol has no stop texts and no seed. Reasoning models refuse the other two. */
const sampling: SamplingRules = {
  mostStops: 0,
  seed: false,
  forcedTools: true,
  parallelTools: true,
  notWhenReasoning: ["temperature", "top_p"]
}

const lowerThinking = (request: ChatRequest): WireRecord => {
  const { thinking, info } = request
  if (thinking === null || info.supportsThinking === false) return {}
  const { reasoning_effort: effort } = reasoningEffort(request)
  const isShown = thinking.excludeReasoning !== true && thinking.budgetTokens !== 0
  if (effort === undefined && !isShown) return {}
  return { reasoning: { ...(effort === undefined ? {} : { effort }), ...(isShown ? { summary: "auto" } : {}) } }
}

const lowerMessage = (message: ChatMessage, request: ChatRequest): ReadonlyArray<WireItem> => {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: message.content.map((part) => lowerPart(part, request)) }]
    case "assistant":
      return replayedParts(message, request).map(lowerAnswerPart)
    case "tool":
      return [{ type: "function_call_output", call_id: message.toolCallId, output: message.output }]
  }
}

const lowerPart = (part: ContentPart, request: ChatRequest): WirePart =>
  part.type === "text"
    ? { type: "input_text", text: part.text }
    : (lowerFile(part, request) ?? { type: "input_text", text: noteForUnreadableFile(part) })

/** Undefined when the model or the protocol does not accept the file. Most models here accept no audio, so it is sent only if that is known. */
const lowerFile = (part: FilePart, { info }: ChatRequest): WirePart | undefined => {
  if (part.type === "image")
    return info.supportsVision === false ? undefined : { type: "input_image", image_url: fileUrl(part), detail: "auto" }
  if (part.type === "audio") return info.supportsAudioInput === true ? lowerAudio(part) : undefined
  if (part.type === "video") return undefined
  const written = textOfFile(part)
  if (written !== undefined) return { type: "input_text", text: written }
  if (part.mediaType !== "application/pdf" || info.supportsPdfInput === false) return undefined
  return "url" in part.source
    ? { type: "input_file", file_url: part.source.url }
    : { type: "input_file", filename: part.filename ?? "document.pdf", file_data: fileUrl(part) }
}

const lowerAudio = ({ mediaType, source }: FilePart): WirePart | undefined => {
  const format = /^audio\/((x-|vnd\.)?wave?|mpeg|mp3)\b/.exec(mediaType)?.[1]
  if (format === undefined || "url" in source) return undefined
  return {
    type: "input_audio",
    input_audio: { data: base64(source.bytes), format: format.startsWith("mp") ? "mp3" : "wav" }
  }
}

const lowerAnswerPart = (part: AnswerPart): WireItem => {
  if (part.type === "reasoning") return { type: "reasoning", ...record(part.data) }
  if (part.type === "call") return lowerCall(part.call)
  const phase = text(part.data.phase)
  return {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: part.text }],
    ...(phase === undefined ? {} : { phase })
  }
}

const lowerCall = ({ id, name, arguments: written }: ToolCall): WireItem => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: areArguments(written) ? written : "{}"
})

// ------ stream step

/** The state of reading one answer. */
export interface AnswerState {
  readonly requestedModel: string
  readonly showsReasoning: boolean
  /** Creates an id for a call that has none, or that has the id of an earlier call. */
  readonly newId: () => string
  /** The length of each text that has been emitted already. The key names the item and the part. */
  readonly emitted: Map<string, number>
  readonly items: Map<string, OpenItem>
  readonly sources: Set<string>
  /** The ids of the calls so far. */
  readonly callIds: Set<string>
  /** The length of the whole text of the answer so far. */
  textLength: number
  hasReasoned: boolean
  finish: "completed" | "incomplete" | null
  filtered: boolean
  model: string | null
  usage: Usage | null
}

type OpenItem =
  | { readonly type: "message"; from: number; length: number; phase: string | undefined }
  | {
      readonly type: "function_call"
      readonly wireId: string | undefined
      readonly id: string
      readonly name: string
      arguments: string
    }
  | { readonly type: "reasoning"; readonly item: WireRecord }
  | { readonly type: "image" }

export const start = (request: ChatRequest, newId: () => string): AnswerState => ({
  requestedModel: request.model,
  showsReasoning: request.thinking?.excludeReasoning !== true,
  newId,
  emitted: new Map(),
  items: new Map(),
  sources: new Set(),
  callIds: new Set(),
  textLength: 0,
  hasReasoned: false,
  finish: null,
  filtered: false,
  model: null,
  usage: null
})

export const step = (state: AnswerState, chunk: unknown, events: Array<ChatEvent>): Fault | "end" | undefined => {
  if (!isRecord(chunk)) return undefined
  if (chunk.object === "response") return readResponse(state, chunk, events)
  const read = typeof chunk.type === "string" ? lookUp(readers, chunk.type) : undefined
  if (read !== undefined) return read(state, chunk, events)
  return isRecord(chunk.error) ? toFault(null, chunk) : undefined
}

type Reader = (state: AnswerState, chunk: WireRecord, events: Array<ChatEvent>) => Fault | "end" | undefined

/** Reads an event whose text is in one field: a delta, or the whole text of which a part may have been emitted already. */
const reader =
  (
    take: (state: AnswerState, chunk: WireRecord, piece: Text, events: Array<ChatEvent>) => void,
    field: string
  ): Reader =>
  (state, chunk, events) => {
    const found = text(chunk[field])
    if (found !== undefined) take(state, chunk, field === "delta" ? { delta: found } : { whole: found }, events)
    return undefined
  }

type Text = { readonly delta: string } | { readonly whole: string }

/** The part of a text that has not been emitted yet. */
const newIn = (state: AnswerState, key: string, piece: Text): string => {
  const before = state.emitted.get(key) ?? 0
  const fresh = "delta" in piece ? piece.delta : piece.whole.slice(before)
  if (fresh !== "") state.emitted.set(key, before + fresh.length)
  return fresh
}

/** The key of an item. Some servers change the id of an item during the answer, but not its index; others give one index to several types. */
const itemKey = (type: OpenItem["type"], chunk: WireRecord): string =>
  `${type} ${finite(chunk.output_index) ?? text(chunk.item_id) ?? ""}`

const indexOrZero = (index: unknown): number => finite(index) ?? 0

const say = (state: AnswerState, chunk: WireRecord, piece: Text, events: Array<ChatEvent>): void => {
  const key = itemKey("message", chunk)
  const message = state.items.get(key) ?? openMessage(state, key)
  const fresh = newIn(state, `text ${key} ${indexOrZero(chunk.content_index)}`, piece)
  if (message.type !== "message" || fresh === "") return
  if (message.length === 0) {
    const gap = state.textLength === 0 ? "" : "\n\n"
    message.from = state.textLength + gap.length
    addText(state, gap, events)
  }
  message.length += fresh.length
  addText(state, fresh, events)
}

const addText = (state: AnswerState, fresh: string, events: Array<ChatEvent>): void => {
  if (fresh === "") return
  state.textLength += fresh.length
  events.push({ _tag: "TextDelta", text: fresh })
}

const refuse = (state: AnswerState, chunk: WireRecord, piece: Text, events: Array<ChatEvent>): void => {
  state.filtered = true
  say(state, chunk, piece, events)
}

const openMessage = (state: AnswerState, key: string): OpenItem => {
  const message: OpenItem = { type: "message", from: 0, length: 0, phase: undefined }
  state.items.set(key, message)
  return message
}

const think = (state: AnswerState, chunk: WireRecord, piece: Text, events: Array<ChatEvent>): void => {
  // Some servers leave out the index in their deltas.
  const isSummary = chunk.summary_index !== undefined || chunk.type === "response.reasoning_summary_text.delta"
  const part = isSummary ? `summary ${indexOrZero(chunk.summary_index)}` : `thought ${indexOrZero(chunk.content_index)}`
  const key = `${part} ${itemKey("reasoning", chunk)}`
  const isNew = !state.emitted.has(key)
  const fresh = newIn(state, key, piece)
  if (!state.showsReasoning || fresh === "") return
  events.push({ _tag: "ReasoningDelta", text: isNew && state.hasReasoned ? `\n\n${fresh}` : fresh })
  state.hasReasoned = true
}

const writeArguments = (state: AnswerState, chunk: WireRecord, piece: Text, events: Array<ChatEvent>): void => {
  const key = itemKey("function_call", chunk)
  const call = state.items.get(key)
  if (call?.type !== "function_call") return
  const fresh = newIn(state, `arguments ${key}`, piece)
  if (fresh === "") return
  call.arguments += fresh
  events.push({ _tag: "ToolCallDelta", id: call.id, arguments: fresh })
}

/** Reads an item that was added or is complete, and emits what is new in it. */
const readItem: Reader = (state, chunk, events) => {
  const item = record(chunk.item)
  const isAdded = chunk.type === "response.output_item.added"
  const ids = { output_index: chunk.output_index ?? null, item_id: item.id ?? item.call_id ?? null }
  if (item.type === "message") readMessage(state, ids, item, events)
  // The encrypted content of an item that was only just added is not complete.
  else if (item.type === "reasoning") readReasoning(state, ids, isAdded ? {} : item, events)
  else if (item.type === "function_call") readCall(state, ids, item, isAdded, events)
  else if (item.type === "image_generation_call") readImage(state, ids, item, events)
  return undefined
}

const readMessage = (state: AnswerState, ids: WireRecord, item: WireRecord, events: Array<ChatEvent>): void => {
  const key = itemKey("message", ids)
  const message = state.items.get(key) ?? openMessage(state, key)
  if (message.type === "message") message.phase = text(item.phase) ?? message.phase
  list(item.content)
    .map(record)
    .forEach((part, content_index) => {
      const whole = { whole: string(part.text) ?? string(part.refusal) ?? "" }
      const take = part.type === "refusal" ? refuse : say
      take(state, { ...ids, content_index }, whole, events)
      for (const annotation of list(part.annotations)) cite(state, record(annotation), events)
    })
}

const readReasoning = (state: AnswerState, ids: WireRecord, item: WireRecord, events: Array<ChatEvent>): void => {
  state.items.set(itemKey("reasoning", ids), { type: "reasoning", item })
  list(item.summary)
    .map(record)
    .forEach((part, summary_index) => {
      think(state, { ...ids, summary_index }, { whole: string(part.text) ?? "" }, events)
    })
  list(item.content)
    .map(record)
    .forEach((part, content_index) => {
      think(state, { ...ids, content_index }, { whole: string(part.text) ?? "" }, events)
    })
}

const readCall = (
  state: AnswerState,
  ids: WireRecord,
  item: WireRecord,
  isAdded: boolean,
  events: Array<ChatEvent>
): void => {
  const key = itemKey("function_call", ids)
  const [name, wireId] = [text(item.name), text(item.call_id)]
  const known = state.items.get(key)
  if (isAdded && known?.type === "function_call" && wireId !== undefined && wireId !== known.wireId) {
    // A server that gives one index to all calls: the earlier one is complete.
    state.items.delete(key)
    state.items.set(`${key} ${known.id}`, known)
    state.emitted.delete(`arguments ${key}`)
  }
  if (!state.items.has(key) && name !== undefined) {
    const id = wireId === undefined || state.callIds.has(wireId) ? state.newId() : wireId
    state.callIds.add(id)
    state.items.set(key, { type: "function_call", wireId, id, name, arguments: "" })
    events.push({ _tag: "ToolCallStart", id, name })
  }
  writeArguments(state, ids, { whole: string(item.arguments) ?? "" }, events)
}

const readImage = (state: AnswerState, ids: WireRecord, item: WireRecord, events: Array<ChatEvent>): void => {
  const encoded = text(item.result)
  const key = itemKey("image", ids)
  if (encoded === undefined || state.items.has(key)) return
  state.items.set(key, { type: "image" })
  const format = /^[a-z]+$/.exec(string(item.output_format) ?? "")?.[0] ?? "png"
  events.push({ _tag: "Media", mediaType: `image/${format}`, bytes: fromBase64(encoded) })
}

const cite = (state: AnswerState, annotation: WireRecord, events: Array<ChatEvent>): void => {
  const url = annotation.type === "url_citation" ? text(annotation.url) : undefined
  if (url === undefined || state.sources.has(url)) return
  state.sources.add(url)
  events.push({ _tag: "Source", url, title: text(annotation.title) ?? null })
}

const readCitation: Reader = (state, chunk, events) => {
  cite(state, record(chunk.annotation), events)
  return undefined
}

/** Reads a whole response: the first one names the model, the last one has the outcome. Without streaming, it is the only event. */
const readResponse: Reader = (state, response, events) => {
  state.model = text(response.model) ?? state.model
  state.usage = readUsage(response.usage) ?? state.usage
  if (state.items.size === 0)
    list(response.output).forEach((item, index) => readItem(state, { item, output_index: index }, events))
  if (response.status === "failed" || isRecord(response.error)) return toFault(null, response)
  if (response.status === "cancelled") return "end"
  if (response.status !== "completed" && response.status !== "incomplete") return undefined
  state.finish = response.status
  if (record(response.incomplete_details).reason === "content_filter") state.filtered = true
  return "end"
}

const readWhole: Reader = (state, chunk, events) => readResponse(state, record(chunk.response), events)

/** The type of the last event names the outcome, because some servers leave out the status of the response. */
const readOutcome =
  (status: string): Reader =>
  (state, chunk, events) =>
    readResponse(state, { ...record(chunk.response), status }, events)

const readers: { readonly [type: string]: Reader } = {
  "response.created": readWhole,
  "response.queued": readWhole,
  "response.in_progress": readWhole,
  "response.output_item.added": readItem,
  "response.output_item.done": readItem,
  "response.output_text.delta": reader(say, "delta"),
  "response.output_text.done": reader(say, "text"),
  "response.refusal.delta": reader(refuse, "delta"),
  "response.refusal.done": reader(refuse, "refusal"),
  "response.output_text.annotation.added": readCitation,
  "response.reasoning_summary_text.delta": reader(think, "delta"),
  "response.reasoning_summary_text.done": reader(think, "text"),
  "response.reasoning_text.delta": reader(think, "delta"),
  "response.reasoning_text.done": reader(think, "text"),
  "response.function_call_arguments.delta": reader(writeArguments, "delta"),
  "response.function_call_arguments.done": reader(writeArguments, "arguments"),
  "response.completed": readOutcome("completed"),
  "response.incomplete": readOutcome("incomplete"),
  "response.failed": readOutcome("failed"),
  error: (_state, chunk) =>
    toFault(
      null,
      isRecord(chunk.error) ? chunk : { error: { code: chunk.code ?? null, message: chunk.message ?? null } }
    )
}

const readUsage = (usage: unknown): Usage | null => {
  if (!isRecord(usage) || finite(usage.input_tokens) === undefined) return null
  const input = record(usage.input_tokens_details)
  return {
    inputTokens: count(usage.input_tokens),
    outputTokens: count(usage.output_tokens),
    cachedInputTokens: count(input.cached_tokens),
    cacheWriteTokens: count(input.cache_write_tokens),
    reasoningTokens: count(record(usage.output_tokens_details).reasoning_tokens),
    costUsd: finite(usage.cost) ?? null,
    estimated: false
  }
}

/** An answer without an outcome was cut off, even if text of it has arrived. */
export const end = (state: AnswerState, events: Array<ChatEvent>): void => {
  if (state.finish === null) return
  const calls = [...state.items.values()]
    .filter((item) => item.type === "function_call")
    .filter((call) => state.finish === "completed" || areArguments(call.arguments))
  for (const { id, name, arguments: written } of calls) {
    events.push({ _tag: "ToolCallReady", call: { id, name, arguments: written.trim() === "" ? "{}" : written } })
  }
  if (state.usage !== null) events.push({ _tag: "Usage", usage: state.usage })
  events.push({
    _tag: "Finished",
    reason: finishReason(state, calls.length),
    model: state.model,
    providerData: keepParts(state.requestedModel, [...state.items.values()].flatMap(keep))
  })
}

const finishReason = (state: AnswerState, calls: number): FinishReason => {
  if (state.filtered) return "filtered"
  if (calls > 0) return "tool_calls"
  return state.finish === "incomplete" ? "length" : "stop"
}

const keep = (item: OpenItem): ReadonlyArray<KeptPart> => {
  switch (item.type) {
    case "message":
      return [
        {
          type: "text",
          from: item.from,
          length: item.length,
          data: item.phase === undefined ? {} : { phase: item.phase }
        }
      ]
    case "function_call":
      return [{ type: "call", id: item.id, data: {} }]
    case "reasoning":
      return text(item.item.encrypted_content) === undefined
        ? []
        : [{ type: "reasoning", text: "", data: sendable(item.item) }]
    case "image":
      return []
  }
}

/** A reasoning item without the fields that are not sent back: `lowerAnswerPart` adds the type, and the vendor refuses the status as input. */
const sendable = (item: WireRecord): Schema.JsonObject => {
  const { type: _type, status: _status, ...rest } = jsonRecord(item)
  return rest
}

// ------ driver

export const driver =
  (settings: OpenAiResponsesSettings): ChatDriver =>
  (request) => {
    const dialect: StreamDialect<AnswerState> = {
      requestIdHeader: "x-request-id",
      fault: toFault,
      start: () => start(request, newCallId),
      step,
      end
    }
    return streamAnswer(
      () => ({
        provider: request.provider,
        model: request.model,
        url: `${settings.baseUrl}/responses`,
        headers: { ...settings.headers },
        secrets: bearer(request.apiKey ?? settings.apiKey),
        body: JSON.stringify(lower(request))
      }),
      dialect,
      settings
    )
  }
