/**
 * `POST /embeddings` of OpenAI and of servers with the same protocol, including OpenRouter, local servers and Voyage. They differ in a few
 * fields of the request, which are data here. Vectors are read as lists of numbers and as base64.
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
import { toFault } from "./OpenAiErrors.ts"
import { bearer } from "./Transport.ts"
import { finite, list, record } from "./Wire.ts"

// ------ settings

export interface OpenAiEmbeddingsSettings extends EmbeddingSettings {
  readonly dialect: EmbeddingDialect
}

export interface EmbeddingDialect {
  readonly limits: EmbeddingLimits
  /** The field for the length of the vectors; null if the server refuses such a field. */
  readonly dimensionsField: "dimensions" | "output_dimension" | null
  /** Whether to request vectors as base64, which needs a quarter of the bytes. Only for servers that are known to support it. */
  readonly base64: boolean
  /** The values of `input_type`; null if the server does not distinguish queries from documents. */
  readonly inputTypes: { readonly [purpose in EmbeddingRequest["purpose"]]: string } | null
  readonly requestIdHeader: string
}

/** The dialect that nearly all servers accept. */
export const plainEmbeddings: EmbeddingDialect = {
  limits: { maxTexts: 256, maxCharacters: 250_000 },
  dimensionsField: null,
  base64: false,
  inputTypes: null,
  requestIdHeader: "x-request-id"
}

// ------ request

const lower = ({ model, texts, dimensions, purpose }: EmbeddingRequest, dialect: EmbeddingDialect) => ({
  model,
  input: texts,
  ...(dialect.dimensionsField === null || dimensions === null ? {} : { [dialect.dimensionsField]: dimensions }),
  ...(dialect.base64 ? { encoding_format: "base64" } : {}),
  ...(dialect.inputTypes === null ? {} : { input_type: dialect.inputTypes[purpose] })
})

// ------ response

const read = (body: unknown, request: EmbeddingRequest): ReadVectors | null => {
  const { data, usage } = record(body)
  const found = list(data)
    .map(record)
    .map((entry, index) => ({ index: finite(entry.index) ?? index, vector: readVector(entry.embedding) }))
  const vectors = placeVectors(found, request)
  const { prompt_tokens, total_tokens, cost } = record(usage)
  return vectors && { vectors, tokens: finite(prompt_tokens) ?? finite(total_tokens), costUsd: finite(cost) }
}

// ------ driver

export const driver = (settings: OpenAiEmbeddingsSettings): EmbeddingDriver => {
  const { dialect } = settings
  return embeddingDriver(settings, {
    limits: dialect.limits,
    requestIdHeader: dialect.requestIdHeader,
    fault: toFault,
    call: (request) => ({
      url: `${settings.baseUrl}/embeddings`,
      secrets: bearer(request.apiKey ?? settings.apiKey),
      body: lower(request, dialect)
    }),
    read
  })
}
