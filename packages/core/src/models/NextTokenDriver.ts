/**
 * What a chat provider implements if its models report how probable their tokens are: one short prompt, and the candidates for the first
 * few tokens of the answer. The wing `answers` makes typed answers of it; the driver only knows a wire format.
 *
 * Contract of a driver: a `ModelError` and never a defect for anything the provider sends; no positions when the answer came without
 * log-probabilities.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"
import type { ModelInfo } from "./ModelInfo.ts"

/** A prompt whose next tokens are wanted with their probabilities. */
export interface NextTokenRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  readonly info: ModelInfo
  readonly system: string
  readonly prompt: string
  /** The maximum of tokens in the answer. */
  readonly maxTokens: number
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
}

/** A token that could have stood there, and how likely it was. */
export interface TokenCandidate {
  readonly token: string
  /** Natural logarithm of the probability. */
  readonly logProbability: number
}

/** One position in the answer: the token that was written, and its alternatives. */
export interface TokenPosition {
  readonly token: string
  readonly candidates: ReadonlyArray<TokenCandidate>
}

/** The likely tokens at each position of an answer. */
export interface NextTokenReply {
  readonly positions: ReadonlyArray<TokenPosition>
  /** The model that answered; null when the provider does not report it. */
  readonly model: string | null
  /** Null when the provider does not report it. */
  readonly usage: Usage | null
}

export type NextTokenDriver = (request: NextTokenRequest) => Effect.Effect<NextTokenReply, ModelError>
