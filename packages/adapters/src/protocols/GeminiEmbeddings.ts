/**
 * Google's `:batchEmbedContents`. Vectors that are shorter than the model's default do not have unit length, so all vectors are normalized
 * here. Used by `providers/Gemini`.
 */
import type { EmbeddingDriver, EmbeddingRequest } from "@colloquy/core/adapters"
import {
  type EmbeddingLimits,
  embeddingDriver,
  type EmbeddingSettings,
  placeVectors,
  type ReadVectors,
  readVector
} from "./Embeddings.ts"
import { callSecrets, modelResource } from "./Gemini.ts"
import { errorDialect } from "./GeminiErrors.ts"
import { finite, list, record } from "./Wire.ts"

const limits: EmbeddingLimits = { maxTexts: 100, maxCharacters: 100_000 }

const taskTypes = { document: "RETRIEVAL_DOCUMENT", query: "RETRIEVAL_QUERY" }

const lower = ({ model, texts, dimensions, purpose }: EmbeddingRequest) => ({
  requests: texts.map((text) => ({
    model: modelResource(model),
    content: { parts: [{ text }] },
    taskType: taskTypes[purpose],
    ...(dimensions === null ? {} : { outputDimensionality: dimensions })
  }))
})

const read = (body: unknown, request: EmbeddingRequest): ReadVectors | null => {
  const { embeddings, usageMetadata } = record(body)
  const found = list(embeddings).map((entry, index) => ({ index, vector: readVector(record(entry).values) }))
  const vectors = placeVectors(found, request)
  return vectors && { vectors: vectors.map(toUnitLength), tokens: finite(record(usageMetadata).promptTokenCount) }
}

const toUnitLength = (vector: Float32Array): Float32Array => {
  const length = Math.sqrt(vector.reduce((sum, each) => sum + each * each, 0))
  return length === 0 ? vector : vector.map((each) => each / length)
}

/** The base URL includes the version. */
export const driver = (settings: EmbeddingSettings): EmbeddingDriver =>
  embeddingDriver(settings, {
    ...errorDialect,
    limits,
    call: (request) => ({
      url: `${settings.baseUrl}/${modelResource(request.model)}:batchEmbedContents`,
      secrets: callSecrets(request.apiKey ?? settings.apiKey),
      body: lower(request)
    }),
    read
  })
