/**
 * What the embedding protocols have in common: one request, one whole answer, vectors in the order of the texts. A protocol says how its
 * request is written and where the vectors stand; the limits of a request are data, because vendors change them and proxies have others.
 *
 * Used by `OpenAiEmbeddings`, `CohereEmbeddings` and `GeminiEmbeddings`. Splitting, retries and the check of dimensions are the kernel's.
 */
import { type Usage } from "@colloquy/core"
import {
  type EmbeddingAnswer,
  type EmbeddingDriver,
  type EmbeddingRequest,
  estimateTokens,
  ModelError,
  noUsage
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { ApiKey } from "./ApiKey.ts"
import { type Call, type ErrorDialect, fetchJson, type TransportSettings } from "./Transport.ts"
import { finite, fromBase64, list, string } from "./Wire.ts"

/** What one request may hold. */
export interface EmbeddingLimits {
  readonly maxTexts: number
  readonly maxCharacters: number
}

export interface EmbeddingSettings extends TransportSettings {
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  readonly limits?: Partial<EmbeddingLimits>
  /** The length of a model's vectors where nobody asks for another. It is not asked for: some models refuse the question. */
  readonly ownDimensions?: (model: string) => number | null | undefined
}

export interface EmbeddingProtocol extends ErrorDialect {
  readonly limits: EmbeddingLimits
  readonly call: (request: EmbeddingRequest) => Pick<Call, "url" | "secrets"> & { readonly body: object }
  /** The vectors in the order of the texts, and the tokens when they were told; null when the answer makes no sense. */
  readonly read: (body: unknown, request: EmbeddingRequest) => ReadAnswer | null
}

export interface ReadAnswer {
  readonly vectors: ReadonlyArray<Float32Array>
  readonly tokens: number | undefined
  readonly costUsd?: number | undefined
}

export const embeddingDriver = (settings: EmbeddingSettings, protocol: EmbeddingProtocol): EmbeddingDriver => ({
  ...protocol.limits,
  ...settings.limits,
  embed: (asked) =>
    Effect.suspend(() => {
      const request = toAsk(asked, settings)
      const { body, ...place } = protocol.call(request)
      const { provider, model } = request
      const call = { provider, model, headers: { ...settings.headers }, ...place, body: JSON.stringify(body) }
      return Effect.flatMap(fetchJson(call, protocol, settings), (answer) => {
        const read = protocol.read(answer, request)
        return read === null ? Effect.fail(senseless(request)) : Effect.succeed(answerOf(read, request))
      })
    })
})

/** An empty text is refused by every vendor, and with it all others of the request: a blank stands for it. */
const toAsk = (request: EmbeddingRequest, settings: EmbeddingSettings): EmbeddingRequest => ({
  ...request,
  texts: request.texts.map((text) => (text === "" ? " " : text)),
  dimensions: request.dimensions === settings.ownDimensions?.(request.model) ? null : request.dimensions
})

const senseless = ({ provider, model }: EmbeddingRequest): ModelError =>
  new ModelError({ reason: "unknown", code: "malformed_answer", provider, model })

const answerOf = ({ vectors, tokens, costUsd }: ReadAnswer, { texts }: EmbeddingRequest): EmbeddingAnswer => ({
  vectors,
  usage: tokens === undefined ? estimate(texts) : { ...noUsage, inputTokens: tokens, costUsd: costUsd ?? null }
})

/** For a provider that does not tell. */
export const estimate = (texts: ReadonlyArray<string>): Usage => ({
  ...noUsage,
  inputTokens: texts.reduce((sum, text) => sum + estimateTokens(text), 0),
  estimated: true
})

/** A list of numbers, or their bytes (32-bit floats, little-endian) in base64; null for anything else. */
export const readVector = (written: unknown): Float32Array | null => {
  const encoded = string(written)
  if (encoded !== undefined) return floatsOf(fromBase64(encoded))
  const numbers = list(written)
  return numbers.length > 0 && numbers.every((each) => finite(each) !== undefined)
    ? Float32Array.from(numbers, Number)
    : null
}

const floatsOf = (bytes: Uint8Array): Float32Array | null => {
  if (bytes.length === 0 || bytes.length % 4 !== 0) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(index * 4, true))
}

/** Puts each vector at its place; null unless every text has exactly one. */
export const placeVectors = (
  found: ReadonlyArray<{ readonly index: number; readonly vector: Float32Array | null }>,
  { texts }: EmbeddingRequest
): ReadonlyArray<Float32Array> | null => {
  const byIndex = new Map(found.map(({ index, vector }) => [index, vector]))
  const vectors = texts.flatMap((_, index) => byIndex.get(index) ?? [])
  return vectors.length === texts.length && found.length === texts.length ? vectors : null
}
