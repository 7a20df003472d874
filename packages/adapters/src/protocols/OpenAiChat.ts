/**
 * OpenAI Chat Completions, for OpenAI and every server that speaks this protocol. The differences between servers are data: a `ChatDialect`
 * says which fields of a request a server accepts. Reading needs no settings, because it accepts every form that these servers send.
 *
 * Used by `providers/OpenAi`, `providers/OpenAiCompatible` and `providers/OpenRouter`.
 */
import type { Usage } from "@colloquy/core"
import type { ChatDriver, ChatEvent, ChatMessage, ChatRequest, ContentPart } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import type { ApiKey } from "./ApiKey.ts"
import { newCallId } from "./CallId.ts"
import type { Fault } from "./Fault.ts"
import {
  type AnswerMessage,
  areArguments,
  type FilePart,
  noteForUnreadableFile,
  replayedFields,
  systemWithJson,
  textOfFile,
  fileUrl
} from "./Lowering.ts"
import { type ChatDialect, lowerSampling } from "./OpenAiDialect.ts"
import { toFault } from "./OpenAiErrors.ts"
import { makeTagSplitter, type TagSplitter } from "./ThinkTags.ts"
import { countNameless, type NamelessPieces } from "./NamelessPieces.ts"
import { openAiFormat } from "./OutputForms.ts"
import type { TextChunk } from "./RepeatedChunk.ts"
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

export interface OpenAiChatSettings extends TransportSettings {
  /** The address including the version; `/chat/completions` is appended. */
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  readonly dialect: ChatDialect
  /** How many pieces of tool calls without a name one answer may have. Default: 1024. */
  readonly maxNamelessPieces?: number
}

// ------ request

type WirePart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "video_url"; readonly video_url: { readonly url: string } }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: string } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } }

interface WireCall {
  readonly id: string
  readonly type: "function"
  readonly function: { readonly name: string; readonly arguments: string }
}

type WireMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | ReadonlyArray<WirePart> }
  | { readonly role: "assistant"; readonly content: string | null; readonly tool_calls?: ReadonlyArray<WireCall> }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }

/** The body of the request. Its fields have a fixed order and do not depend on time, so equal requests have equal bytes (for the cache). */
export interface WireRequest {
  readonly model: string
  readonly messages: ReadonlyArray<WireMessage>
  readonly stream: true
}

// ------ lowering

export const lower = (request: ChatRequest, dialect: ChatDialect): WireRequest => ({
  model: request.model,
  ...lowerTools(request, dialect),
  messages: [...lowerSystem(request), ...request.messages.map((message) => lowerMessage(message, request, dialect))],
  stream: true,
  ...(dialect.asksForUsage ? { stream_options: { include_usage: true } } : {}),
  ...(request.maxOutputTokens === null ? {} : { [dialect.maxTokensField]: request.maxOutputTokens }),
  ...lowerSampling(request, dialect.sampling),
  ...lowerFormat(request, dialect),
  ...(dialect.conversationField === null ? {} : { [dialect.conversationField]: request.conversationId }),
  ...dialect.thinking(request),
  ...dialect.extra(request)
})

const lowerFormat = ({ info, jsonOutput, output }: ChatRequest, { jsonMode, jsonSchema }: ChatDialect): WireRecord => {
  const { supportsOutputSchema: listed } = info
  if (output !== undefined && listed !== false && (jsonSchema === true || (jsonSchema === "listed" && listed === true)))
    return { response_format: { type: "json_schema", json_schema: openAiFormat(output) } }
  return jsonOutput && jsonMode && info.supportsJsonOutput !== false ? { response_format: { type: "json_object" } } : {}
}

const lowerTools = (request: ChatRequest, { sampling }: ChatDialect): WireRecord =>
  request.tools.length === 0
    ? {}
    : {
        tools: request.tools.map((tool) => ({
          type: "function",
          function: {
            name: tool.name,
            ...(tool.description === null ? {} : { description: tool.description }),
            parameters: tool.parameters ?? { type: "object", properties: {} },
            ...(tool.strict === undefined ? {} : { strict: tool.strict })
          }
        })),
        ...lowerChoice(request.toolChoice, sampling.forcedTools)
      }

const lowerChoice = (choice: ChatRequest["toolChoice"], mayForce: boolean): WireRecord => {
  if (choice === "auto" || (choice !== "none" && !mayForce)) return {}
  return { tool_choice: typeof choice === "object" ? { type: "function", function: choice } : choice }
}

const lowerSystem = (request: ChatRequest): ReadonlyArray<WireMessage> => {
  const content = systemWithJson(request)
  return content === null ? [] : [{ role: "system", content }]
}

const lowerMessage = (message: ChatMessage, request: ChatRequest, dialect: ChatDialect): WireMessage => {
  switch (message.role) {
    case "user":
      return { role: "user", content: lowerContent(message.content, request, dialect) }
    case "assistant":
      return lowerAnswer(message, request)
    case "tool":
      return { role: "tool", tool_call_id: message.toolCallId, content: message.output }
  }
}

/** Content that is only text is sent as a string, because some servers do not accept a list of parts. */
const lowerContent = (content: ReadonlyArray<ContentPart>, request: ChatRequest, dialect: ChatDialect) => {
  const [first] = content
  if (first?.type === "text" && content.length === 1) return first.text
  const parts = content.map((part) => lowerPart(part, request, dialect))
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
  return texts.length === parts.length ? texts.join("\n\n") : parts
}

const lowerPart = (part: ContentPart, request: ChatRequest, dialect: ChatDialect): WirePart => {
  if (part.type === "text") return part
  return lowerFile(part, request, dialect) ?? { type: "text", text: noteForUnreadableFile(part) }
}

/** Undefined when the model or the protocol does not accept the file. If a model's capability is unknown, the file is sent. */
const lowerFile = (part: FilePart, { info }: ChatRequest, dialect: ChatDialect): WirePart | undefined => {
  const { source } = part
  const has = (kind: ChatDialect["parts"][number], supported: boolean | null) =>
    dialect.parts.includes(kind) && supported !== false
  if (part.type === "image" && has("image", info.supportsVision))
    return { type: "image_url", image_url: { url: fileUrl(part) } }
  if (part.type === "video" && has("video", info.supportsVideoInput))
    return { type: "video_url", video_url: { url: fileUrl(part) } }
  if (part.type === "audio" && has("audio", info.supportsAudioInput) && "bytes" in source)
    return lowerAudio(part, source.bytes, dialect)
  if (part.type !== "file") return undefined
  const written = textOfFile(part)
  if (written !== undefined) return { type: "text", text: written }
  if (
    part.mediaType !== "application/pdf" ||
    !has("pdf", info.supportsPdfInput) ||
    ("url" in source && !dialect.fileUrls)
  )
    return undefined
  return { type: "file", file: { filename: part.filename ?? "document.pdf", file_data: fileUrl(part) } }
}

const lowerAudio = (part: FilePart, bytes: Uint8Array, dialect: ChatDialect): WirePart | undefined => {
  const subtype = part.mediaType.split(/[/;]/)[1] ?? ""
  const format = lookUp(audioFormats, subtype) ?? subtype
  return dialect.audioFormats.includes(format)
    ? { type: "input_audio", input_audio: { data: base64(bytes), format } }
    : undefined
}

/** Media subtypes that have another name in this protocol. */
const audioFormats: { readonly [subtype: string]: string } = {
  "x-wav": "wav",
  "vnd.wave": "wav",
  wave: "wav",
  mpeg: "mp3",
  mp4: "m4a",
  "x-m4a": "m4a",
  "x-aiff": "aiff",
  "x-flac": "flac",
  pcm: "pcm16"
}

const lowerAnswer = (answer: AnswerMessage, request: ChatRequest): WireMessage => {
  if (answer.toolCalls.length === 0 && answer.providerData === null)
    return { role: "assistant", content: answer.content }
  const replay = replayedFields(answer, request)
  const keptByCall = record(replay.calls)
  const calls = answer.toolCalls.map((call): WireCall => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: areArguments(call.arguments) ? call.arguments : "{}" },
    ...record(lookUp(keptByCall, call.id))
  }))
  return {
    role: "assistant",
    content: answer.content === "" && calls.length > 0 ? null : answer.content,
    ...record(replay.message),
    ...(calls.length === 0 ? {} : { tool_calls: calls })
  }
}

// ------ stream step

/** The state of reading one answer. */
export interface AnswerState {
  readonly dialect: ChatDialect
  readonly showsReasoning: boolean
  /** Creates an id for a call that has none. */
  readonly newId: () => string
  readonly splitter: TagSplitter | null
  readonly calls: Array<OpenCall>
  /** The newest call of each index, and of each id that the server sent. */
  readonly byIndex: Map<number, OpenCall>
  readonly byId: Map<string, OpenCall>
  readonly nameless: NamelessPieces
  /** Fields of the answer that the server wants back. */
  readonly replayed: { [field: string]: Schema.Json }
  readonly details: Array<{ [field: string]: Schema.Json }>
  /** The newest entry of `details` for each index and type. */
  readonly openDetails: Map<string, { [field: string]: Schema.Json }>
  finish: string | null
  refused: boolean
  model: string | null
  usage: Usage | null
}

interface OpenCall {
  readonly wireId: string | undefined
  readonly id: string
  name: string | undefined
  arguments: string
  /** Whether the first piece of its arguments was all of them. Known of calls without an id alone. */
  isWhole: boolean
  /** Data of the provider that must be sent back with this call: its signature. */
  extra: Schema.Json | undefined
}

export const start = (
  request: ChatRequest,
  dialect: ChatDialect,
  newId: () => string,
  maxNameless?: number
): AnswerState => ({
  dialect,
  showsReasoning: request.thinking?.excludeReasoning !== true,
  newId,
  splitter: dialect.thinkTags ? makeTagSplitter() : null,
  calls: [],
  byIndex: new Map(),
  byId: new Map(),
  nameless: countNameless(maxNameless),
  replayed: {},
  details: [],
  openDetails: new Map(),
  finish: null,
  refused: false,
  model: null,
  usage: null
})

// A long answer has thousands of chunks that contain only a piece of text. So each optional field is tested before it is read.

export const step = (state: AnswerState, chunk: unknown, events: Array<ChatEvent>): Fault | undefined => {
  if (!isRecord(chunk)) return undefined
  const choice = record(list(chunk.choices)[0])
  // Groq puts the usage and errors into a field of its own.
  const groq = chunk.x_groq === undefined ? chunk : record(chunk.x_groq)
  const error = chunk.error ?? choice.error ?? groq.error
  if (error !== undefined && error !== null) return toFault(null, { error })
  const usage = chunk.usage ?? groq.usage
  if (usage !== undefined) state.usage = readUsage(usage) ?? state.usage
  state.model = text(chunk.model) ?? state.model
  const broken = readDelta(state, record(choice.delta ?? choice.message), events)
  if (broken !== undefined) return broken
  if (choice.finish_reason !== null) state.finish = text(choice.finish_reason) ?? state.finish
  return state.finish === "error" ? { reason: "unknown", code: "error" } : undefined
}

/**
 * No other field of the delta may have a value, because these values are appended (reasoning, pieces of a tool call). The values of the chunk's
 * other fields only replace earlier ones.
 */
export const toTextChunk = (state: AnswerState, chunk: unknown): TextChunk | null => {
  const { content, role: _, ...others } = record(record(list(record(chunk).choices)[0]).delta)
  if (typeof content !== "string" || !Object.values(others).every(isEmpty)) return null
  return { text: content, apply: (said, events) => say(state, said, events) }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)

const readDelta = (state: AnswerState, delta: WireRecord, events: Array<ChatEvent>): Fault | undefined => {
  if (delta.reasoning_content !== undefined || delta.reasoning !== undefined)
    think(state, text(delta.reasoning_content) ?? text(delta.reasoning), events)
  for (const field of state.dialect.replayed) keepForReplay(state, field, delta[field])
  if (typeof delta.content === "string") say(state, delta.content, events)
  else readParts(state, list(delta.content), events)
  if (delta.refusal !== undefined) refuse(state, text(delta.refusal), events)
  if (delta.tool_calls !== undefined)
    for (const piece of list(delta.tool_calls)) {
      const broken = readCall(state, record(piece), events)
      if (broken !== undefined) return broken
    }
  if (delta.images !== undefined)
    for (const image of list(delta.images)) readImage(record(record(image).image_url).url, events)
  if (delta.annotations !== undefined)
    for (const note of list(delta.annotations)) readCitation(record(record(note).url_citation), events)
  return undefined
}

const readParts = (state: AnswerState, content: ReadonlyArray<unknown>, events: Array<ChatEvent>): void => {
  for (const part of content.map(record)) {
    if (part.type !== "thinking") say(state, string(part.text) ?? "", events)
    else for (const thought of list(part.thinking)) think(state, text(record(thought).text), events)
  }
}

const refuse = (state: AnswerState, refusal: string | undefined, events: Array<ChatEvent>): void => {
  if (refusal === undefined) return
  state.refused = true
  events.push({ _tag: "TextDelta", text: refusal })
}

const say = (state: AnswerState, said: string, events: Array<ChatEvent>): void => {
  if (said === "") return
  if (state.splitter === null) return void events.push({ _tag: "TextDelta", text: said })
  const split: Array<ChatEvent> = []
  state.splitter.feed(said, split)
  events.push(...split.filter((event) => state.showsReasoning || event._tag !== "ReasoningDelta"))
}

const think = (state: AnswerState, thought: string | undefined, events: Array<ChatEvent>): void => {
  if (thought !== undefined && state.showsReasoning) events.push({ _tag: "ReasoningDelta", text: thought })
}

const readImage = (url: unknown, events: Array<ChatEvent>): void => {
  const found = /^data:([\w.+/-]+);base64,/.exec(string(url) ?? "")
  if (found?.[1] === undefined) return
  events.push({ _tag: "Media", mediaType: found[1], bytes: fromBase64((string(url) ?? "").slice(found[0].length)) })
}

const readCitation = (citation: WireRecord, events: Array<ChatEvent>): void => {
  const url = text(citation.url)
  if (url !== undefined) events.push({ _tag: "Source", url, title: text(citation.title) ?? null })
}

export const readUsage = (usage: unknown): Usage | null => {
  if (!isRecord(usage) || finite(usage.prompt_tokens) === undefined) return null
  const input = record(usage.prompt_tokens_details)
  const [inputTokens, completionTokens] = [count(usage.prompt_tokens), count(usage.completion_tokens)]
  const reasoningTokens = count(record(usage.completion_tokens_details).reasoning_tokens)
  // xAI counts the tokens of reasoning beside those of the completion. Its total shows it.
  const isBeside = count(usage.total_tokens) === inputTokens + completionTokens + reasoningTokens
  return {
    inputTokens,
    outputTokens: isBeside ? completionTokens + reasoningTokens : completionTokens,
    cachedInputTokens: count(input.cached_tokens ?? usage.prompt_cache_hit_tokens),
    cacheWriteTokens: count(input.cache_write_tokens),
    reasoningTokens,
    costUsd: finite(usage.cost) ?? null,
    estimated: false
  }
}

// A call arrives in pieces with the same index. Servers deviate in every respect: there is no index, no id, an id in every piece, one index
// or one id for several calls, the name after the first arguments, or the arguments as an object.

const readCall = (state: AnswerState, piece: WireRecord, events: Array<ChatEvent>): Fault | undefined => {
  const written = record(piece.function)
  const name = text(written.name)
  const more =
    typeof written.arguments === "object" && written.arguments !== null
      ? JSON.stringify(written.arguments)
      : text(written.arguments)
  const call = openCall(state, piece.index, { wireId: text(piece.id), name, more })
  const isNew = call.name === undefined && name !== undefined
  call.name ??= name
  if (call.arguments === "" && call.wireId === undefined) call.isWhole = more !== undefined && areArguments(more)
  call.arguments += more ?? ""
  if (isRecord(piece.extra_content)) call.extra = jsonRecord(piece.extra_content)
  if (isNew) events.push({ _tag: "ToolCallStart", id: call.id, name })
  const unsent = isNew ? call.arguments : more
  if (unsent && call.name !== undefined) events.push({ _tag: "ToolCallDelta", id: call.id, arguments: unsent })
  return call.name === undefined ? state.nameless.add() : undefined
}

interface CallPiece {
  readonly wireId: string | undefined
  readonly name: string | undefined
  readonly more: string | undefined
}

const openCall = (state: AnswerState, index: unknown, piece: CallPiece): OpenCall => {
  const { name, wireId } = piece
  const known =
    typeof index === "number"
      ? state.byIndex.get(index)
      : wireId === undefined && name === undefined
        ? state.calls.at(-1)
        : state.byId.get(wireId ?? "")
  if (known !== undefined && !isAnother(known, piece)) return known
  const call: OpenCall = {
    wireId,
    id: wireId === undefined || state.byId.has(wireId) ? state.newId() : wireId,
    name: undefined,
    arguments: "",
    isWhole: false,
    extra: undefined
  }
  state.calls.push(call)
  if (typeof index === "number") state.byIndex.set(index, call)
  if (wireId !== undefined) state.byId.set(wireId, call)
  return call
}

/** Whether a piece begins another call, although its index is that of a known one. Without ids, another name or a whole call tells it. */
const isAnother = (known: OpenCall, { more, name, wireId }: CallPiece): boolean => {
  if (name === undefined) return false
  if (known.wireId !== undefined || wireId !== undefined)
    return known.wireId !== undefined && wireId !== undefined && wireId !== known.wireId
  return known.name !== undefined && (name !== known.name || (known.isWhole && more !== undefined))
}

const keepForReplay = (state: AnswerState, field: ChatDialect["replayed"][number], value: unknown): void => {
  if (field === "reasoning_details") {
    for (const piece of list(value)) if (isRecord(piece)) joinDetail(state, piece)
  } else if (text(value) !== undefined) {
    state.replayed[field] = `${string(state.replayed[field]) ?? ""}${string(value)}`
  }
}

/** Pieces with the same index and type form one entry: texts are appended, other fields are replaced (a signature may come last). */
const joinDetail = ({ details, openDetails }: AnswerState, piece: WireRecord): void => {
  const key = JSON.stringify([piece.index, piece.type])
  const entry = typeof piece.index === "number" ? openDetails.get(key) : undefined
  if (entry === undefined) {
    const made = Object.fromEntries(Object.entries(jsonRecord(piece)))
    openDetails.set(key, made)
    return void details.push(made)
  }
  for (const [field, value] of Object.entries(jsonRecord(piece))) {
    const before = entry[field]
    const grows = field === "text" || field === "summary" || field === "data"
    if (grows && typeof before === "string" && typeof value === "string") entry[field] = before + value
    else if (value !== null) entry[field] = value
  }
}

export const end = (state: AnswerState, events: Array<ChatEvent>, marked: boolean): void => {
  if (!marked && state.finish === null) return
  state.splitter?.end(events)
  const isCut = state.finish === "length" || state.finish === "content_filter"
  const calls = state.calls.filter((call) => call.name !== undefined && (!isCut || areArguments(call.arguments)))
  for (const call of calls) {
    const { id, name = "" } = call
    events.push({
      _tag: "ToolCallReady",
      call: { id, name, arguments: call.arguments.trim() === "" ? "{}" : call.arguments }
    })
  }
  if (state.usage !== null) events.push({ _tag: "Usage", usage: state.usage })
  events.push({
    _tag: "Finished",
    reason: finishReason(state, calls),
    model: state.model,
    providerData: keptProviderData(state, calls)
  })
}

/** Some servers end an answer with tool calls by `stop`, so the calls themselves decide. */
const finishReason = (state: AnswerState, calls: ReadonlyArray<OpenCall>) => {
  if (state.finish === "content_filter" || state.refused) return "filtered"
  if (calls.length > 0) return "tool_calls"
  return state.finish === "length" ? "length" : "stop"
}

/** The data that `lowerAnswer` sends back with the message and its calls. Null without calls: reasoning continues only after tool calls. */
const keptProviderData = (state: AnswerState, calls: ReadonlyArray<OpenCall>): Schema.Json | null => {
  if (calls.length === 0) return null
  const details = state.details.length === 0 ? {} : { reasoning_details: state.details }
  const message = { ...state.replayed, ...details }
  const signed = calls.flatMap((call) =>
    call.extra === undefined ? [] : [[call.id, { extra_content: call.extra }] as const]
  )
  if (Object.keys(message).length === 0 && signed.length === 0) return null
  return { message, calls: Object.fromEntries(signed) }
}

// ------ driver

export const driver =
  (settings: OpenAiChatSettings): ChatDriver =>
  (request) => {
    const { dialect } = settings
    const stream: StreamDialect<AnswerState> = {
      requestIdHeader: dialect.requestIdHeader,
      fault: toFault,
      start: () => start(request, dialect, newCallId, settings.maxNamelessPieces),
      step,
      toTextChunk,
      end
    }
    return streamAnswer(
      () => ({
        provider: request.provider,
        model: request.model,
        url: `${settings.baseUrl}/chat/completions`,
        headers: { ...settings.headers },
        secrets: bearer(request.apiKey ?? settings.apiKey),
        body: JSON.stringify(lower(request, dialect))
      }),
      stream,
      settings
    )
  }
