/**
 * What a chat provider implements when its models tell how probable their tokens are: one short prompt, and the candidates for the first
 * few tokens of the answer. The wing `answers` makes typed answers of it; the driver knows a wire format and nothing of questions.
 *
 * Promises of a driver: a `ModelError` and never a defect for anything the provider sends; no places when the answer came without
 * log-probabilities.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"
import type { ModelInfo } from "./ModelInfo.ts"

export interface NextTokenRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  readonly info: ModelInfo
  readonly system: string
  readonly prompt: string
  /** How many tokens the answer may have. */
  readonly maxTokens: number
  /** The customer's own key for this provider; beats the driver's. */
  readonly apiKey: Redacted.Redacted<string> | null
}

export interface TokenCandidate {
  readonly token: string
  /** Natural logarithm of the probability. */
  readonly logProbability: number
}

/** One place in the answer: the token that was written, and those that could have been. */
export interface TokenPlace {
  readonly token: string
  readonly candidates: ReadonlyArray<TokenCandidate>
}

export interface NextTokenReply {
  readonly places: ReadonlyArray<TokenPlace>
  /** The model that really answered; null when the provider does not tell. */
  readonly model: string | null
  /** Null when the provider does not tell. */
  readonly usage: Usage | null
}

export type NextTokenDriver = (request: NextTokenRequest) => Effect.Effect<NextTokenReply, ModelError>
