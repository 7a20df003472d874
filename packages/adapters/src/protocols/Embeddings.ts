/**
 * The common part of the embedding protocols: one request, one answer, one vector for each text. A protocol defines how its request is
 * written and where the vectors are in the answer. The limits of a request are settings, because vendors change them and proxies have others.
 *
 * Used by `OpenAiEmbeddings`, `CohereEmbeddings` and `GeminiEmbeddings`. The kernel splits requests, retries them and checks the dimensions.
 */
import { type Usage } from "@colloquy/core"
import {
  type EmbeddingReply,
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

/** The limits of one request. */
export interface EmbeddingLimits {
  readonly maxTexts: number
  readonly maxCharacters: number
}

export interface EmbeddingSettings extends TransportSettings {
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  readonly limits?: Partial<EmbeddingLimits>
  /** The default length of a model's vectors. The request does not name this length, because some models refuse the parameter. */
  readonly ownDimensions?: (model: string) => number | null | undefined
}

export interface EmbeddingProtocol extends ErrorDialect {
  readonly limits: EmbeddingLimits
  readonly call: (request: EmbeddingRequest) => Pick<Call, "url" | "secrets"> & { readonly body: object }
  /** The vectors in the order of the texts, and the number of tokens if the provider reports it. Null when the answer is malformed. */
  readonly read: (body: unknown, request: EmbeddingRequest) => ReadVectors | null
}

export interface ReadVectors {
  readonly vectors: ReadonlyArray<Float32Array>
  readonly tokens: number | undefined
  readonly costUsd?: number | undefined
}

export const embeddingDriver = (settings: EmbeddingSettings, protocol: EmbeddingProtocol): EmbeddingDriver => ({
  ...protocol.limits,
  ...settings.limits,
  embed: (input) =>
    Effect.suspend(() => {
      const request = normalize(input, settings)
      const { body, ...target } = protocol.call(request)
      const { provider, model } = request
      const call = { provider, model, headers: { ...settings.headers }, ...target, body: JSON.stringify(body) }
      return Effect.flatMap(fetchJson(call, protocol, settings), (answer) => {
        const read = protocol.read(answer, request)
        return read === null ? Effect.fail(malformed(request)) : Effect.succeed(embeddingReply(read, request))
      })
    })
})

/** An empty text is replaced by a space, because vendors refuse a request that contains an empty text. */
const normalize = (request: EmbeddingRequest, settings: EmbeddingSettings): EmbeddingRequest => ({
  ...request,
  texts: request.texts.map((text) => (text === "" ? " " : text)),
  dimensions: request.dimensions === settings.ownDimensions?.(request.model) ? null : request.dimensions
})

const malformed = ({ provider, model }: EmbeddingRequest): ModelError =>
  new ModelError({ reason: "unknown", code: "malformed_answer", provider, model })

const embeddingReply = ({ vectors, tokens, costUsd }: ReadVectors, { texts }: EmbeddingRequest): EmbeddingReply => ({
  vectors,
  usage: tokens === undefined ? estimate(texts) : { ...noUsage, inputTokens: tokens, costUsd: costUsd ?? null }
})

/** The estimated usage, for a provider that does not report it. */
export const estimate = (texts: ReadonlyArray<string>): Usage => ({
  ...noUsage,
  inputTokens: texts.reduce((sum, text) => sum + estimateTokens(text), 0),
  estimated: true
})

/** Reads a list of numbers, or their bytes (32-bit floats, little-endian) in base64. Null for anything else. */
export const readVector = (written: unknown): Float32Array | null => {
  const encoded = string(written)
  if (encoded !== undefined) return readFloats(fromBase64(encoded))
  const numbers = list(written)
  return numbers.length > 0 && numbers.every((each) => finite(each) !== undefined)
    ? Float32Array.from(numbers, Number)
    : null
}

const readFloats = (bytes: Uint8Array): Float32Array | null => {
  if (bytes.length === 0 || bytes.length % 4 !== 0) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(index * 4, true))
}

/** Sorts the vectors by the index of their text. Null unless every text has exactly one vector. */
export const placeVectors = (
  found: ReadonlyArray<{ readonly index: number; readonly vector: Float32Array | null }>,
  { texts }: EmbeddingRequest
): ReadonlyArray<Float32Array> | null => {
  const byIndex = new Map(found.map(({ index, vector }) => [index, vector]))
  const vectors = texts.flatMap((_, index) => byIndex.get(index) ?? [])
  return vectors.length === texts.length && found.length === texts.length ? vectors : null
}
