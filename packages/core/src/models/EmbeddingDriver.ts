/**
 * What an embedding provider implements: one request, one answer. Splitting into batches, retries and the check of what came back are added
 * once, for all drivers, by `EmbeddingModel`.
 *
 * Promises of a driver: vectors in the order of the texts, one for each; a `ModelError` and never a defect for anything the provider sends.
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
  /** Asked for; null: the model's own. */
  readonly dimensions: number | null
  /** Some models embed a question otherwise than what is searched. */
  readonly purpose: "document" | "query"
  /** The customer's own key for this provider; beats the driver's. */
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
