/** Cohere's `POST /v2/embed`. The answer lists the vectors in the order of the texts, by number format (`float`). Used by `providers/Cohere`. */
import type { EmbeddingDriver, EmbeddingRequest } from "@colloquy/core/adapters"
import {
  type EmbeddingLimits,
  embeddingDriver,
  type EmbeddingSettings,
  placeVectors,
  type ReadVectors,
  readVector
} from "./Embeddings.ts"
import type { Fault } from "./Fault.ts"
import * as OpenAiErrors from "./OpenAiErrors.ts"
import { bearer } from "./Transport.ts"
import { finite, list, record } from "./Wire.ts"

const limits: EmbeddingLimits = { maxTexts: 96, maxCharacters: 250_000 }

const inputTypes = { document: "search_document", query: "search_query" }

const lower = ({ model, texts, dimensions, purpose }: EmbeddingRequest) => ({
  model,
  texts,
  input_type: inputTypes[purpose],
  embedding_types: ["float"],
  ...(dimensions === null ? {} : { output_dimension: dimensions })
})

const read = (body: unknown, request: EmbeddingRequest): ReadVectors | null => {
  const { embeddings, meta } = record(body)
  const found = list(record(embeddings).float).map((written, index) => ({ index, vector: readVector(written) }))
  const vectors = placeVectors(found, request)
  return vectors && { vectors, tokens: finite(record(record(meta).billed_units).input_tokens) }
}

/** The error body is `{ message }`, which `OpenAiErrors` reads. Only the status 498 is Cohere's own: a text was blocked. */
const toFault = (status: number, body: unknown): Fault =>
  status === 498 ? { reason: "refused", status } : OpenAiErrors.toFault(status, body)

export const driver = (settings: EmbeddingSettings): EmbeddingDriver =>
  embeddingDriver(settings, {
    limits,
    requestIdHeader: "x-debug-trace-id",
    fault: toFault,
    call: (request) => ({
      url: `${settings.baseUrl}/v2/embed`,
      secrets: bearer(request.apiKey ?? settings.apiKey),
      body: lower(request)
    }),
    read
  })
