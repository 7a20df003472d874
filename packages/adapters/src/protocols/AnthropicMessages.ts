/**
 * Anthropic Messages, streamed. `providers/Anthropic` uses it.
 *
 * An answer is a list of blocks. Blocks that only the vendor can read (signed or redacted thinking, blocks of the vendor's tools, citations)
 * are kept as `providerData`. As long as the conversation stays with the same model, they are sent back unchanged and in their places. A tool
 * call is kept there only by its id, because the message itself holds its name and arguments.
 */
import type { ToolCall, Usage } from "@colloquy/core"
import type {
  ChatDriver,
  ChatEvent,
  ChatMessage,
  ChatRequest,
  ContentPart,
  FinishReason,
  Thinking
} from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import { type ApiKey, hidden } from "./ApiKey.ts"
import { newCallId } from "./CallId.ts"
import { errorDialect, toFault } from "./AnthropicErrors.ts"
import type { Fault } from "./Fault.ts"
import {
  type AnswerMessage,
  areArguments,
  readArguments,
  effortWord,
  type FilePart,
  hasWords,
  joinTurns,
  noteForMissingBeginning,
  noteForUnreadableFile,
  partsWithWords,
  plainFileText,
  replayedFields,
  systemWithJson,
  type WireTurn
} from "./Lowering.ts"
import { anthropicSubset, fitted } from "./OutputForms.ts"
import type { TextChunk } from "./RepeatedChunk.ts"
import { bearer, type Call, type StreamDialect, streamAnswer, type TransportSettings } from "./Transport.ts"
import {
  base64,
  count,
  isRecord,
  json,
  jsonRecord,
  list,
  lookUp,
  record,
  string,
  text,
  type WireRecord
} from "./Wire.ts"

// ------ settings

export interface AnthropicMessagesSettings extends TransportSettings, MessagesDialect {
  /** The address including the version; `/messages` is appended. */
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers: HeaderProfile
}

/** The headers of a request: the version of the protocol, the header that carries the key, and beta features. */
export interface HeaderProfile {
  readonly version: string
  readonly key: "x-api-key" | "bearer"
  readonly betas?: ReadonlyArray<string>
  readonly more?: { readonly [name: string]: string }
}

export interface MessagesDialect {
  /** The protocol requires a limit. This one is used when neither the request nor the catalogue has one. */
  readonly maxTokens: number
  /** The form of the thinking parameters for a model whose `thinkingControls` are unknown. Older models need `budget`. */
  readonly thinkingStyle: "adaptive" | "budget"
  /** How long the vendor caches the beginning of a conversation (tools, system prompt, history) for a lower price. Null: no caching. */
  readonly promptCache: "5m" | "1h" | null
}

export const profileHeaders = (profile: HeaderProfile): Call["headers"] => ({
  ...profile.more,
  "anthropic-version": profile.version,
  ...(profile.betas === undefined ? {} : { "anthropic-beta": profile.betas.join(",") })
})

export const callSecrets = (profile: HeaderProfile, key: ApiKey | undefined): Call["secrets"] =>
  profile.key === "bearer" || key === undefined ? bearer(key) : { "x-api-key": hidden(key) }

// ------ request

type WireSource =
  | { readonly type: "base64"; readonly media_type: string; readonly data: string }
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "text"; readonly media_type: "text/plain"; readonly data: string }

type WireBlock =
  | { readonly type: "text"; readonly text: string; readonly cache_control?: WireRecord }
  | { readonly type: "image"; readonly source: WireSource }
  | { readonly type: "document"; readonly source: WireSource; readonly title?: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: WireRecord }
  | { readonly type: "tool_result"; readonly tool_use_id: string; readonly content: string }
  /** A block that is sent back exactly as the vendor sent it. */
  | WireRecord

/** The body of the request. Its fields have a fixed order and do not depend on time, so equal requests have equal bytes (for the cache). */
export interface WireRequest extends WireRecord {
  readonly model: string
  readonly max_tokens: number
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: ReadonlyArray<WireBlock> }>
}

// ------ lowering

export const lower = (request: ChatRequest, dialect: MessagesDialect): WireRequest => {
  const maxTokens = request.maxOutputTokens ?? request.info.maxOutputTokens ?? dialect.maxTokens
  const system = systemWithJson(request)
  // The mark on the system prompt also caches the tools, which come before it. The mark of the whole request caches the history.
  const mark = cacheMark(dialect)
  const thinking = lowerThinking(request, dialect, maxTokens)
  const thinks = hasThinking(thinking)
  return {
    model: request.model,
    max_tokens: maxTokens,
    ...lowerTools(request, system === null ? mark : {}, thinks),
    ...(system === null ? {} : { system: [{ type: "text", text: system, ...mark }] }),
    messages: lowerMessages(request),
    stream: true,
    ...mark,
    ...lowerSampling(request, thinks),
    ...thinking,
    ...lowerConfig(request, dialect)
  }
}

/** The body field that holds both the effort and the form of the answer. */
const lowerConfig = (request: ChatRequest, dialect: MessagesDialect): WireRecord => {
  const { info, output } = request
  const schema =
    output === undefined || info.supportsOutputSchema === false ? null : fitted(output.schema, anthropicSubset)
  const config = {
    ...thinkingFields(request, dialect),
    ...(schema === null ? {} : { format: { type: "json_schema", schema } })
  }
  return Object.keys(config).length === 0 ? {} : { output_config: config }
}

const cacheMark = ({ promptCache }: MessagesDialect): WireRecord =>
  promptCache === null
    ? {}
    : { cache_control: { type: "ephemeral", ...(promptCache === "5m" ? {} : { ttl: promptCache }) } }

const lowerTools = (request: ChatRequest, markOfLast: WireRecord, thinks: boolean): WireRecord => {
  const own = request.ownTools?.includes("web_search") === true ? [ownSearch] : []
  const functions = request.tools.map((tool) => ({
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    input_schema: { type: "object", ...tool.parameters },
    ...(tool.strict === undefined ? {} : { strict: tool.strict })
  }))
  const tools = [...own, ...functions]
  if (tools.length === 0) return {}
  return {
    tools: tools.map((tool, index) => (index === tools.length - 1 ? { ...tool, ...markOfLast } : tool)),
    ...lowerChoice(request, thinks)
  }
}

/** Whether the model thinks in this request. Then the vendor refuses a forced call and most settings of sampling. */
const hasThinking = ({ thinking }: WireRecord): boolean => {
  const { type } = record(thinking)
  return type === "enabled" || type === "adaptive"
}

const lowerChoice = ({ sampling, toolChoice }: ChatRequest, thinks: boolean): WireRecord => {
  if (toolChoice === "none") return { tool_choice: { type: "none" } }
  const isAuto = toolChoice === "auto" || thinks
  const one = sampling?.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  if (isAuto) return sampling?.parallelToolCalls === false ? { tool_choice: { type: "auto", ...one } } : {}
  return {
    tool_choice: { ...(typeof toolChoice === "object" ? { type: "tool", ...toolChoice } : { type: "any" }), ...one }
  }
}

/** The vendor's temperatures end at 1, it refuses a temperature beside `top_p` and a blank stop text, and it has no seed. */
const lowerSampling = ({ sampling = {} }: ChatRequest, thinks: boolean): WireRecord => {
  const { stop, temperature, topP } = sampling
  const isWarm = temperature !== undefined && temperature <= 1 && !thinks
  return {
    ...(isWarm ? { temperature } : {}),
    ...(topP === undefined || isWarm || (thinks && topP < 0.95) ? {} : { top_p: topP }),
    ...(stop?.every(hasWords) === true ? { stop_sequences: stop } : {})
  }
}

/** The vendor's own web search. The number of searches is limited, because each one costs money. */
const ownSearch = { type: "web_search_20250305", name: "web_search", max_uses: 8 }

/** The body fields for `thinking`. Without them the model does not think. */
const lowerThinking = (request: ChatRequest, dialect: MessagesDialect, maxTokens: number): WireRecord => {
  const { thinking, info } = request
  if (thinking === null || info.supportsThinking === false) return {}
  const isBudget = (info.thinkingControls?.style ?? dialect.thinkingStyle) === "budget"
  // A model that always thinks refuses a request with thinking disabled.
  const canStop = isBudget || info.thinkingControls?.efforts.includes("none") === true
  if (thinking.budgetTokens === 0) return canStop ? { thinking: { type: "disabled" } } : {}
  if (isBudget) return lowerBudget(thinking, request, maxTokens)
  return { thinking: { type: "adaptive", display: thinking.excludeReasoning === true ? "omitted" : "summarized" } }
}

/** The effort of a model that decides itself how much it thinks. */
const thinkingFields = (request: ChatRequest, dialect: MessagesDialect): WireRecord => {
  const { info, thinking } = request
  const style = info.thinkingControls?.style ?? dialect.thinkingStyle
  if (thinking === null || info.supportsThinking === false || thinking.budgetTokens === 0 || style === "budget")
    return {}
  const effort = effortWord(request)
  return effort === undefined ? {} : { effort }
}

const lowerBudget = (thinking: Thinking, request: ChatRequest, maxTokens: number): WireRecord => {
  const requested =
    request.info.thinkingControls?.budget === false ? undefined : (thinking.budgetTokens ?? thinking.maxTokens)
  const share = Math.floor(maxTokens * budgetShares[thinking.effort ?? "medium"])
  const budget = Math.max(leastBudget, Math.min(requested ?? share, Math.floor(maxTokens * budgetShares.max)))
  if (budget >= maxTokens || isLoopWithoutThinking(request)) return {}
  const display = thinking.excludeReasoning === true ? { display: "omitted" } : {}
  return { thinking: { type: "enabled", budget_tokens: budget, ...display } }
}

const leastBudget = 1024

/** The share of `max_tokens` for thinking: the limit includes both thinking and answer. */
const budgetShares = { low: 0.25, medium: 0.5, high: 0.8, max: 0.95 }

/** A tool loop that began without thinking must go on without thinking: the vendor requires a thinking block before the first call. */
const isLoopWithoutThinking = (request: ChatRequest): boolean => {
  const question = request.messages.findLastIndex((message) => message.role === "user")
  const answer = request.messages.slice(question + 1).find((message) => message.role === "assistant")
  return answer !== undefined && !replayedBlocks(answer, request).some(isThinking)
}

type Turn = WireTurn<"user" | "assistant", WireBlock>

/** The results of all calls of an answer are one turn, before the next message of the user. */
const lowerMessages = (request: ChatRequest): WireRequest["messages"] => {
  const all = joinTurns(request.messages.map((message) => lowerMessage(message, request)))
  const turns = joinTurns(all.map((turn, index) => (index === all.length - 1 ? turn : withoutOpenCalls(turn))))
  const opening: ReadonlyArray<Turn> =
    turns[0]?.role === "user" ? [] : [{ role: "user", parts: [textBlock(noteForMissingBeginning)] }]
  return [...opening, ...turns].map(({ role, parts }) => ({ role, content: parts }))
}

/**
 * The turn without calls of the vendor's own tools that have no result: the limit of tokens cut the answer, or it paused and did not go on. The
 * vendor refuses a conversation with such a call, except in an answer that it shall go on with.
 */
const withoutOpenCalls = ({ parts, role }: Turn): Turn => {
  const results = new Set(parts.map((part) => record(part).tool_use_id))
  const kept = parts.filter((part) => part.type !== "server_tool_use" || results.has(record(part).id))
  return { role, parts: kept.length < parts.length && kept.every(isThinking) ? [] : kept }
}

const lowerMessage = (message: ChatMessage, request: ChatRequest): Turn => {
  switch (message.role) {
    case "user":
      return { role: "user", parts: partsWithWords(message.content).map((part) => lowerPart(part, request)) }
    case "assistant":
      return { role: "assistant", parts: lowerAnswer(message, request) }
    case "tool": {
      const result = { type: "tool_result", tool_use_id: wireId(message.toolCallId), content: message.output }
      return { role: "user", parts: [result] }
    }
  }
}

const textBlock = (written: string): WireBlock => ({ type: "text", text: written })

/** The ids of other vendors may contain characters that Anthropic refuses. */
const wireId = (id: string): string => id.replace(/[^\w-]/g, (character) => `_${character.charCodeAt(0).toString(16)}`)

const lowerPart = (part: ContentPart, request: ChatRequest): WireBlock =>
  part.type === "text" ? part : (lowerFile(part, request) ?? textBlock(noteForUnreadableFile(part)))

/** Undefined when the model or the protocol does not accept the file. If a model's capability is unknown, the file is sent. */
const lowerFile = (part: FilePart, { info }: ChatRequest): WireBlock | undefined => {
  if (part.type === "image") {
    const isTaken = info.supportsVision !== false && imageTypes.includes(part.mediaType)
    return isTaken ? { type: "image", source: wireSource(part) } : undefined
  }
  if (part.type !== "file") return undefined
  const title = part.filename === null ? {} : { title: part.filename }
  const plain = plainFileText(part)
  if (plain !== undefined && hasWords(plain)) {
    return { type: "document", source: { type: "text", media_type: "text/plain", data: plain }, ...title }
  }
  if (part.mediaType !== "application/pdf" || info.supportsPdfInput === false) return undefined
  return { type: "document", source: wireSource(part), ...title }
}

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"]

const wireSource = ({ mediaType, source }: FilePart): WireSource =>
  "url" in source
    ? { type: "url", url: source.url }
    : { type: "base64", media_type: mediaType, data: base64(source.bytes) }

/** Kept blocks that are only thinking are not sent, because the vendor refuses an answer of thinking alone. Calls without a kept block follow the kept ones. */
const lowerAnswer = (answer: AnswerMessage, request: ChatRequest): ReadonlyArray<WireBlock> => {
  const kept = replayedBlocks(answer, request)
  const calls = new Map(answer.toolCalls.map((call) => [wireId(call.id), lowerCall(call)]))
  const spoken = hasWords(answer.content) ? [textBlock(answer.content)] : []
  if (kept.every(isThinking)) return [...spoken, ...calls.values()]
  const placed: Array<WireBlock> = []
  for (const block of kept) {
    const call = block.type === "tool_use" ? calls.get(string(block.id) ?? "") : block
    if (call !== undefined) placed.push(call)
    if (block.type === "tool_use") calls.delete(string(block.id) ?? "")
  }
  return [...placed, ...calls.values()]
}

const lowerCall = (call: ToolCall) => ({
  type: "tool_use",
  id: wireId(call.id),
  name: call.name,
  input: readArguments(call.arguments)
})

/** The kept blocks of an answer of the same model. Another model would refuse their signatures. */
const replayedBlocks = (answer: AnswerMessage, request: ChatRequest): ReadonlyArray<WireRecord> => {
  const replay = replayedFields(answer, request)
  return replay.model === request.model ? list(replay.content).filter(isRecord) : []
}

const isThinking = (block: WireBlock): boolean => block.type === "thinking" || block.type === "redacted_thinking"

// ------ stream step

/** The state of reading one answer. */
export interface AnswerState {
  readonly request: ChatRequest
  /** Creates an id for a call that has none, or that has the id of an earlier call. */
  readonly newId: () => string
  /** All blocks in order. */
  readonly blocks: Array<OpenBlock>
  /** The newest block of each index. */
  readonly open: Map<unknown, OpenBlock>
  readonly callIds: Set<string>
  usage: WireRecord | null
  stop: string | null
  model: string | null
  complete: boolean
}

interface OpenBlock {
  /** The block as the event that opened it contained it. */
  readonly first: WireRecord
  readonly callId: string | null
  /** The text or the thinking received so far. */
  text: string
  /** The arguments of a call received so far, as JSON text. */
  input: string
  signature: string
  readonly citations: Array<Schema.Json>
  /** False when a part of the block had an unknown type and could not be kept. */
  isWhole: boolean
}

export const start = (request: ChatRequest, newId: () => string): AnswerState => ({
  request,
  newId,
  blocks: [],
  open: new Map(),
  callIds: new Set(),
  usage: null,
  stop: null,
  model: null,
  complete: false
})

export const step = (state: AnswerState, chunk: unknown, events: Array<ChatEvent>): Fault | "end" | undefined => {
  const event = record(chunk)
  switch (event.type) {
    case "message_start":
      return readMessage(state, record(event.message), events)
    case "content_block_start":
      return openBlock(state, event.index, record(event.content_block), events)
    case "content_block_delta":
      return readDelta(state, event.index, record(event.delta), events)
    case "message_delta":
      return readEnd(state, record(event.delta).stop_reason, event.usage)
    case "message_stop":
      state.complete = true
      return "end"
    case "message":
      // A gateway that does not stream sends the whole answer at once.
      readMessage(state, event, events)
      state.complete = state.stop !== null
      return undefined
    default:
      return event.type === "error" || isRecord(event.error) ? toFault(null, event) : undefined
  }
}

export const toTextChunk = (state: AnswerState, chunk: unknown): TextChunk | null => {
  const { delta, index, type } = record(chunk)
  const said = record(delta)
  const block = state.open.get(index)
  if (type !== "content_block_delta" || block === undefined || said.type !== "text_delta") return null
  return { text: string(said.text) ?? "", apply: (more, events) => say(block, more, events) }
}

const readMessage = (state: AnswerState, message: WireRecord, events: Array<ChatEvent>): undefined => {
  state.model = text(message.model) ?? state.model
  list(message.content).forEach((block, index) => openBlock(state, index, record(block), events))
  readEnd(state, message.stop_reason, message.usage)
}

/** Each record of usage holds totals. A later record may leave out fields or set them to null; then the earlier total stays. */
const readEnd = (state: AnswerState, stop: unknown, usage: unknown): undefined => {
  state.stop = text(stop) ?? state.stop
  if (!isRecord(usage)) return
  const totals = { ...state.usage }
  for (const field of usageFields) totals[field] = usage[field] ?? totals[field]
  state.usage = totals
}

/** The fields that `readUsage` reads. */
const usageFields = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens_details"
] as const

const openBlock = (state: AnswerState, index: unknown, first: WireRecord, events: Array<ChatEvent>): undefined => {
  const name = first.type === "tool_use" ? text(first.name) : undefined
  const callId = name === undefined ? null : wireCallId(state, first.id)
  const block: OpenBlock = { first, callId, text: "", input: "", signature: "", citations: [], isWhole: true }
  state.blocks.push(block)
  state.open.set(index, block)
  if (name !== undefined && callId !== null) events.push({ _tag: "ToolCallStart", id: callId, name })
  if (first.type === "text") say(block, first.text, events)
  if (first.type === "thinking") think(state, block, first.thinking, events)
  block.signature = string(first.signature) ?? ""
  for (const citation of list(first.citations)) cite(block, citation, events)
  if (isRecord(first.input) && Object.keys(first.input).length > 0) write(block, JSON.stringify(first.input), events)
}

const wireCallId = (state: AnswerState, sentId: unknown): string => {
  const id = text(sentId)
  const free = id === undefined || state.callIds.has(id) ? state.newId() : id
  state.callIds.add(free)
  return free
}

const readDelta = (state: AnswerState, index: unknown, delta: WireRecord, events: Array<ChatEvent>): undefined => {
  const block = state.open.get(index)
  if (block === undefined) return
  if (delta.type === "text_delta") say(block, delta.text, events)
  else if (delta.type === "thinking_delta") think(state, block, delta.thinking, events)
  else if (delta.type === "signature_delta") block.signature += string(delta.signature) ?? ""
  else if (delta.type === "input_json_delta") write(block, delta.partial_json, events)
  else if (delta.type === "citations_delta") cite(block, delta.citation, events)
  else block.isWhole = false
}

const say = (block: OpenBlock, said: unknown, events: Array<ChatEvent>): void => {
  const more = text(said)
  if (more === undefined) return
  block.text += more
  events.push({ _tag: "TextDelta", text: more })
}

const think = (state: AnswerState, block: OpenBlock, thought: unknown, events: Array<ChatEvent>): void => {
  const more = text(thought)
  if (more === undefined) return
  block.text += more
  if (state.request.thinking?.excludeReasoning !== true) events.push({ _tag: "ReasoningDelta", text: more })
}

const write = (block: OpenBlock, written: unknown, events: Array<ChatEvent>): void => {
  const more = text(written)
  if (more === undefined) return
  block.input += more
  if (block.callId !== null) events.push({ _tag: "ToolCallDelta", id: block.callId, arguments: more })
}

const cite = (block: OpenBlock, citation: unknown, events: Array<ChatEvent>): void => {
  if (!isRecord(citation)) return
  block.citations.push(json(citation))
  const url = text(citation.url)
  if (url !== undefined) events.push({ _tag: "Source", url, title: text(citation.title) ?? null })
}

/** An answer is complete only if it ended with the event `message_stop`. */
export const end = (state: AnswerState, events: Array<ChatEvent>): void => {
  if (!state.complete) return
  const calls = state.blocks.flatMap((block) => finishedCall(state, block))
  for (const call of calls) events.push({ _tag: "ToolCallReady", call })
  if (state.usage !== null) events.push({ _tag: "Usage", usage: readUsage(state.usage) })
  const reason = finishReason(state.stop, calls.length > 0)
  events.push({ _tag: "Finished", reason, model: state.model, providerData: keptProviderData(state, calls) })
}

/** A call is dropped if the answer was refused, or if the limit of tokens cut its arguments. */
const finishedCall = (state: AnswerState, block: OpenBlock): ReadonlyArray<ToolCall> => {
  if (block.callId === null || state.stop === "refusal") return []
  const isLast = block === state.blocks.at(-1)
  if (isLast && finishReason(state.stop, false) === "length" && !areArguments(block.input)) return []
  const name = string(block.first.name) ?? ""
  return [{ id: block.callId, name, arguments: hasWords(block.input) ? block.input : "{}" }]
}

const finishReason = (stop: string | null, hasCalls: boolean): FinishReason => {
  if (stop === "refusal") return "filtered"
  return hasCalls ? "tool_calls" : (lookUp(finishReasons, stop ?? "") ?? "stop")
}

const finishReasons: { readonly [stop: string]: FinishReason } = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  pause_turn: "continue"
}

/** The vendor's `input_tokens` include neither the tokens read from the cache nor those written to it. */
const readUsage = (usage: WireRecord): Usage => {
  const cachedInputTokens = count(usage.cache_read_input_tokens)
  const cacheWriteTokens = count(usage.cache_creation_input_tokens)
  return {
    inputTokens: count(usage.input_tokens) + cachedInputTokens + cacheWriteTokens,
    outputTokens: count(usage.output_tokens),
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens: count(record(usage.output_tokens_details).thinking_tokens),
    costUsd: null,
    estimated: false
  }
}

/** The data that `lowerAnswer` sends back. Null when the message itself contains everything. */
const keptProviderData = (state: AnswerState, calls: ReadonlyArray<ToolCall>): Schema.Json | null => {
  const callIds = new Set(calls.map((call) => call.id))
  const content = state.blocks.flatMap((block) => keptBlock(block, callIds))
  const isPlain = (block: Schema.JsonObject): boolean =>
    block.type === "tool_use" || (block.type === "text" && block.citations === undefined)
  return content.every(isPlain) ? null : { model: state.request.model, content }
}

const keptBlock = (block: OpenBlock, callIds: ReadonlySet<string>): ReadonlyArray<Schema.JsonObject> => {
  const { first, callId, signature, citations } = block
  switch (first.type) {
    case "text":
      if (!hasWords(block.text)) return []
      return [{ type: "text", text: block.text, ...(citations.length === 0 ? {} : { citations }) }]
    case "thinking":
      return signature === "" ? [] : [{ type: "thinking", thinking: block.text, signature }]
    case "tool_use":
      return callId !== null && callIds.has(callId) ? [{ type: "tool_use", id: wireId(callId) }] : []
    default:
      if (typeof first.type !== "string" || !block.isWhole) return []
      return [block.input === "" ? jsonRecord(first) : { ...first, input: readArguments(block.input) }]
  }
}

// ------ driver

export const driver =
  (settings: AnthropicMessagesSettings): ChatDriver =>
  (request) => {
    const stream: StreamDialect<AnswerState> = {
      ...errorDialect,
      start: () => start(request, newCallId),
      step,
      toTextChunk,
      end
    }
    return streamAnswer(
      () => ({
        provider: request.provider,
        model: request.model,
        url: `${settings.baseUrl}/messages`,
        headers: profileHeaders(settings.headers),
        secrets: callSecrets(settings.headers, request.apiKey ?? settings.apiKey),
        body: JSON.stringify(lower(request, settings))
      }),
      stream,
      settings
    )
  }
