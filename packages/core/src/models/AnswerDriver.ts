/**
 * What a provider of typed answers implements: one request with all questions, one reply with a distribution for each. The wing `answers`
 * adds for all drivers: retries, the time limit, the check that the distributions fit their questions, and everything that is computed from
 * them (the chosen option, the score, the confidence).
 *
 * Contract of a driver: a `ModelError` and never a defect for anything the provider sends; distributions as the provider wrote them,
 * neither repaired nor completed.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"
import type { ModelInfo } from "./ModelInfo.ts"

/** What a model is told about a question: text or data. */
export type Instructions = string | Schema.JsonObject | Schema.JsonArray

/** A yes or no, one of several options, or a level on a scale from low to high. */
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
      /**
       * The names of all options in their order, where the object cannot keep it: JavaScript puts names that look like whole numbers before
       * all others.
       */
      readonly order?: ReadonlyArray<string>
    }
  | { readonly type: "score"; readonly instructions: Instructions; readonly criteria: ReadonlyArray<string> }

/** Questions with known options, by their names. */
export type TypedQuestions = { readonly [name: string]: TypedQuestion }

/**
 * The source of the probabilities: reported by the model, computed from its token probabilities, written by the model as text, or counted
 * over many samples.
 */
export type AnswerMethod = "native" | "logprobs" | "stated" | "sampled"

/** Questions for a model of typed answers. */
export interface AnswerRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  /** Capabilities of the model. A driver decides by them and never by the name. */
  readonly info: ModelInfo
  /** The data that the model may use. */
  readonly state: Schema.Json
  readonly questions: TypedQuestions
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
  /** Stable for a conversation: a cache key for providers that use one. */
  readonly conversationId: string
}

/** What a model of typed answers gave: for each question, a probability for each option. */
export interface AnswerReply {
  /** By question, then by option: `true` and `false`, the names of a choice, or the levels of a score from "0" on. Unchecked. */
  readonly distributions: { readonly [question: string]: { readonly [option: string]: unknown } }
  readonly method: AnswerMethod
  /** True: the probabilities were written by the model, counted from samples, or derived in another indirect way. */
  readonly estimated: boolean
  /** The model that answered; null when the provider does not report it. */
  readonly model: string | null
  /** Null when the provider does not report it. */
  readonly usage: Usage | null
}

export type AnswerDriver = (request: AnswerRequest) => Effect.Effect<AnswerReply, ModelError>
