/**
 * What a provider of typed answers implements: one request with all questions, one reply with a distribution for each. Retries, the time
 * limit, the check that the distributions fit their questions, and everything that follows from them (the chosen option, the score, the
 * confidence) are added once, for all drivers, by the wing `answers`.
 *
 * Promises of a driver: a `ModelError` and never a defect for anything the provider sends; distributions as the provider wrote them, not
 * repaired and not completed.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"
import type { ModelInfo } from "./ModelInfo.ts"

/** What a model is told about a question: text, or data. */
export type Instructions = string | Schema.JsonObject | Schema.JsonArray

/** A yes or no, one of several options, or a place on a scale from the low end to the high end. */
export type TypedQuestion =
  | {
      readonly type: "noul"
      readonly instructions: Instructions
      readonly criteria?: { readonly true: string; readonly false: string }
    }
  | {
      readonly type: "choice"
      readonly instructions: Instructions
      readonly criteria: { readonly [option: string]: string | null }
    }
  | { readonly type: "score"; readonly instructions: Instructions; readonly criteria: ReadonlyArray<string> }

export type TypedQuestions = { readonly [name: string]: TypedQuestion }

/** Where the probabilities come from: the model gives them, its tokens have them, it wrote them down, or it was asked many times. */
export type AnswerMethod = "native" | "logprobs" | "stated" | "sampled"

export interface AnswerRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  /** Capabilities of the model; a driver decides by them and never by the name. */
  readonly info: ModelInfo
  /** All that the model may look at. */
  readonly state: Schema.Json
  readonly questions: TypedQuestions
  /** The customer's own key for this provider; beats the driver's. */
  readonly apiKey: Redacted.Redacted<string> | null
  /** Stable for a conversation: a cache key for providers that want one. */
  readonly conversationId: string
}

export interface AnswerReply {
  /** By question, then by option: `true` and `false`, the names of a choice, or the levels of a score from "0" on. Unchecked. */
  readonly distributions: { readonly [question: string]: { readonly [option: string]: unknown } }
  readonly method: AnswerMethod
  /** The probabilities are a model's own words, a count of samples, or another stand-in for what the model believes. */
  readonly estimated: boolean
  /** The model that really answered; null when the provider does not tell. */
  readonly model: string | null
  /** Null when the provider does not tell. */
  readonly usage: Usage | null
}

export type AnswerDriver = (request: AnswerRequest) => Effect.Effect<AnswerReply, ModelError>
