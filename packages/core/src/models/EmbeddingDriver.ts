/**
 * What an embedding provider implements: one request, one answer. `EmbeddingModel` adds for all drivers: batches, retries and the check of
 * the vectors.
 *
 * Contract of a driver: vectors in the order of the texts, one for each; a `ModelError` and never a defect for anything the provider sends.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"

export interface EmbeddingRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  readonly texts: ReadonlyArray<string>
  /** The requested dimensions; null: the model's own. */
  readonly dimensions: number | null
  /** Some models embed a question differently from a searched text. */
  readonly purpose: "document" | "query"
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
}

export interface EmbeddingAnswer {
  readonly vectors: ReadonlyArray<Float32Array>
  readonly usage: Usage
}

export interface EmbeddingDriver {
  readonly embed: (request: EmbeddingRequest) => Effect.Effect<EmbeddingAnswer, ModelError>
  /** Limits of one request. */
  readonly maxTexts: number
  readonly maxCharacters: number
}
