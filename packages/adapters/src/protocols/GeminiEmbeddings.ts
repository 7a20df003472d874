/**
 * Google's `:batchEmbedContents`. A vector that was asked to be shorter than the model's own comes without unit length, so it gets one
 * here. `providers.md` 5A. Used by `providers/Gemini`, which knows how Google tells an error.
 */
import type { EmbeddingDriver, EmbeddingRequest } from "@colloquy/core"
import {
  type EmbeddingLimits,
  embeddingDriver,
  type EmbeddingSettings,
  placeVectors,
  type ReadAnswer,
  readVector
} from "./Embeddings.ts"
import type { ErrorDialect } from "./Transport.ts"
import { finite, list, record } from "./Wire.ts"

/** The base URL goes up to and with the version. */
export interface GeminiEmbeddingsSettings extends EmbeddingSettings {
  readonly fault: ErrorDialect["fault"]
}

const limits: EmbeddingLimits = { maxTexts: 100, maxCharacters: 100_000 }

const taskTypes = { document: "RETRIEVAL_DOCUMENT", query: "RETRIEVAL_QUERY" }

export const lower = ({ model, texts, dimensions, purpose }: EmbeddingRequest) => ({
  requests: texts.map((text) => ({
    model: `models/${model}`,
    content: { parts: [{ text }] },
    taskType: taskTypes[purpose],
    ...(dimensions === null ? {} : { outputDimensionality: dimensions })
  }))
})

export const read = (body: unknown, request: EmbeddingRequest): ReadAnswer | null => {
  const { embeddings, usageMetadata } = record(body)
  const found = list(embeddings).map((entry, index) => ({ index, vector: readVector(record(entry).values) }))
  const vectors = placeVectors(found, request)
  return vectors && { vectors: vectors.map(toUnitLength), tokens: finite(record(usageMetadata).promptTokenCount) }
}

const toUnitLength = (vector: Float32Array): Float32Array => {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((each) => each / length)
}

export const driver = (settings: GeminiEmbeddingsSettings): EmbeddingDriver =>
  embeddingDriver(settings, {
    limits,
    requestIdHeader: "x-request-id",
    fault: settings.fault,
    call: (request) => {
      const key = request.apiKey ?? settings.apiKey
      return {
        url: `${settings.baseUrl}/models/${encodeURIComponent(request.model)}:batchEmbedContents`,
        secrets: key ? { "x-goog-api-key": key } : {},
        body: lower(request)
      }
    },
    read
  })
