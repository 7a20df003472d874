/**
 * A provider as plain async code: `provider({ id, chat: async function* (request, { signal }) { yield { text: "…" } } })`. What it yields
 * becomes events, what it throws becomes a `ModelError`; retries, deadlines and checks are the kernel's, as for every provider.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ChatEvent, FinishReason } from "../models/ChatEvent.ts"
import type { ChatRequest } from "../models/ChatRequest.ts"
import type { EmbeddingRequest } from "../models/EmbeddingDriver.ts"
import { describeModel, type ModelInfo } from "../models/ModelInfo.ts"
import { ModelError, reasonOfStatus } from "../models/ModelError.ts"
import { operatorDetail, errorSentence } from "../models/OperatorDetail.ts"
import type { Provider } from "../models/Provider.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"

interface PlainKey {
  /** The customer's own key for this provider. */
  readonly apiKey: string | null
}

/** What a model is asked, with the key as a text. */
export interface PlainChatRequest extends Omit<ChatRequest, "apiKey">, PlainKey {}
/** Texts whose vectors are wanted, with the key as a text. */
export interface PlainEmbeddingRequest extends Omit<EmbeddingRequest, "apiKey">, PlainKey {}

/** A piece of an answer; a text alone is `{ text }`. A piece may have several members. */
export type AnswerPiece = string | AnswerMembers

/** One piece of a model's answer. */
export interface AnswerMembers {
  readonly text?: string
  readonly reasoning?: string
  /** A whole call. Absent `id`: one is made. */
  readonly toolCall?: { readonly id?: string; readonly name: string; readonly arguments?: Schema.JsonObject | string }
  /** May come more than once; the last one counts, for the whole answer. Absent: the kernel estimates. */
  readonly usage?: Partial<Usage>
  /** A picture or sound that the model made. */
  readonly media?: { readonly mediaType: string; readonly bytes: Uint8Array }
  readonly source?: { readonly url: string; readonly title?: string }
  /** Why the answer ended. Absent: `tool_calls` after a call, otherwise `stop`. */
  readonly stop?: FinishReason
  /** The model that answered, if another one was asked for. */
  readonly model?: string
  /** Stored with the answer, and sent back with it in `providerData` of its message. */
  readonly providerData?: Schema.Json
}

type Vectors = ReadonlyArray<ArrayLike<number>>

export interface PlainProvider {
  /** The `llm_provider` of the wire. */
  readonly id: string
  /** Yields the answer while it comes. `signal` is aborted when nobody waits for it any more. */
  readonly chat?: (request: PlainChatRequest, context: { readonly signal: AbortSignal }) => AsyncIterable<AnswerPiece>
  /** One vector for each text, in order. */
  readonly embed?: (
    request: PlainEmbeddingRequest,
    context: { readonly signal: AbortSignal }
  ) => Promise<Vectors | { readonly vectors: Vectors; readonly usage?: Partial<Usage> }>
  /** Names of models, or what is known of them. The first is used where only the provider is named. */
  readonly models?: ReadonlyArray<string | KnownModel>
  /** Used by new assistants whose host names no embedding model. */
  readonly embedding?: { readonly model: string; readonly dimensions: number; readonly maxTexts?: number }
}

/** A model of the provider, with what is known about it. */
export interface KnownModel extends Partial<Omit<ModelInfo, "name" | "provider">> {
  readonly name: string
}

/** A provider of models made of plain async functions. */
export const provider = ({ chat, embed, embedding, id, models = [] }: PlainProvider): Provider => {
  const known = models.map((model) => (typeof model === "string" ? { name: model } : model))
  const first = known.find(({ modelType = "llm" }) => modelType === "llm")
  return {
    id,
    describe: (name) => known.find((model) => model.name === name),
    listModels: Effect.succeed(known.map((model) => describeModel({ modelType: "llm", ...model, provider: id }))),
    ...(first === undefined ? {} : { defaultModel: first.name }),
    ...(embedding === undefined
      ? {}
      : { defaultEmbedding: { model: embedding.model, dimensions: embedding.dimensions } }),
    ...(chat === undefined ? {} : { chat: (request) => streamAnswer(chat, request) }),
    ...(embed === undefined
      ? {}
      : {
          embedding: {
            maxTexts: embedding?.maxTexts ?? 256,
            maxCharacters: 250_000,
            embed: (request) =>
              Effect.tryPromise({
                try: async (signal) => readEmbedded(await embed(plain(request), { signal })),
                catch: (error) => modelErrorFrom(error, request)
              })
          }
        })
  }
}

const plain = <Request extends Pick<ChatRequest, "apiKey">>({
  apiKey,
  ...request
}: Request): Omit<Request, "apiKey"> & PlainKey => ({
  ...request,
  apiKey: apiKey === null ? null : Redacted.value(apiKey)
})

const readEmbedded = (answer: Vectors | { readonly vectors: Vectors; readonly usage?: Partial<Usage> }) => {
  const { usage, vectors } = "vectors" in answer ? answer : { vectors: answer, usage: undefined }
  return {
    vectors: vectors.map((vector) => Float32Array.from(vector)),
    usage: wholeUsage(usage ?? { estimated: true })
  }
}

const wholeUsage = (usage: Partial<Usage>): Usage => ({ ...noUsage, ...usage })

/** Each run of the stream is one call of the function. */
const streamAnswer = (
  chat: NonNullable<PlainProvider["chat"]>,
  request: ChatRequest
): Stream.Stream<ChatEvent, ModelError> =>
  Stream.suspend(() => {
    const controller = new AbortController()
    const events = abortable(() => chatEvents(chat(plain(request), { signal: controller.signal })), controller)
    return Stream.fromAsyncIterable(events, (error) => modelErrorFrom(error, request))
  })

/** A reader that leaves aborts the signal and does not wait: the function may stand at an `await` that only the signal ends. */
const abortable = <A>(open: () => AsyncIterable<A>, controller: AbortController): AsyncIterable<A> => ({
  [Symbol.asyncIterator]: () => {
    let inner: AsyncIterator<A> | undefined
    return {
      next: async () => (inner ??= open()[Symbol.asyncIterator]()).next(),
      return: async () => {
        controller.abort()
        inner?.return?.().catch(() => {})
        return { done: true, value: undefined }
      }
    }
  }
})

async function* chatEvents(pieces: AsyncIterable<AnswerPiece>): AsyncGenerator<ChatEvent> {
  let calls = 0
  let end: Pick<AnswerMembers, "model" | "providerData" | "stop"> = {}
  for await (const piece of pieces) {
    const members = typeof piece === "string" ? { text: piece } : piece
    if (members.toolCall !== undefined) calls++
    yield* contentEvents(members)
    end = { ...end, ...members }
  }
  const reason = end.stop ?? (calls > 0 ? "tool_calls" : "stop")
  yield { _tag: "Finished", reason, model: end.model ?? null, providerData: end.providerData ?? null }
}

function* contentEvents({ media, reasoning, source, text, toolCall, usage }: AnswerMembers): Generator<ChatEvent> {
  if (reasoning !== undefined) yield { _tag: "ReasoningDelta", text: reasoning }
  if (text !== undefined) yield { _tag: "TextDelta", text }
  if (media !== undefined) yield { _tag: "Media", ...media }
  if (source !== undefined) yield { _tag: "Source", url: source.url, title: source.title ?? null }
  if (toolCall !== undefined) {
    const { arguments: given = {}, id = globalThis.crypto.randomUUID(), name } = toolCall
    yield { _tag: "ToolCallStart", id, name }
    yield {
      _tag: "ToolCallReady",
      call: { id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) }
    }
  }
  if (usage !== undefined) yield { _tag: "Usage", usage: wholeUsage(usage) }
}

/** Any error that was thrown. A `status`, as the errors of vendors' libraries have it, gives the reason; a failed connection gives its own. */
export const modelErrorFrom = (
  error: unknown,
  { model, provider: id }: Pick<ChatRequest, "model" | "provider">
): ModelError => {
  if (error instanceof ModelError) return error
  const status = readStatus(error)
  const sentence = errorSentence(error)
  const isConnection = /\b(?:fetch failed|terminated|E[A-Z]{4,}|socket|network)\b/u.test(sentence)
  return new ModelError({
    reason: status === null ? (isConnection ? "connection" : "unknown") : reasonOfStatus(status),
    provider: id,
    model,
    ...(status === null ? {} : { status }),
    ...(sentence === "" ? {} : { forOperator: operatorDetail(sentence) })
  })
}

const readStatus = (error: unknown): number | null =>
  typeof error === "object" && error !== null && "status" in error && isStatus(error.status) ? error.status : null

const isStatus = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 400 && Number(value) < 600
