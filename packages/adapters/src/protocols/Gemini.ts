/**
 * Google Gemini `generateContent`, streamed. `providers/Gemini` uses it.
 *
 * An answer is a list of parts, and a part may be signed. What is signed is kept as `providerData` and goes back as the same part, neither
 * joined nor cut, as long as the same model is asked. Calls stand there by their id, which the vendor did not always give: one that was
 * made up here never goes to it.
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
import { type Fault, machineCode } from "./Fault.ts"
import { errorDialect, faultOf } from "./GeminiErrors.ts"
import {
  type AnswerMessage,
  argumentsOf,
  effortWord,
  type FilePart,
  hasWords,
  joinTurns,
  noteOfBeginning,
  noteOfMissing,
  noteOfSilence,
  replayOf,
  systemWithJson,
  textOfFile,
  type WireTurn
} from "./Lowering.ts"
import { type Call, type StreamDialect, streamAnswer, type TransportSettings } from "./Transport.ts"
import {
  base64,
  count,
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
  /** Up to and with the version. */
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

export interface GeminiDialect {
  /** Parameters for thinking of a model whose `thinkingControls` are not known: `budget` for the older ones. */
  readonly thinkingStyle: "level" | "budget"
}

export const secretsOf = (key: ApiKey | null | undefined): Call["secrets"] =>
  key ? { "x-goog-api-key": hidden(key) } : {}

// ------ request

type WirePart =
  | { readonly text: string }
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } }
  /** An answer of a function, or a part of the model's own as it came. */
  | WireRecord

/** The body of the request. Its order is fixed, and nothing in it depends on time: equal requests have equal bytes. */
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
    ...(request.toolChoice === "none" ? { toolConfig: { functionCallingConfig: { mode: "NONE" } } } : {})
  }
}

const lowerSystem = (request: ChatRequest): WireRecord => {
  const system = systemWithJson(request)
  return system === null ? {} : { systemInstruction: { parts: [{ text: system }] } }
}

/** A model that answers in images or sound has the words for it in its `details`. */
const lowerConfig = (request: ChatRequest, dialect: GeminiDialect): WireRecord => {
  // Many models refuse JSON mode beside functions: the prompt alone asks then.
  const isJson = request.jsonOutput && request.tools.length === 0 && request.info.supportsJsonOutput !== false
  const answersIn = list(request.info.details?.response_modalities)
  const config = {
    ...(request.maxOutputTokens === null ? {} : { maxOutputTokens: request.maxOutputTokens }),
    ...(isJson ? { responseMimeType: "application/json" } : {}),
    ...(answersIn.length === 0 ? {} : { responseModalities: answersIn }),
    ...lowerThinking(request, dialect)
  }
  return Object.keys(config).length === 0 ? {} : { generationConfig: config }
}

const lowerThinking = (request: ChatRequest, dialect: GeminiDialect): WireRecord => {
  const { thinking, info } = request
  if (thinking === null || info.supportsThinking === false) return {}
  const isBudget = (info.thinkingControls?.style ?? dialect.thinkingStyle) === "budget"
  const amount = isBudget ? lowerBudget(thinking, request) : lowerLevel(request)
  const isOff = thinking.budgetTokens === 0
  const config = isOff ? amount : { ...amount, includeThoughts: thinking.excludeReasoning !== true }
  return Object.keys(config).length === 0 ? {} : { thinkingConfig: config }
}

/** These models cannot be told not to think: `MINIMAL` is the least. */
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

/** The model decides. */
const dynamicBudget = -1

/** Within what every model of this kind takes. */
const budgets = { low: 1024, medium: 8192, high: 24_576, max: 24_576 }

type Turn = WireTurn<"user" | "model" | "functions", WirePart>

/** All answers to the calls of one turn come in one content of their own, right after it. */
const lowerMessages = (messages: ChatRequest["messages"], request: ChatRequest): WireRequest["contents"] => {
  const idsOfWire = new Set(messages.flatMap((message) => wireIdsOf(message, request)))
  const turns = joinTurns(messages.map((message) => lowerMessage(message, request, idsOfWire)))
  const opening: ReadonlyArray<Turn> =
    turns[0]?.role === "user" ? [] : [{ role: "user", parts: [{ text: noteOfBeginning }] }]
  return [...opening, ...turns].map(({ role, parts }) => ({ role: role === "model" ? "model" : "user", parts }))
}

/** An answer that was interrupted with a token goes on for the token alone: what it said so far is not sent. */
const lowerContents = (request: ChatRequest): WireRequest => {
  const { messages } = request
  const last = messages.at(-1)
  const token = last?.role === "assistant" ? text(replayOfModel(last, request).continuationToken) : undefined
  if (token === undefined) return { contents: lowerMessages(messages, request) }
  const said = messages.findLastIndex((message) => message.role !== "assistant")
  return { contents: lowerMessages(messages.slice(0, said + 1), request), continuationToken: token }
}

const lowerMessage = (message: ChatMessage, request: ChatRequest, idsOfWire: ReadonlySet<string>): Turn => {
  switch (message.role) {
    case "user": {
      const parts = message.content.flatMap((part) => lowerPart(part, request))
      return { role: "user", parts: parts.length === 0 ? [{ text: noteOfSilence }] : parts }
    }
    case "assistant":
      return { role: "model", parts: lowerAnswer(message, request) }
    case "tool": {
      const { toolCallId, toolName, output } = message
      const id = idsOfWire.has(toolCallId) ? { id: toolCallId } : {}
      return { role: "functions", parts: [{ functionResponse: { ...id, name: toolName, response: { output } } }] }
    }
  }
}

const lowerPart = (part: ContentPart, request: ChatRequest): ReadonlyArray<WirePart> => {
  if (part.type === "text") return hasWords(part.text) ? [{ text: part.text }] : []
  return [lowerFile(part, request) ?? { text: textOfFile(part) ?? noteOfMissing(part) }]
}

/** Undefined when the model or the wire does not take it. A capability that is not known is tried. */
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

/** They would refuse the whole request. */
const unreadPictures = ["image/gif", "image/bmp", "image/tiff"]

/** A call that is not among the kept parts comes after them. */
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
    args: argumentsOf(call.arguments)
  },
  ...(kept.thoughtSignature === undefined ? {} : { thoughtSignature: kept.thoughtSignature })
})

/** Signatures of one model mean nothing to another. */
const replayOfModel = (answer: AnswerMessage, request: ChatRequest): WireRecord => {
  const replay = replayOf(answer, request)
  return replay.model === request.model ? replay : {}
}

const keptParts = (answer: AnswerMessage, request: ChatRequest): ReadonlyArray<WireRecord> =>
  list(replayOfModel(answer, request).parts).filter(isRecord)

const wireIdsOf = (message: ChatMessage, request: ChatRequest): ReadonlyArray<string> =>
  message.role === "assistant"
    ? keptParts(message, request).flatMap((part) => (part.isOfWire === true ? [string(part.callId) ?? ""] : []))
    : []

// ------ stream step

/** The state of one answer. */
export interface AnswerState {
  readonly request: ChatRequest
  /** Makes up an id for a call that came without one, or with one that is taken. */
  readonly newId: () => string
  readonly calls: Map<string, ToolCall>
  /** What goes back with the answer, in its order. */
  readonly kept: Array<KeptPart>
  readonly sources: Set<string>
  finish: string | null
  continuationToken: string | null
  model: string | null
  usage: Usage | null
}

/** A text, signed or not; the id of a call; or another part that is signed. */
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
  // Without server-sent events the chunks come as one array.
  if (Array.isArray(chunk)) return stepAll(state, chunk, events)
  const piece = record(chunk)
  if (isRecord(piece.error)) return faultOf(null, piece)
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
  if (isRecord(part.functionCall)) return readCall(state, part.functionCall, signatureOf(part), events)
  if (isRecord(part.inlineData)) return part.thought === true ? undefined : readMedia(part.inlineData, events)
  const said = string(part.text)
  if (said === undefined) return keepSigned(state, part)
  if (said !== "" && part.thought !== true) events.push({ _tag: "TextDelta", text: said })
  if (said !== "" && part.thought === true && state.request.thinking?.excludeReasoning !== true) {
    events.push({ _tag: "ReasoningDelta", text: said })
  }
  keepText(state, said, part.thought === true, signatureOf(part))
}

const signatureOf = (part: WireRecord): { readonly thoughtSignature?: string } => {
  const signature = text(part.thoughtSignature)
  return signature === undefined ? {} : { thoughtSignature: signature }
}

/** Only texts without a signature are joined. A thought without one is never asked for again. */
const keepText = (
  state: AnswerState,
  said: string,
  isThought: boolean,
  signature: ReturnType<typeof signatureOf>
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

/** A call comes whole. */
const readCall = (
  state: AnswerState,
  written: WireRecord,
  signature: ReturnType<typeof signatureOf>,
  events: Array<ChatEvent>
): void => {
  const name = text(written.name)
  if (name === undefined) return
  const told = text(written.id)
  const isOfWire = told !== undefined && !state.calls.has(told)
  const id = isOfWire ? told : state.newId()
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

/** The tokens of an answer are counted without those of its thoughts. Comes with every chunk; the last one counts. */
export const readUsage = (usage: unknown): Usage | null => {
  if (!isRecord(usage)) return null
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

/** There is no end mark: an answer is complete when it told why it ended. */
export const end = (state: AnswerState, events: Array<ChatEvent>): void => {
  if (state.finish === null) return
  const told = lookUp(finishReasons, state.finish) ?? "stop"
  const calls = told === "filtered" ? [] : [...state.calls.values()]
  for (const call of calls) events.push({ _tag: "ToolCallReady", call })
  if (state.usage !== null) events.push({ _tag: "Usage", usage: state.usage })
  const reason = calls.length > 0 ? "tool_calls" : told
  events.push({ _tag: "Finished", reason, model: state.model, providerData: providerDataOf(state, reason) })
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

/** Ends that are none. */
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

/** What `lowerAnswer` and `lowerContents` put back; null when the message itself tells all of it. */
const providerDataOf = (state: AnswerState, reason: FinishReason): Schema.Json | null => {
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
      start: () => start(request, () => `call_${crypto.randomUUID()}`),
      step,
      end
    }
    return streamAnswer(
      () => ({
        provider: request.provider,
        model: request.model,
        url: `${settings.baseUrl}/${resourceOf(request.model)}:streamGenerateContent?alt=sse`,
        headers: { ...settings.headers },
        secrets: secretsOf(request.apiKey ?? settings.apiKey),
        body: JSON.stringify(lower(request, settings))
      }),
      stream,
      settings
    )
  }

/** A model's name with or without its folder. */
export const resourceOf = (model: string): string => {
  const [folder, name] = /^(models|tunedModels)\/(.+)$/.exec(model)?.slice(1) ?? ["models", model]
  return `${folder}/${encodeURIComponent(name ?? "")}`
}
