/**
 * Any model of the AI SDK as a provider. It takes models with the SDK's interface of version 3 or 4 and does not need the SDK itself. A host
 * registers it with `AiSdk.provider({ id, languageModel: (model) => anthropic(model) })`; if a customer brings a key, it is the second argument.
 *
 * Data that the model attaches to texts, reasoning and calls (signatures, ids) is kept with the answer and sent back with it. The interface
 * has a reasoning effort in version 4 only, and no budget of reasoning; such settings, and everything else that is specific to a vendor, are
 * passed by `options`. Tools that a vendor runs itself are not shown.
 */
import type {
  EmbeddingModelV3,
  EmbeddingModelV4,
  ImageModelV3,
  ImageModelV4,
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4ToolChoice,
  LanguageModelV4FunctionTool,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"
import { type ModelInfo, type Provider, type ToolDefinition, type Usage } from "@colloquy/core"
import {
  type ChatDriver,
  type ChatEvent,
  type ChatMessage,
  type ChatRequest,
  type ContentPart,
  type EmbeddingReply,
  type EmbeddingDriver,
  type EmbeddingRequest,
  type FinishReason,
  type ImageReply,
  type ImageModel as ImagePort,
  type ImageRequest,
  addUsage,
  ModelError,
  noUsage
} from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as AnthropicErrors from "../protocols/AnthropicErrors.ts"
import { type BridgedAnswer, isReadable, makeAnswer, withoutDefects } from "../protocols/BridgedAnswer.ts"
import { type EmbeddingLimits, estimate } from "../protocols/Embeddings.ts"
import { type Fault, retryHeaders } from "../protocols/Fault.ts"
import * as GeminiErrors from "../protocols/GeminiErrors.ts"
import {
  readArguments,
  type FilePart,
  noteForUnreadableFile,
  partsWithWords,
  systemWithJson,
  textOfFile
} from "../protocols/Lowering.ts"
import { reasoningEffort } from "../protocols/OpenAiDialect.ts"
import * as OpenAiErrors from "../protocols/OpenAiErrors.ts"
import { type AnswerPart, replayedParts } from "../protocols/Replay.ts"
import {
  count,
  finite,
  fromBase64,
  isRecord,
  lookUp,
  parseJson,
  record,
  string,
  type WireRecord
} from "../protocols/Wire.ts"
import * as AiSdkVoice from "./AiSdkVoice.ts"

// ------ settings

/** The functions of an AI SDK provider that make its models. */
export interface AiSdkSettings extends AiSdkVoice.AiSdkVoiceSettings {
  /** The name under which the provider is registered. */
  readonly id: string
  readonly languageModel?: (model: string, apiKey: Redacted.Redacted<string> | null) => LanguageModel
  readonly embeddingModel?: (model: string, apiKey: Redacted.Redacted<string> | null) => EmbeddingModel
  readonly imageModel?: (model: string, apiKey: Redacted.Redacted<string> | null) => ImageModel
  /** Options of one request that are specific to the vendor. */
  readonly options?: (request: ChatRequest) => SharedV4ProviderOptions
  readonly embeddingOptions?: (request: EmbeddingRequest) => SharedV4ProviderOptions
  readonly imageOptions?: (request: ImageRequest) => SharedV4ProviderOptions
  /** Limits, prices and capabilities, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** The limits of one request for embeddings. The model's own limit also applies. */
  readonly limits?: Partial<EmbeddingLimits>
}

type LanguageModel = LanguageModelV3 | LanguageModelV4
type EmbeddingModel = EmbeddingModelV3 | EmbeddingModelV4
type ImageModel = ImageModelV3 | ImageModelV4
type StreamPart = LanguageModelV3StreamPart | LanguageModelV4StreamPart

/** Makes a provider of those functions. */
export const provider = (settings: AiSdkSettings): Provider => ({
  id: settings.id,
  ...(settings.languageModel === undefined ? {} : { chat: chatDriver(settings, settings.languageModel) }),
  ...(settings.embeddingModel === undefined ? {} : { embedding: embeddingDriver(settings, settings.embeddingModel) }),
  ...(settings.imageModel === undefined ? {} : { image: imageDriver(settings, settings.imageModel) }),
  ...(settings.transcriptionModel === undefined
    ? {}
    : { speechToText: AiSdkVoice.transcription(settings.transcriptionModel, settings, failWith) }),
  ...(settings.speechModel === undefined
    ? {}
    : { textToSpeech: AiSdkVoice.synthesis(settings.speechModel, settings, failWith) }),
  // It is not known whether the vendor behind the library makes its model follow a schema, so the schema is left out here.
  wire: ({ output: _, ...request }) => ({
    ...lowerOptions(request, settings),
    ...lowerThinking(request),
    system: systemWithJson(request)
  }),
  describe: (model) => lookUp(settings.models ?? {}, model)
})

// ------ request

interface Part<Type extends string> {
  readonly type: Type
  readonly providerOptions?: SharedV4ProviderOptions
}

interface TextPart extends Part<"text"> {
  readonly text: string
}

interface ThoughtPart extends Part<"reasoning"> {
  readonly text: string
}

interface CallPart extends Part<"tool-call"> {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
}

interface ResultPart extends Part<"tool-result"> {
  readonly toolCallId: string
  readonly toolName: string
  readonly output: { readonly type: "text"; readonly value: string }
}

interface DataPart<Data> extends Part<"file"> {
  readonly filename?: string
  readonly mediaType: string
  readonly data: Data
}

/** The two versions of the interface differ in the form of a file's data. */
type Message<Data> =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: Array<TextPart | DataPart<Data>> }
  | { readonly role: "assistant"; readonly content: Array<TextPart | ThoughtPart | CallPart> }
  | { readonly role: "tool"; readonly content: Array<ResultPart> }

// ------ lowering

/** Which files a model accepts, and in which form. */
interface FileForm<Data> {
  readonly takes: (part: FilePart) => boolean
  readonly data: (part: FilePart) => Data
}

const lowerMessages = <Data>(request: ChatRequest, form: FileForm<Data>): Array<Message<Data>> => {
  const system = systemWithJson(request)
  // Some vendors refuse an answer without parts.
  const messages = request.messages
    .map((message) => lowerMessage(message, request, form))
    .filter(({ content }) => content.length > 0)
  return system === null ? messages : [{ role: "system", content: system }, ...messages]
}

const lowerMessage = <Data>(message: ChatMessage, request: ChatRequest, form: FileForm<Data>): Message<Data> => {
  switch (message.role) {
    case "user":
      return { role: "user", content: partsWithWords(message.content).map((part) => lowerPart(part, form)) }
    case "assistant":
      return { role: "assistant", content: replayedParts(message, request).map(lowerAnswerPart) }
    case "tool": {
      const { toolCallId, toolName, output: value } = message
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output: { type: "text", value } }] }
    }
  }
}

const lowerPart = <Data>(part: ContentPart, form: FileForm<Data>): TextPart | DataPart<Data> => {
  if (part.type === "text") return part
  const written = textOfFile(part)
  if (written !== undefined || !form.takes(part)) return { type: "text", text: written ?? noteForUnreadableFile(part) }
  const named = part.filename === null ? {} : { filename: part.filename }
  return { type: "file", mediaType: part.mediaType, ...named, data: form.data(part) }
}

type SupportedUrls = Awaited<LanguageModel["supportedUrls"]>

/** Nearly all models accept the URL of a picture. The URL of another file is sent only if the model says that it accepts it. */
const takesFile = (part: FilePart, info: ModelInfo, urls: SupportedUrls): boolean => {
  const { source } = part
  return (
    isReadable(part, info) &&
    (!("url" in source) || part.type === "image" || takesUrl(source.url, part.mediaType, urls))
  )
}

const takesUrl = (url: string, mediaType: string, urls: SupportedUrls): boolean =>
  Object.entries(urls).some(
    ([kind, patterns]) =>
      mediaType.startsWith(kind.split("*", 1).join("")) && patterns.some((pattern) => new RegExp(pattern).test(url))
  )

const dataOfV3 = ({ source }: FilePart): Uint8Array | URL => ("url" in source ? new URL(source.url) : source.bytes)

type DataOfV4 = { readonly type: "url"; readonly url: URL } | { readonly type: "data"; readonly data: Uint8Array }

const dataOfV4 = ({ source }: FilePart): DataOfV4 =>
  "url" in source ? { type: "url", url: new URL(source.url) } : { type: "data", data: source.bytes }

const lowerAnswerPart = (part: AnswerPart): TextPart | ThoughtPart | CallPart => {
  const options = isProviderOptions(part.data) ? { providerOptions: part.data } : {}
  if (part.type !== "call") return { type: part.type, text: part.text, ...options }
  const { id, name, arguments: written } = part.call
  return { type: "tool-call", toolCallId: id, toolName: name, input: readArguments(written), ...options }
}

/** The data that the provider has attached to a part. */
const isProviderOptions = (data: WireRecord): data is SharedV4ProviderOptions =>
  Object.keys(data).length > 0 && Object.values(data).every(isRecord)

const lowerTool = ({ name, description, parameters, strict }: ToolDefinition): LanguageModelV4FunctionTool => ({
  type: "function",
  name,
  ...(description === null ? {} : { description }),
  inputSchema: isSchema(parameters) ? parameters : { type: "object", properties: {} },
  ...(strict === undefined ? {} : { strict })
})

/** The kernel has checked only that the schema is an object; the vendor checks its content. */
const isSchema = (parameters: unknown): parameters is LanguageModelV4FunctionTool["inputSchema"] => isRecord(parameters)

const lowerOptions = (request: ChatRequest, settings: AiSdkSettings) => ({
  ...(request.tools.length === 0
    ? {}
    : { tools: request.tools.map(lowerTool), toolChoice: lowerChoice(request.toolChoice) }),
  ...(request.maxOutputTokens === null ? {} : { maxOutputTokens: request.maxOutputTokens }),
  ...lowerSampling(request),
  ...lowerFormat(request),
  ...(settings.options === undefined ? {} : { providerOptions: settings.options(request) })
})

const lowerFormat = ({ info, jsonOutput, output }: ChatRequest) => {
  if (output !== undefined && isSchema(output.schema)) {
    return { responseFormat: { type: "json" as const, schema: output.schema, name: output.name } }
  }
  return jsonOutput && info.supportsJsonOutput !== false ? { responseFormat: { type: "json" as const } } : {}
}

const lowerChoice = (choice: ChatRequest["toolChoice"]): LanguageModelV4ToolChoice =>
  typeof choice === "object" ? { type: "tool", toolName: choice.name } : { type: choice }

/** The specification has no setting for parallel calls. */
const lowerSampling = ({ sampling = {} }: ChatRequest) => {
  const { seed, stop, temperature, topP } = sampling
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(seed === undefined ? {} : { seed })
  }
}

type Effort = NonNullable<LanguageModelV4CallOptions["reasoning"]>

const lowerThinking = (request: ChatRequest): { readonly reasoning?: Effort } => {
  const { reasoning_effort: word } = reasoningEffort(request)
  const reasoning = efforts.find((each) => each === word)
  return reasoning === undefined ? {} : { reasoning }
}

const efforts: ReadonlyArray<Effort> = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]

// ------ stream step

interface AnswerState {
  readonly answer: BridgedAnswer
  /** The calls whose pieces are not JSON. Only their complete arguments are used. */
  readonly raw: Set<string>
  model: string | null
}

/** Adds the kernel's events for one part to `events`. Returns the error when the model failed inside its answer. */
const step = (state: AnswerState, part: StreamPart, events: Array<ChatEvent>): Thrown | undefined => {
  const { answer } = state
  switch (part.type) {
    case "text-start":
      answer.open("text", part.id, part.providerMetadata)
      break
    case "text-delta":
      answer.add("text", part.id, part.delta, part.providerMetadata, events)
      break
    case "text-end":
      answer.add("text", part.id, "", part.providerMetadata, events)
      break
    case "reasoning-start":
      answer.open("reasoning", part.id, part.providerMetadata)
      break
    case "reasoning-delta":
      answer.add("reasoning", part.id, part.delta, part.providerMetadata, events)
      break
    case "reasoning-end":
      answer.add("reasoning", part.id, "", part.providerMetadata, events)
      break
    case "tool-input-start":
      if ("inputEncoding" in part && part.inputEncoding === "text") state.raw.add(part.id)
      if (part.providerExecuted !== true) answer.openCall(part.id, part.toolName, part.providerMetadata, events)
      break
    case "tool-input-delta":
      if (!state.raw.has(part.id)) answer.addToCall(part.id, part.delta, events)
      break
    case "tool-call":
      if (part.providerExecuted !== true) {
        answer.endCall(part.toolCallId, part.toolName, part.input, part.providerMetadata, events)
      }
      break
    case "file":
      readFile(part.mediaType, part.data, events)
      break
    case "source":
      if (part.sourceType === "url") events.push({ _tag: "Source", url: part.url, title: part.title ?? null })
      break
    case "response-metadata":
      state.model = part.modelId ?? state.model
      break
    case "finish":
      return readFinish(state, part, events)
    case "error":
      return { error: part.error, inBody: true }
  }
  return undefined
}

const readFile = (mediaType: string, data: unknown, events: Array<ChatEvent>): void => {
  const { url, data: inner } = record(data)
  const bytes = inner ?? data
  if (url instanceof URL) events.push({ _tag: "Source", url: url.href, title: null })
  else if (bytes instanceof Uint8Array) events.push({ _tag: "Media", mediaType, bytes })
  else if (typeof bytes === "string") events.push({ _tag: "Media", mediaType, bytes: fromBase64(bytes) })
}

type FinishPart = Extract<StreamPart, { readonly type: "finish" }>

/** A model that lost its connection has the reason `other` without a word of the vendor. Such an answer is not finished. */
const readFinish = (
  state: AnswerState,
  { finishReason, usage }: FinishPart,
  events: Array<ChatEvent>
): Thrown | undefined => {
  const { unified, raw } = finishReason
  if (unified === "error") return { error: undefined }
  const isCut = unified === "interrupted" || (unified === "other" && raw === undefined)
  if (!isCut) state.answer.finish(reasons[unified], state.model, readUsage(usage), events)
  return undefined
}

type Finish = FinishPart["finishReason"]["unified"]

const reasons: { readonly [reason in Exclude<Finish, "error" | "interrupted">]: FinishReason } = {
  stop: "stop",
  length: "length",
  "content-filter": "filtered",
  "tool-calls": "tool_calls",
  other: "stop"
}

const readUsage = ({ inputTokens, outputTokens }: FinishPart["usage"]): Usage | null =>
  finite(inputTokens.total) === undefined
    ? null
    : {
        ...noUsage,
        inputTokens: count(inputTokens.total),
        outputTokens: count(outputTokens.total),
        cachedInputTokens: count(inputTokens.cacheRead),
        cacheWriteTokens: count(inputTokens.cacheWrite),
        reasoningTokens: count(outputTokens.reasoning)
      }

// ------ errors

/** An error that the library threw or streamed. */
interface Thrown {
  readonly error: unknown
  /** Whether the answer had begun. An error without a specific name is then a broken connection. */
  readonly inBody?: boolean
  /** What was used before. */
  readonly usage?: Usage
}

/** Messages are not passed on, because they may quote the conversation, and the error object itself contains the whole request. */
const failWith = ({ error, inBody, usage }: Thrown, { model, provider: id }: Pick<ChatRequest, "provider" | "model">) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const thrown = record(error)
    const headers = readHeaders(thrown.responseHeaders)
    const fault = faultFromThrown(thrown, error, inBody === true)
    const requestId = headers.get("x-request-id") ?? headers.get("request-id")
    return Effect.fail(
      new ModelError({
        ...fault,
        ...retryHeaders(headers, now),
        ...(requestId === null ? {} : { requestId: requestId.slice(0, 128) }),
        ...(usage === undefined ? {} : { usage }),
        provider: id,
        model
      })
    )
  })

const readHeaders = (headers: unknown): Headers =>
  new Headers(
    Object.entries(record(headers)).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []))
  )

const faultFromThrown = (thrown: WireRecord, error: unknown, inBody: boolean): Fault => {
  const status = finite(thrown.statusCode)
  // The status is that of a success, so the body was the problem.
  if (status !== undefined && status < 300) return inBody ? cutOff : malformed
  if (status !== undefined) {
    const fault = readBody(status, thrown.data ?? parseJson(string(thrown.responseBody) ?? ""))
    return thrown.isRetryable === false ? { ...fault, shouldRetry: false } : fault
  }
  const named = lookUp(faultsOfNames, string(thrown.name) ?? "")
  if (named !== undefined)
    return thrown.name === "AI_InvalidResponseDataError" && thrown.data === undefined ? cutOff : named
  return inBody && error instanceof Error ? cutOff : readBody(null, { error })
}

/** Most vendors use one of these forms. For an error in a stream some libraries pass only its inner part, so all forms are tried. */
const readBody = (status: number | null, body: unknown): Fault => {
  const { error, type } = record(body)
  if (type === "error") return AnthropicErrors.toFault(status, body)
  if (typeof record(error).status === "string") return GeminiErrors.toFault(status, body)
  const fault = OpenAiErrors.toFault(status, body)
  return fault.reason === "unknown" ? AnthropicErrors.toFault(status, body) : fault
}

const cutOff: Fault = { reason: "cut_off" }
const malformed: Fault = { reason: "unknown", code: "malformed_answer" }

const faultsOfNames: { readonly [name: string]: Fault } = {
  // This error has no status when there was no response.
  AI_APICallError: { reason: "connection" },
  AI_LoadAPIKeyError: { reason: "auth" },
  AI_LoadSettingError: { reason: "auth" },
  AI_NoSuchModelError: { reason: "model_not_found" },
  AI_InvalidPromptError: { reason: "invalid_request" },
  AI_InvalidArgumentError: { reason: "invalid_request" },
  AI_UnsupportedFunctionalityError: { reason: "invalid_request" },
  AI_TooManyEmbeddingValuesForCallError: { reason: "invalid_request" },
  AI_EmptyResponseBodyError: cutOff,
  AI_NoContentGeneratedError: cutOff,
  AI_InvalidResponseDataError: malformed,
  AI_JSONParseError: malformed,
  AI_TypeValidationError: malformed,
  TimeoutError: { reason: "timeout" }
}

// ------ drivers

const chatDriver =
  (settings: AiSdkSettings, makeModel: NonNullable<AiSdkSettings["languageModel"]>): ChatDriver =>
  (request) =>
    Stream.suspend(() => {
      const state: AnswerState = { answer: makeAnswer(request), raw: new Set(), model: null }
      return open(settings, makeModel, request).pipe(
        Stream.mapEffect((part) => {
          const events: Array<ChatEvent> = []
          const thrown = step(state, part, events)
          return thrown === undefined ? Effect.succeed(events) : Effect.fail(thrown)
        }),
        Stream.flattenIterable,
        Stream.catch((thrown) => Stream.fromEffect(failWith(thrown, request))),
        (events) => withoutDefects(events, request)
      )
    })

/** The parts of the answer. If the consumer stops early, the request is aborted. */
const open = Effect.fnUntraced(function* (
  settings: AiSdkSettings,
  makeModel: NonNullable<AiSdkSettings["languageModel"]>,
  request: ChatRequest
) {
  const controller = new AbortController()
  yield* Effect.addFinalizer(() => Effect.sync(() => controller.abort()))
  const parts = yield* Effect.tryPromise({
    try: () => startStream(makeModel(request.model, request.apiKey), request, settings, controller.signal),
    catch: (error): Thrown => ({ error })
  })
  return Stream.fromReadableStream({ evaluate: () => parts, onError: (error): Thrown => ({ error, inBody: true }) })
}, Stream.unwrap)

const startStream = async (
  model: LanguageModel,
  request: ChatRequest,
  settings: AiSdkSettings,
  signal: AbortSignal
): Promise<ReadableStream<StreamPart>> => {
  const options = { ...lowerOptions(request, settings), abortSignal: signal }
  const urls = await model.supportedUrls
  const takes = (part: FilePart): boolean => takesFile(part, request.info, urls)
  if (model.specificationVersion === "v3") {
    return (await model.doStream({ ...options, prompt: lowerMessages(request, { takes, data: dataOfV3 }) })).stream
  }
  const prompt = lowerMessages(request, { takes, data: dataOfV4 })
  return (await model.doStream({ ...options, ...lowerThinking(request), prompt })).stream
}

const embeddingDriver = (
  settings: AiSdkSettings,
  makeModel: NonNullable<AiSdkSettings["embeddingModel"]>
): EmbeddingDriver => ({
  maxTexts: 96,
  maxCharacters: 100_000,
  ...settings.limits,
  embed: (request) =>
    Effect.suspend(() => {
      const used: Array<Usage> = []
      return Effect.tryPromise({
        try: (signal) => embed(makeModel(request.model, request.apiKey), request, settings, signal, used),
        catch: (error): Thrown => (used.length === 0 ? { error } : { error, usage: used.reduce(addUsage) })
      }).pipe(Effect.catch((thrown) => failWith(thrown, request)))
    })
})

/** Sends several calls, one after the other, if the request has more texts than the model accepts. What each has used is added to `used`. */
const embed = async (
  model: EmbeddingModel,
  request: EmbeddingRequest,
  settings: AiSdkSettings,
  abortSignal: AbortSignal,
  used: Array<Usage>
): Promise<EmbeddingReply> => {
  const { texts, dimensions } = request
  const most = (await model.maxEmbeddingsPerCall) ?? texts.length
  const vectors: Array<Float32Array> = []
  for (let from = 0; from < texts.length; from += Math.max(1, most)) {
    const answer = await model.doEmbed({
      values: texts.slice(from, from + Math.max(1, most)),
      abortSignal,
      ...(dimensions === null ? {} : { dimensions }),
      ...(settings.embeddingOptions === undefined ? {} : { providerOptions: settings.embeddingOptions(request) })
    })
    for (const vector of answer.embeddings) vectors.push(Float32Array.from(vector))
    if (answer.usage !== undefined) used.push({ ...noUsage, inputTokens: count(answer.usage.tokens) })
  }
  return { vectors, usage: used.length === 0 ? estimate(texts) : used.reduce(addUsage) }
}

// ------ images

const imageDriver = (settings: AiSdkSettings, makeModel: NonNullable<AiSdkSettings["imageModel"]>): ImagePort => ({
  generate: (request) =>
    Effect.tryPromise({
      try: (signal) => generateImages(makeModel(request.model, request.apiKey), request, settings, signal),
      catch: (error): Thrown => ({ error })
    }).pipe(
      Effect.catch((thrown) => failWith(thrown, request)),
      Effect.flatMap((answer) =>
        answer.images.length > 0
          ? Effect.succeed(answer)
          : Effect.fail(
              new ModelError({
                reason: "malformed",
                code: "malformed_answer",
                shouldRetry: false,
                provider: request.provider,
                model: request.model
              })
            )
      )
    )
})

/** Sends one call. Options that the specification does not have are passed by `imageOptions`. */
const generateImages = async (
  model: ImageModel,
  request: ImageRequest,
  settings: AiSdkSettings,
  abortSignal: AbortSignal
): Promise<ImageReply> => {
  const { inputs, options, prompt } = request
  const allowed = model.maxImagesPerCall
  const most = (await (typeof allowed === "function" ? allowed({ modelId: request.model }) : allowed)) ?? 10
  const { images, response, usage } = await model.doGenerate({
    prompt,
    n: Math.min(options.n ?? 1, most),
    size: isSize(options.size) ? options.size : undefined,
    aspectRatio: isRatio(options.aspect_ratio) ? options.aspect_ratio : undefined,
    seed: options.seed,
    files:
      inputs.length === 0 ? undefined : inputs.map(({ bytes: data, mediaType }) => ({ type: "file", data, mediaType })),
    mask: undefined,
    providerOptions: settings.imageOptions?.(request) ?? {},
    abortSignal
  })
  return {
    images: images
      .map((image) => (typeof image === "string" ? fromBase64(image) : image))
      .filter(({ length }) => length > 0),
    usage: { ...noUsage, inputTokens: count(usage?.inputTokens), outputTokens: count(usage?.outputTokens) },
    model: response.modelId
  }
}

const isSize = (size: string | undefined): size is `${number}x${number}` => size !== undefined && /^\d+x\d+$/.test(size)
const isRatio = (ratio: string | undefined): ratio is `${number}:${number}` =>
  ratio !== undefined && /^[\d.]+:[\d.]+$/.test(ratio)
