/**
 * What an embedding provider implements: one request, one answer. `EmbeddingModel` adds for all drivers: batches, retries and the check of
 * the vectors.
 *
 * Contract of a driver:
 * - One call MUST be one request, which ends when the call is interrupted.
 * - Its request MUST name the model and hold every text unchanged, in the order of the texts.
 * - `dimensions` and `purpose` MUST reach a provider that has such options.
 * - It MUST give one vector for each text, in the order of the texts, and what the provider used: estimated if the provider does not tell it.
 * - Whatever the provider sends, it MUST fail with a `ModelError` and never with a defect; the error MUST NOT contain text of the provider.
 * - An error over HTTP MUST have its `status`, and `retryAfterMillis` if the provider says when to ask again.
 * - The request's `apiKey` MUST be used in place of the host's key if there is one.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"

/** Texts whose vectors are wanted. */
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

/** The vectors of the texts, in their order. */
export interface EmbeddingReply {
  readonly vectors: ReadonlyArray<Float32Array>
  readonly usage: Usage
}

export interface EmbeddingDriver {
  readonly embed: (request: EmbeddingRequest) => Effect.Effect<EmbeddingReply, ModelError>
  /** Limits of one request. Each MUST be at least 1. */
  readonly maxTexts: number
  readonly maxCharacters: number
}
