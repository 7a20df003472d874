/**
 * `POST /embeddings` as the OpenAI family answers it, the router, local servers and Voyage included. They differ in a few words of the
 * request, which are data here; the reading side takes lists of numbers and base64 from all of them.
 */
import type { EmbeddingDriver, EmbeddingRequest } from "@colloquy/core/adapters"
import {
  type EmbeddingLimits,
  embeddingDriver,
  type EmbeddingSettings,
  placeVectors,
  type ReadAnswer,
  readVector
} from "./Embeddings.ts"
import { faultOf } from "./OpenAiErrors.ts"
import { bearer } from "./Transport.ts"
import { finite, list, record } from "./Wire.ts"

// ------ settings

export interface OpenAiEmbeddingsSettings extends EmbeddingSettings {
  readonly dialect: EmbeddingDialect
}

export interface EmbeddingDialect {
  readonly limits: EmbeddingLimits
  /** The field that takes the length of the vectors; null where the server refuses it. */
  readonly dimensionsField: "dimensions" | "output_dimension" | null
  /** A fourth of the bytes, for servers that are known to write it. */
  readonly base64: boolean
  /** Words for `input_type`; null where the server does not tell a question from what is searched. */
  readonly inputTypes: { readonly [purpose in EmbeddingRequest["purpose"]]: string } | null
  readonly requestIdHeader: string
}

/** What nearly all servers take. */
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

const read = (body: unknown, request: EmbeddingRequest): ReadAnswer | null => {
  const { data, usage } = record(body)
  const found = list(data)
    .map(record)
    .map((entry, place) => ({ index: finite(entry.index) ?? place, vector: readVector(entry.embedding) }))
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
    fault: faultOf,
    call: (request) => ({
      url: `${settings.baseUrl}/embeddings`,
      secrets: bearer(request.apiKey ?? settings.apiKey),
      body: lower(request, dialect)
    }),
    read
  })
}
