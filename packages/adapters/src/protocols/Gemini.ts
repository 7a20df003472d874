/**
 * Google Gemini `generateContent`, streamed. `providers/Gemini` uses it.
 *
 * An answer is a list of parts, and a part may have a signature. A signed part is kept as `providerData` and is sent back as the same part,
 * neither joined nor split, as long as the conversation stays with the same model. Calls are kept there by their id. The vendor does not give
 * every call an id; an id that was created here is never sent to the vendor.
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
import { type Fault, machineCode } from "./Fault.ts"
import { errorDialect, toFault } from "./GeminiErrors.ts"
import {
  type AnswerMessage,
  readArguments,
  effortWord,
  type FilePart,
  hasWords,
  joinTurns,
  noteForMissingBeginning,
  noteForUnreadableFile,
  partsWithWords,
  replayedFields,
  systemWithJson,
  textOfFile,
  type WireTurn
} from "./Lowering.ts"
import { fitted, geminiSubset } from "./OutputForms.ts"
import { type Call, type StreamDialect, streamAnswer, type TransportSettings } from "./Transport.ts"
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

export interface GeminiSettings extends TransportSettings, GeminiDialect {
  /** The address including the version. */
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

export interface GeminiDialect {
  /** The form of the thinking parameters for a model whose `thinkingControls` are unknown. Older models need `budget`. */
  readonly thinkingStyle: "level" | "budget"
}

export const callSecrets = (key: ApiKey | null | undefined): Call["secrets"] =>
  key ? { "x-goog-api-key": hidden(key) } : {}

// ------ request

type WirePart =
  | { readonly text: string }
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } }
  /** The result of a function, or a part that is sent back exactly as the vendor sent it. */
  | WireRecord

/** The body of the request. Its fields have a fixed order and do not depend on time, so equal requests have equal bytes (for the cache). */
export interface WireRequest extends WireRecord {
  readonly contents: ReadonlyArray<{ readonly role: "user" | "model"; readonly parts: ReadonlyArray<WirePart> }>
}

// ------ lowering

export const lower = (request: ChatRequest, dialect: GeminiDialect): WireRequest => ({
  ...lowerTools(request),
  ...lowerSystem(request),
  ...lowerContents(request),
  ...lowerConfig(request, dialect)
})

const lowerTools = (request: ChatRequest): WireRecord => {
  const own = request.ownTools?.includes("web_search") === true ? [{ googleSearch: {} }] : []
  const functionDeclarations = request.tools.map((tool) => ({
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    ...(tool.parameters === null ? {} : { parametersJsonSchema: tool.parameters })
  }))
  if (functionDeclarations.length === 0) return own.length === 0 ? {} : { tools: own }
  return {
    tools: [{ functionDeclarations }, ...own],
    ...lowerChoice(request.toolChoice)
  }
}

const lowerChoice = (choice: ChatRequest["toolChoice"]): WireRecord => {
  if (choice === "auto") return {}
  const mode = choice === "none" ? "NONE" : "ANY"
  const names = typeof choice === "object" ? { allowedFunctionNames: [choice.name] } : {}
  return { toolConfig: { functionCallingConfig: { mode, ...names } } }
}

/** The vendor takes at most five stop texts, and has no setting for parallel calls. */
const lowerSampling = ({ sampling = {} }: ChatRequest): WireRecord => {
  const { seed, stop, temperature, topP } = sampling
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stop === undefined || stop.length > 5 ? {} : { stopSequences: stop }),
    ...(seed === undefined ? {} : { seed })
  }
}

const lowerSystem = (request: ChatRequest): WireRecord => {
  const system = systemWithJson(request)
  return system === null ? {} : { systemInstruction: { parts: [{ text: system }] } }
}

/** The `details` of a model that answers with images or audio name its response modalities. */
const lowerConfig = (request: ChatRequest, dialect: GeminiDialect): WireRecord => {
  // Many models refuse JSON mode together with functions. Then only the system prompt asks for JSON.
  const isJson = request.jsonOutput && request.tools.length === 0 && request.info.supportsJsonOutput !== false
  const form = responseSchema(request)
  const answersIn = list(request.info.details?.response_modalities)
  const config = {
    ...(request.maxOutputTokens === null ? {} : { maxOutputTokens: request.maxOutputTokens }),
    ...lowerSampling(request),
    ...(isJson || form !== null ? { responseMimeType: "application/json" } : {}),
    ...(form === null ? {} : { responseJsonSchema: form }),
    ...(answersIn.length === 0 ? {} : { responseModalities: answersIn }),
    ...lowerThinking(request, dialect)
  }
  return Object.keys(config).length === 0 ? {} : { generationConfig: config }
}

/** As with JSON mode, many models refuse a schema together with functions. */
const responseSchema = ({ info, output, tools }: ChatRequest): Schema.JsonObject | null =>
  output === undefined || tools.length > 0 || info.supportsOutputSchema === false
    ? null
    : fitted(output.schema, geminiSubset)

const lowerThinking = (request: ChatRequest, dialect: GeminiDialect): WireRecord => {
  const { thinking, info } = request
  if (thinking === null || info.supportsThinking === false) return {}
  const isBudget = (info.thinkingControls?.style ?? dialect.thinkingStyle) === "budget"
  const amount = isBudget ? lowerBudget(thinking, request) : lowerLevel(request)
  const isOff = thinking.budgetTokens === 0
  const config = isOff ? amount : { ...amount, includeThoughts: thinking.excludeReasoning !== true }
  return Object.keys(config).length === 0 ? {} : { thinkingConfig: config }
}

/** Thinking cannot be turned off for these models; `MINIMAL` is the lowest level. */
const lowerLevel = (request: ChatRequest): WireRecord => {
  const word = effortWord(request, { none: "minimal", max: "high" })
  return word === undefined ? {} : { thinkingLevel: (lookUp(levels, word) ?? word).toUpperCase() }
}

const levels: { readonly [word: string]: string } = { none: "minimal", xhigh: "high", max: "high" }

const lowerBudget = (thinking: Thinking, request: ChatRequest): WireRecord => {
  const controls = request.info.thinkingControls
  if (thinking.budgetTokens === 0) {
    const canStop = controls === null || controls.efforts.includes("none")
    return canStop ? { thinkingBudget: 0 } : {}
  }
  const tokens = controls?.budget === false ? undefined : (thinking.budgetTokens ?? thinking.maxTokens)
  return { thinkingBudget: tokens ?? (thinking.effort === undefined ? dynamicBudget : budgets[thinking.effort]) }
}

/** The model chooses the budget. */
const dynamicBudget = -1

/** Budgets that every model with thinking budgets accepts. */
const budgets = { low: 1024, medium: 8192, high: 24_576, max: 24_576 }

type Turn = WireTurn<"user" | "model" | "functions", WirePart>

/** The results of all calls of a turn are one content, directly after that turn. */
const lowerMessages = (messages: ChatRequest["messages"], request: ChatRequest): WireRequest["contents"] => {
  const idsOfWire = new Set(messages.flatMap((message) => wireCallIds(message, request)))
  const turns = joinTurns(messages.map((message) => lowerMessage(message, request, idsOfWire)))
  const opening: ReadonlyArray<Turn> =
    turns[0]?.role === "user" ? [] : [{ role: "user", parts: [{ text: noteForMissingBeginning }] }]
  return [...opening, ...turns].map(({ role, parts }) => ({ role: role === "model" ? "model" : "user", parts }))
}

/** If the last answer ended with a continuation token, the token is sent in place of that answer. */
const lowerContents = (request: ChatRequest): WireRequest => {
  const { messages } = request
  const last = messages.at(-1)
  const token = last?.role === "assistant" ? text(replayOfModel(last, request).continuationToken) : undefined
  if (token === undefined) return { contents: lowerMessages(messages, request) }
  const lastInput = messages.findLastIndex((message) => message.role !== "assistant")
  return { contents: lowerMessages(messages.slice(0, lastInput + 1), request), continuationToken: token }
}

const lowerMessage = (message: ChatMessage, request: ChatRequest, idsOfWire: ReadonlySet<string>): Turn => {
  switch (message.role) {
    case "user":
      return { role: "user", parts: partsWithWords(message.content).map((part) => lowerPart(part, request)) }
    case "assistant":
      return { role: "model", parts: lowerAnswer(message, request) }
    case "tool": {
      const { toolCallId, toolName, output } = message
      const id = idsOfWire.has(toolCallId) ? { id: toolCallId } : {}
      return { role: "functions", parts: [{ functionResponse: { ...id, name: toolName, response: { output } } }] }
    }
  }
}

const lowerPart = (part: ContentPart, request: ChatRequest): WirePart =>
  part.type === "text"
    ? { text: part.text }
    : (lowerFile(part, request) ?? { text: textOfFile(part) ?? noteForUnreadableFile(part) })

/** Undefined when the model or the protocol does not accept the file. If a model's capability is unknown, the file is sent. */
const lowerFile = (part: FilePart, { info }: ChatRequest): WirePart | undefined => {
  const { mediaType, source } = part
  const isTaken = {
    image: info.supportsVision !== false && !unreadPictures.includes(mediaType),
    audio: info.supportsAudioInput !== false,
    video: info.supportsVideoInput !== false,
    file: mediaType === "application/pdf" && info.supportsPdfInput !== false
  }
  if (!isTaken[part.type]) return undefined
  return "url" in source
    ? { fileData: { mimeType: mediaType, fileUri: source.url } }
    : { inlineData: { mimeType: mediaType, data: base64(source.bytes) } }
}

/** The vendor refuses a request that contains such a picture. */
const unreadPictures = ["image/gif", "image/bmp", "image/tiff"]

/** Calls without a kept part follow the kept parts. */
const lowerAnswer = (answer: AnswerMessage, request: ChatRequest): ReadonlyArray<WirePart> => {
  const kept = keptParts(answer, request)
  const calls = new Map(answer.toolCalls.map((call) => [call.id, call]))
  const spoken = hasWords(answer.content) ? [{ text: answer.content }] : []
  const placed: Array<WirePart> = kept.length === 0 ? [...spoken] : []
  for (const part of kept) {
    const call = calls.get(string(part.callId) ?? "")
    if (call !== undefined) placed.push(lowerCall(call, part))
    else if (part.callId === undefined) placed.push(part)
    if (call !== undefined) calls.delete(call.id)
  }
  return [...placed, ...[...calls.values()].map((call) => lowerCall(call, {}))]
}

const lowerCall = (call: ToolCall, kept: WireRecord): WirePart => ({
  functionCall: {
    ...(kept.isOfWire === true ? { id: call.id } : {}),
    name: call.name,
    args: readArguments(call.arguments)
  },
  ...(kept.thoughtSignature === undefined ? {} : { thoughtSignature: kept.thoughtSignature })
})

/** The kept data of an answer of the same model. Another model would refuse its signatures. */
const replayOfModel = (answer: AnswerMessage, request: ChatRequest): WireRecord => {
  const replay = replayedFields(answer, request)
  return replay.model === request.model ? replay : {}
}

const keptParts = (answer: AnswerMessage, request: ChatRequest): ReadonlyArray<WireRecord> =>
  list(replayOfModel(answer, request).parts).filter(isRecord)

const wireCallIds = (message: ChatMessage, request: ChatRequest): ReadonlyArray<string> =>
  message.role === "assistant"
    ? keptParts(message, request).flatMap((part) => (part.isOfWire === true ? [string(part.callId) ?? ""] : []))
    : []

// ------ stream step

/** The state of reading one answer. */
export interface AnswerState {
  readonly request: ChatRequest
  /** Creates an id for a call that has none, or that has the id of an earlier call. */
  readonly newId: () => string
  readonly calls: Map<string, ToolCall>
  /** The parts that are sent back with the answer, in order. */
  readonly kept: Array<KeptPart>
  readonly sources: Set<string>
  finish: string | null
  continuationToken: string | null
  model: string | null
  usage: Usage | null
}

/** A text with or without a signature, the id of a call, or another part with a signature. */
type KeptPart = Schema.JsonObject

export const start = (request: ChatRequest, newId: () => string): AnswerState => ({
  request,
  newId,
  calls: new Map(),
  kept: [],
  sources: new Set(),
  finish: null,
  continuationToken: null,
  model: null,
  usage: null
})

export const step = (state: AnswerState, chunk: unknown, events: Array<ChatEvent>): Fault | undefined => {
  // A gateway without server-sent events sends all chunks as one array.
  if (Array.isArray(chunk)) return stepAll(state, chunk, events)
  const piece = record(chunk)
  if (isRecord(piece.error)) return toFault(null, piece)
  state.model = text(piece.modelVersion) ?? state.model
  state.usage = readUsage(piece.usageMetadata) ?? state.usage
  const blocked = text(record(piece.promptFeedback).blockReason)
  if (blocked !== undefined) return { reason: "refused", ...machineCode(blocked) }
  const candidate = record(list(piece.candidates)[0])
  for (const part of list(record(candidate.content).parts)) readPart(state, record(part), events)
  for (const source of list(record(candidate.groundingMetadata).groundingChunks))
    cite(state, record(source).web, events)
  state.continuationToken = text(candidate.continuationToken) ?? state.continuationToken
  state.finish = text(candidate.finishReason) ?? state.finish
  return state.finish === null ? undefined : lookUp(failures, state.finish)
}

const stepAll = (state: AnswerState, chunks: ReadonlyArray<unknown>, events: Array<ChatEvent>): Fault | undefined => {
  for (const chunk of chunks) {
    const fault = Array.isArray(chunk) ? undefined : step(state, chunk, events)
    if (fault !== undefined) return fault
  }
  return undefined
}

const readPart = (state: AnswerState, part: WireRecord, events: Array<ChatEvent>): void => {
  if (isRecord(part.functionCall)) return readCall(state, part.functionCall, signatureField(part), events)
  if (isRecord(part.inlineData)) return part.thought === true ? undefined : readMedia(part.inlineData, events)
  const said = string(part.text)
  if (said === undefined) return keepSigned(state, part)
  if (said !== "" && part.thought !== true) events.push({ _tag: "TextDelta", text: said })
  if (said !== "" && part.thought === true && state.request.thinking?.excludeReasoning !== true) {
    events.push({ _tag: "ReasoningDelta", text: said })
  }
  keepText(state, said, part.thought === true, signatureField(part))
}

const signatureField = (part: WireRecord): { readonly thoughtSignature?: string } => {
  const signature = text(part.thoughtSignature)
  return signature === undefined ? {} : { thoughtSignature: signature }
}

/** Joins texts without a signature. Reasoning without a signature is dropped, because the vendor never needs it back. */
const keepText = (
  state: AnswerState,
  said: string,
  isThought: boolean,
  signature: ReturnType<typeof signatureField>
): void => {
  const isSigned = signature.thoughtSignature !== undefined
  if (isSigned) return void state.kept.push({ text: said, ...(isThought ? { thought: true } : {}), ...signature })
  if (isThought || said === "") return
  const last = state.kept.at(-1)
  const isJoined = last !== undefined && isPlainText(last)
  if (isJoined) state.kept.pop()
  state.kept.push({ text: isJoined ? `${string(last.text)}${said}` : said })
}

const isPlainText = (part: KeptPart): boolean => typeof part.text === "string" && part.thoughtSignature === undefined

const keepSigned = (state: AnswerState, part: WireRecord): void => {
  if (text(part.thoughtSignature) !== undefined) state.kept.push(jsonRecord(part))
}

/** A call arrives as a whole, never in pieces. */
const readCall = (
  state: AnswerState,
  written: WireRecord,
  signature: ReturnType<typeof signatureField>,
  events: Array<ChatEvent>
): void => {
  const name = text(written.name)
  if (name === undefined) return
  const wireId = text(written.id)
  const isOfWire = wireId !== undefined && !state.calls.has(wireId)
  const id = isOfWire ? wireId : state.newId()
  const args = isRecord(written.args) ? JSON.stringify(written.args) : "{}"
  state.calls.set(id, { id, name, arguments: args })
  state.kept.push({ callId: id, isOfWire, ...signature })
  events.push({ _tag: "ToolCallStart", id, name })
  events.push({ _tag: "ToolCallDelta", id, arguments: args })
}

const readMedia = ({ mimeType, data }: WireRecord, events: Array<ChatEvent>): void => {
  const encoded = text(data)
  if (encoded === undefined) return
  events.push({ _tag: "Media", mediaType: text(mimeType) ?? "application/octet-stream", bytes: fromBase64(encoded) })
}

const cite = (state: AnswerState, web: unknown, events: Array<ChatEvent>): void => {
  const url = text(record(web).uri)
  if (url === undefined || state.sources.has(url)) return
  state.sources.add(url)
  events.push({ _tag: "Source", url, title: text(record(web).title) ?? null })
}

/** Chunks have the usage so far, or none at all; the last one counts. The vendor's count of output tokens does not include those of reasoning. */
export const readUsage = (usage: unknown): Usage | null => {
  if (!isRecord(usage) || finite(usage.promptTokenCount) === undefined) return null
  const reasoningTokens = count(usage.thoughtsTokenCount)
  return {
    inputTokens: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    outputTokens: count(usage.candidatesTokenCount) + reasoningTokens,
    cachedInputTokens: count(usage.cachedContentTokenCount),
    cacheWriteTokens: 0,
    reasoningTokens,
    costUsd: null,
    estimated: false
  }
}

/** The protocol has no end mark: an answer is complete when it has a finish reason. */
export const end = (state: AnswerState, events: Array<ChatEvent>): void => {
  if (state.finish === null) return
  const wireReason = lookUp(finishReasons, state.finish) ?? "stop"
  const calls = wireReason === "filtered" ? [] : [...state.calls.values()]
  for (const call of calls) events.push({ _tag: "ToolCallReady", call })
  if (state.usage !== null) events.push({ _tag: "Usage", usage: state.usage })
  const reason = calls.length > 0 ? "tool_calls" : wireReason
  events.push({ _tag: "Finished", reason, model: state.model, providerData: keptProviderData(state, reason) })
}

const finishReasons: { readonly [word: string]: FinishReason } = {
  MAX_TOKENS: "length",
  SAFETY: "filtered",
  RECITATION: "filtered",
  BLOCKLIST: "filtered",
  PROHIBITED_CONTENT: "filtered",
  SPII: "filtered",
  IMAGE_SAFETY: "filtered",
  IMAGE_PROHIBITED_CONTENT: "filtered",
  IMAGE_RECITATION: "filtered",
  CONTINUATION: "continue"
}

/** Finish reasons that are failures. */
const failures: { readonly [word: string]: Fault } = {
  LANGUAGE: { reason: "unknown", code: "LANGUAGE" },
  OTHER: { reason: "unknown", code: "OTHER" },
  MALFORMED_FUNCTION_CALL: { reason: "malformed", code: "MALFORMED_FUNCTION_CALL" },
  UNEXPECTED_TOOL_CALL: { reason: "malformed", code: "UNEXPECTED_TOOL_CALL" },
  MALFORMED_RESPONSE: { reason: "malformed", code: "MALFORMED_RESPONSE" },
  TOO_MANY_TOOL_CALLS: { reason: "unknown", code: "TOO_MANY_TOOL_CALLS" },
  NO_IMAGE: { reason: "unknown", code: "NO_IMAGE" },
  IMAGE_OTHER: { reason: "unknown", code: "IMAGE_OTHER" }
}

/** The data that `lowerAnswer` and `lowerContents` send back. Null when the message itself contains everything. */
const keptProviderData = (state: AnswerState, reason: FinishReason): Schema.Json | null => {
  const { continuationToken, request } = state
  const parts = state.kept.filter((part) => reason === "tool_calls" || part.callId === undefined)
  const token = reason === "continue" && continuationToken !== null ? { continuationToken } : {}
  return parts.every(isPlainText) && reason !== "continue" ? null : { model: request.model, parts, ...token }
}

// ------ driver

export const driver =
  (settings: GeminiSettings): ChatDriver =>
  (request) => {
    const stream: StreamDialect<AnswerState> = {
      ...errorDialect,
      start: () => start(request, newCallId),
      step,
      end
    }
    return streamAnswer(
      () => ({
        provider: request.provider,
        model: request.model,
        url: `${settings.baseUrl}/${modelResource(request.model)}:streamGenerateContent?alt=sse`,
        headers: { ...settings.headers },
        secrets: callSecrets(request.apiKey ?? settings.apiKey),
        body: JSON.stringify(lower(request, settings))
      }),
      stream,
      settings
    )
  }

/** The path of a model. Its name may or may not contain the folder (`models/` or `tunedModels/`). */
export const modelResource = (model: string): string => {
  const [folder, name] = /^(models|tunedModels)\/(.+)$/.exec(model)?.slice(1) ?? ["models", model]
  return `${folder}/${encodeURIComponent(name ?? "")}`
}
