/**
 * Any model of `effect/ai` as a provider. A host registers it with `EffectAi.provider({ id, languageModel })` and passes a service, a layer (built
 * for each request and closed after it), or a function from a model's name and the customer's key to one of the two.
 *
 * `effect/ai` has no neutral settings for a limit of output, for reasoning, for JSON without a schema and for the length of vectors. A host
 * passes such settings as `configuration`: services from which the model's package reads them. JSON is requested in the system prompt. All of
 * `effect/ai` is unstable, so only this file imports it.
 */
import { type ModelInfo, type Provider, type ToolDefinition, type Usage } from "@colloquy/core"
import {
  type AnswerDriver,
  type AnswerReply,
  type AnswerRequest,
  type ChatDriver,
  type ChatEvent,
  type ChatMessage,
  type ChatRequest,
  type ContentPart,
  type EmbeddingReply,
  type EmbeddingDriver,
  type EmbeddingRequest,
  type FinishReason,
  ModelError,
  type ModelErrorReason,
  noUsage,
  type TypedQuestion
} from "@colloquy/core/adapters"
import * as AiError from "effect/ai/AiError"
import * as Decision from "effect/ai/Decision"
import * as DecisionModel from "effect/ai/DecisionModel"
import * as EmbeddingModel from "effect/ai/EmbeddingModel"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type BridgedAnswer, isReadable, makeAnswer, withoutDefects } from "../protocols/BridgedAnswer.ts"
import { type EmbeddingLimits, estimate } from "../protocols/Embeddings.ts"
import { faultOfStatus, machineCode, retryHeaders, tellsContextTooLong } from "../protocols/Fault.ts"
import {
  readArguments,
  noteForUnreadableFile,
  partsWithWords,
  systemWithJson,
  textOfFile
} from "../protocols/Lowering.ts"
import { type AnswerPart, replayedParts } from "../protocols/Replay.ts"
import { count, finite, lookUp, record } from "../protocols/Wire.ts"

// ------ settings

/** A service, a layer of it, or a function that returns one of them for a model's name. Only the function gets a customer's key. */
export type ModelSource<I, S> =
  | S
  | Layer.Layer<I, unknown>
  | ((model: string, apiKey: Redacted.Redacted<string> | null) => S | Layer.Layer<I, unknown>)

/** The models of `effect/ai` that the provider offers. */
export interface EffectAiSettings {
  /** The name under which the provider is registered. */
  readonly id: string
  readonly languageModel?: ModelSource<LanguageModel.LanguageModel, LanguageModel.LanguageModel>
  readonly embeddingModel?: ModelSource<EmbeddingModel.EmbeddingModel, EmbeddingModel.EmbeddingModel>
  readonly decisionModel?: ModelSource<DecisionModel.DecisionModel, DecisionModel.DecisionModel>
  /** Services from which the model's package reads its settings for one request, for example a limit of output or an effort. */
  readonly configuration?: (request: ChatRequest) => Context.Context<never>
  /** Limits, prices and capabilities, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** The limits of one request for embeddings. */
  readonly limits?: Partial<EmbeddingLimits>
}

/** A provider whose models are services of `effect/ai`. */
export const provider = (settings: EffectAiSettings): Provider => ({
  id: settings.id,
  ...(settings.languageModel === undefined ? {} : { chat: chatDriver(settings, settings.languageModel) }),
  ...(settings.embeddingModel === undefined ? {} : { embedding: embeddingDriver(settings, settings.embeddingModel) }),
  ...(settings.decisionModel === undefined ? {} : { answers: answerDriver(settings.decisionModel) }),
  // It is not known which fields of a request the host's own configuration uses, so all of them count as sent.
  wire: ({ jsonOutput, routing, thinking, toolChoice, tools }) => ({
    jsonOutput,
    routing,
    thinking,
    ...(tools.length === 0 ? {} : { toolChoice })
  }),
  describe: (model) => lookUp(settings.models ?? {}, model)
})

const lowerChoice = (choice: ChatRequest["toolChoice"]) => (typeof choice === "object" ? { tool: choice.name } : choice)

type Target = Pick<ChatRequest, "provider" | "model" | "apiKey">

/** The service of a source. The resources of a layer are closed with the scope. */
const find = <I, S extends object>(
  key: Context.Key<I, S>,
  source: ModelSource<I, S>,
  { model, apiKey }: Target
): Effect.Effect<S, unknown, Scope.Scope> =>
  Effect.suspend(() => {
    const found = typeof source === "function" ? source(model, apiKey) : source
    return isLayer(found)
      ? Effect.map(Layer.build(found), (context) => Context.get(context, key))
      : Effect.succeed(found)
  })

const isLayer = <I, S extends object>(found: S | Layer.Layer<I, unknown>): found is Layer.Layer<I, unknown> =>
  Layer.isLayer(found)

// ------ lowering

const lowerMessages = (request: ChatRequest): ReadonlyArray<Prompt.MessageEncoded> => {
  const system = systemWithJson(request)
  // Some vendors refuse an answer without parts.
  const messages = request.messages
    .map((message) => lowerMessage(message, request))
    .filter(({ content }) => content.length > 0)
  return system === null ? messages : [{ role: "system", content: system }, ...messages]
}

const lowerMessage = (message: ChatMessage, request: ChatRequest): Prompt.MessageEncoded => {
  switch (message.role) {
    case "user":
      return { role: "user", content: partsWithWords(message.content).map((part) => lowerPart(part, request.info)) }
    case "assistant":
      return { role: "assistant", content: replayedParts(message, request).map(lowerAnswerPart) }
    case "tool": {
      const { toolCallId: id, toolName: name, output: result } = message
      return { role: "tool", content: [{ type: "tool-result", id, name, isFailure: false, result }] }
    }
  }
}

const lowerPart = (part: ContentPart, info: ModelInfo): Prompt.UserMessagePartEncoded => {
  if (part.type === "text") return part
  const written = textOfFile(part)
  if (written !== undefined || !isReadable(part, info))
    return { type: "text", text: written ?? noteForUnreadableFile(part) }
  return {
    type: "file",
    mediaType: part.mediaType,
    ...(part.filename === null ? {} : { fileName: part.filename }),
    data: "url" in part.source ? new URL(part.source.url) : part.source.bytes
  }
}

const lowerAnswerPart = (part: AnswerPart): Prompt.AssistantMessagePartEncoded => {
  const options = part.data
  if (part.type !== "call") return { type: part.type, text: part.text, options }
  return {
    type: "tool-call",
    id: part.call.id,
    name: part.call.name,
    params: readArguments(part.call.arguments),
    options
  }
}

const lowerTool = ({ name, description, parameters, strict }: ToolDefinition) =>
  Tool.dynamic(name, {
    ...(description === null ? {} : { description }),
    parameters: parameters ?? { type: "object", properties: {} }
  }).annotate(Tool.Strict, strict)

// ------ stream step

interface AnswerState {
  readonly answer: BridgedAnswer
  model: string | null
  hasBegun: boolean
}

/** Adds the kernel's events for one part to `events`. Returns the error when the provider failed inside its answer. */
const step = (
  state: AnswerState,
  part: Response.AnyPart,
  request: ChatRequest,
  events: Array<ChatEvent>
): ModelError | undefined => {
  const { answer } = state
  switch (part.type) {
    case "text-start":
      answer.open("text", part.id, part.metadata)
      break
    case "text-delta":
      answer.add("text", part.id, part.delta, part.metadata, events)
      break
    case "text-end":
      answer.add("text", part.id, "", part.metadata, events)
      break
    case "reasoning-start":
      answer.open("reasoning", part.id, part.metadata)
      break
    case "reasoning-delta":
      answer.add("reasoning", part.id, part.delta, part.metadata, events)
      break
    case "reasoning-end":
      answer.add("reasoning", part.id, "", part.metadata, events)
      break
    case "tool-params-start":
      // The kernel ignores calls that the provider executes itself.
      if (!part.providerExecuted) answer.openCall(part.id, part.name, part.metadata, events)
      break
    case "tool-params-delta":
      answer.addToCall(part.id, part.delta, events)
      break
    case "tool-call":
      if (!part.providerExecuted)
        answer.endCall(part.id, part.name, JSON.stringify(part.params ?? {}), part.metadata, events)
      break
    case "file":
      events.push({ _tag: "Media", mediaType: part.mediaType, bytes: part.data })
      break
    case "source":
      if (part.sourceType === "url") events.push({ _tag: "Source", url: part.url.href, title: part.title })
      break
    case "response-metadata":
      state.model = part.modelId ?? state.model
      break
    case "finish":
      if (part.reason === "error") return failure(request, "unknown")
      answer.finish(reasons[part.reason], state.model, readUsage(part.usage), events)
      break
    case "error":
      return modelErrorFrom(part.error, request)
  }
  return undefined
}

const reasons: { readonly [reason in Exclude<Response.FinishReason, "error">]: FinishReason } = {
  stop: "stop",
  length: "length",
  "content-filter": "filtered",
  "tool-calls": "tool_calls",
  pause: "continue",
  other: "stop",
  unknown: "stop"
}

const readUsage = ({ inputTokens, outputTokens }: Response.Usage): Usage | null =>
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

type RequestedModel = Pick<ChatRequest, "provider" | "model">

const failure = ({ model, provider: id }: RequestedModel, reason: ModelErrorReason): ModelError =>
  new ModelError({ reason, provider: id, model })

/** An error that is not an `AiError` has an unknown reason. Messages are not passed on, because they may quote the conversation. */
const modelErrorFrom = (error: unknown, request: RequestedModel): ModelError => {
  if (!AiError.isAiError(error)) return failure(request, "unknown")
  const reason = modelErrorReason(error.reason)
  return new ModelError({
    provider: request.provider,
    model: request.model,
    reason,
    ...readStatus(error.reason),
    ...readCode(error.reason),
    ...readPause(error.reason),
    ...(error.retryAfter === undefined ? {} : { retryAfterMillis: Duration.toMillis(error.retryAfter) }),
    ...(reason === "unknown" ? { shouldRetry: error.isRetryable } : {})
  })
}

const modelErrorReason = (reason: AiError.AiErrorReason): ModelErrorReason => {
  const tagged = reasonsOfTags[reason._tag]
  if (tagged !== "invalid_request" && tagged !== "unknown") return tagged
  if (tellsContextTooLong(reason.message) || readCode(reason).code === "context_length_exceeded")
    return "context_too_long"
  const { status } = readStatus(reason)
  return status === undefined ? tagged : faultOfStatus(status).reason
}

const readStatus = (reason: AiError.AiErrorReason): { readonly status?: number } => {
  const status = "http" in reason ? reason.http?.response?.status : undefined
  return status === undefined ? {} : { status }
}

/** What the vendor's headers say about retries. A date is compared with the vendor's own clock. */
const readPause = (reason: AiError.AiErrorReason) => {
  const headers: { readonly [name: string]: unknown } = ("http" in reason && reason.http?.response?.headers) || {}
  const get = (name: string) => {
    const value = headers[name]
    return typeof value === "string" ? value : null
  }
  return retryHeaders({ get }, Date.parse(get("date") ?? ""))
}

const readCode = (reason: AiError.AiErrorReason): { readonly code?: string } => {
  const metadata = "metadata" in reason ? Object.values(reason.metadata).map(record) : []
  return (
    metadata
      .map(({ errorCode, errorType }) => machineCode(errorCode ?? errorType))
      .find((each) => each.code !== undefined) ?? {}
  )
}

const reasonsOfTags: { readonly [tag in AiError.AiErrorReason["_tag"]]: ModelErrorReason } = {
  RateLimitError: "rate_limited",
  QuotaExhaustedError: "quota",
  AuthenticationError: "auth",
  ContentPolicyError: "refused",
  InternalProviderError: "overloaded",
  NetworkError: "connection",
  InvalidRequestError: "invalid_request",
  InvalidUserInputError: "invalid_request",
  UnsupportedSchemaError: "invalid_request",
  ToolConfigurationError: "invalid_request",
  ToolkitRequiredError: "invalid_request",
  InvalidToolResultError: "invalid_request",
  ToolResultEncodingError: "invalid_request",
  InvalidResponseError: "unknown",
  InvalidOutputError: "unknown",
  StructuredOutputError: "unknown",
  ToolNotFoundError: "unknown",
  ToolParameterValidationError: "unknown",
  UnknownError: "unknown"
}

// ------ drivers

const chatDriver =
  (settings: EffectAiSettings, source: NonNullable<EffectAiSettings["languageModel"]>): ChatDriver =>
  (request) =>
    Stream.suspend(() =>
      find(LanguageModel.LanguageModel, source, request).pipe(
        Effect.map((model) => answer(model, request)),
        Stream.unwrap,
        Stream.mapError((error) => (error instanceof ModelError ? error : modelErrorFrom(error, request))),
        Stream.provideContext(settings.configuration?.(request) ?? Context.empty())
      )
    ).pipe((events) => withoutDefects(events, request))

const answer = (model: LanguageModel.LanguageModel, request: ChatRequest) => {
  const state: AnswerState = { answer: makeAnswer(request), model: null, hasBegun: false }
  const lostConnection = (error: unknown) =>
    state.hasBegun && AiError.isAiError(error) && error.reason._tag === "NetworkError"
  return streamText(model, request).pipe(
    Stream.mapError((error) => (lostConnection(error) ? failure(request, "cut_off") : error)),
    Stream.mapEffect((part) => {
      state.hasBegun = true
      const events: Array<ChatEvent> = []
      const error = step(state, part, request, events)
      return error === undefined ? Effect.succeed(events) : Effect.fail(error)
    }),
    Stream.flattenIterable
  )
}

/** `effect/ai` must neither run nor check tool calls: the kernel does, and answers a malformed call to the model. */
const streamText = (model: LanguageModel.LanguageModel, request: ChatRequest) =>
  model.streamText({
    prompt: lowerMessages(request),
    toolkit: Toolkit.make(...request.tools.map(lowerTool)),
    toolChoice: lowerChoice(request.toolChoice),
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  })

const embeddingDriver = (
  settings: EffectAiSettings,
  source: NonNullable<EffectAiSettings["embeddingModel"]>
): EmbeddingDriver => ({
  maxTexts: 96,
  maxCharacters: 100_000,
  ...settings.limits,
  embed: (request) =>
    find(EmbeddingModel.EmbeddingModel, source, request).pipe(
      Effect.flatMap((model) => model.embedMany(request.texts)),
      Effect.map((found) => readEmbeddings(found, request)),
      Effect.scoped,
      Effect.catchCause((cause) =>
        Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.fail(modelErrorFrom(Cause.squash(cause), request))
      )
    )
})

const readEmbeddings = (
  { embeddings, usage }: EmbeddingModel.EmbedManyResponse,
  { texts }: EmbeddingRequest
): EmbeddingReply => ({
  vectors: embeddings.map(({ vector }) => Float32Array.from(vector)),
  usage: usage.inputTokens === undefined ? estimate(texts) : { ...noUsage, inputTokens: count(usage.inputTokens) }
})

// ------ decisions

const answerDriver =
  (source: NonNullable<EffectAiSettings["decisionModel"]>): AnswerDriver =>
  (request) =>
    find(DecisionModel.DecisionModel, source, request).pipe(
      Effect.flatMap((model) => decide(model, request)),
      Effect.scoped,
      Effect.catchCause((cause) =>
        Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.fail(answerError(Cause.squash(cause), request))
      )
    )

const answerError = (error: unknown, request: AnswerRequest): ModelError =>
  error instanceof ModelError ? error : modelErrorFrom(error, request)

/** A choice with a single option is answered here, because a decision model requires at least two options. */
const decide = (
  model: DecisionModel.DecisionModel,
  request: AnswerRequest
): Effect.Effect<AnswerReply, AiError.AiError | ModelError> => {
  const questions = Object.entries(request.questions)
  const isSettled = (question: TypedQuestion) =>
    question.type === "choice" && Object.keys(question.criteria).length === 1
  const settled = questions.flatMap(([name, question]) =>
    question.type === "choice" && isSettled(question)
      ? [[name, Object.fromEntries(Object.keys(question.criteria).map((option) => [option, 1]))] as const]
      : []
  )
  const open = questions.filter(([, question]) => !isSettled(question))
  const reply = { method: "native", estimated: false } as const
  if (open.length === 0) {
    return Effect.succeed({ ...reply, distributions: Object.fromEntries(settled), model: null, usage: noUsage })
  }
  const decisions = Object.fromEntries(open.map(([name, question]) => [name, lowerQuestion(question)]))
  const definition = Decision.make({ input: Schema.Json, decisions })
  return Effect.flatMap(model.decideSettled(definition, { input: request.state }), ({ modelId, outcomes, usage }) => {
    const all = Object.entries<Decision.Outcome<DecisionKind>>(outcomes)
    const used =
      usage.inputTokens === undefined && usage.outputTokens === undefined
        ? null
        : { ...noUsage, inputTokens: count(usage.inputTokens), outputTokens: count(usage.outputTokens) }
    if (all.some(([, outcome]) => Result.isFailure(outcome) && outcome.failure.reason === "Refused")) {
      const { model: name, provider: id } = request
      const spent = used === null ? {} : { usage: used }
      return Effect.fail(new ModelError({ reason: "refused", provider: id, model: name, ...spent }))
    }
    const answered = all.flatMap(([name, outcome]) =>
      Result.isFailure(outcome) ? [] : [[name, decidedShares(outcome.success)] as const]
    )
    return Effect.succeed({
      ...reply,
      distributions: Object.fromEntries([...settled, ...answered]),
      model: modelId ?? null,
      usage: used
    })
  })
}

type DecisionKind = Decision.Classify<string> | Decision.Rate<string> | Decision.Probability

const lowerQuestion = (question: TypedQuestion): DecisionKind => {
  const { instructions } = question
  switch (question.type) {
    case "noul":
      return Decision.probability({ instructions, criteria: question.criteria })
    case "choice":
      return Decision.classify({ instructions, criteria: question.criteria })
    case "score":
      // The label is the number of the level, because labels must differ and descriptions may be equal.
      return Decision.rate({
        instructions,
        criteria: question.criteria.map((description, level) => ({ label: String(level), description }))
      })
  }
}

const decidedShares = (decided: Decision.Answer<DecisionKind>): { readonly [option: string]: number } =>
  "probability" in decided
    ? { true: decided.probability, false: 1 - decided.probability }
    : { ...decided.probabilities }
