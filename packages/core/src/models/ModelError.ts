/**
 * Everything that can fail between the kernel and a model, as one error with a reason. The reason decides what happens next
 * (`isRetryable`). The text states the fact and never contains what the provider wrote, because that may contain a prompt or a key.
 */
import * as Schema from "effect/Schema"
import { Usage } from "../primitives/Usage.ts"

/** Why a model gave no answer. */
export const ModelErrorReason = Schema.Literals([
  "rate_limited",
  "overloaded",
  "refused",
  "context_too_long",
  "auth",
  "quota",
  "invalid_request",
  "model_not_found",
  "timeout",
  "connection",
  "cut_off",
  "malformed",
  "unknown"
])
export type ModelErrorReason = typeof ModelErrorReason.Type

const facts: { readonly [Reason in ModelErrorReason]: { readonly retryable: boolean; readonly text: string } } = {
  rate_limited: { retryable: true, text: "The provider is limiting requests. Wait and try again." },
  overloaded: { retryable: true, text: "The provider is overloaded. Try again later." },
  refused: { retryable: false, text: "The provider refused to answer this conversation." },
  context_too_long: {
    retryable: false,
    text: "The conversation does not fit the model. Shorten it or choose a model with a larger window."
  },
  auth: {
    retryable: false,
    text: "The provider did not accept the key. Check the provider's key in the configuration."
  },
  quota: { retryable: false, text: "The account at the provider has no credit left. Add credit there." },
  invalid_request: { retryable: false, text: "The provider did not accept the request for this model." },
  model_not_found: { retryable: false, text: "The provider does not know this model. Check the model name." },
  timeout: { retryable: true, text: "The provider did not answer in time." },
  connection: { retryable: true, text: "The provider could not be reached." },
  cut_off: { retryable: true, text: "The provider's answer ended before it was complete." },
  malformed: { retryable: true, text: "The provider's answer could not be read." },
  unknown: { retryable: false, text: "The provider failed in a way that it did not explain." }
}

/** The reason for each HTTP status. A status that is missing here is `overloaded` from 500 on, and `unknown` below. */
const reasonsOfStatus: { readonly [status: number]: ModelErrorReason } = {
  400: "invalid_request",
  401: "auth",
  402: "quota",
  403: "auth",
  404: "model_not_found",
  408: "timeout",
  413: "context_too_long",
  422: "invalid_request",
  429: "rate_limited",
  504: "timeout",
  524: "timeout"
}

/** The reason for an HTTP status of a vendor. */
export const reasonOfStatus = (status: number): ModelErrorReason =>
  reasonsOfStatus[status] ?? (status >= 500 ? "overloaded" : "unknown")

/** Reasons for which a provider refuses a request before it runs the model. */
const refusals: ReadonlySet<ModelErrorReason> = new Set([
  "rate_limited",
  "auth",
  "quota",
  "invalid_request",
  "model_not_found",
  "context_too_long"
])

/** Whether the provider refused the request before it ran the model, so that it charges nothing. A 408 may have run it. */
export const isRefusedRequest = ({ reason, status }: ModelError): boolean =>
  status === undefined ? refusals.has(reason) : status >= 400 && status < 500 && status !== 408

export class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {
  reason: ModelErrorReason,
  provider: Schema.String,
  model: Schema.String,
  /** HTTP status of the provider's answer, if there was one. */
  status: Schema.optionalKey(Schema.Int),
  /** A code for the error: the provider's own, such as `context_length_exceeded`, or the driver's. */
  code: Schema.optionalKey(Schema.String),
  /** What the provider or the connection said, for the operator alone: without keys and without the conversation (`operatorDetail`). */
  forOperator: Schema.optionalKey(Schema.String),
  /** The provider's id of the request, to quote in a support case. */
  requestId: Schema.optionalKey(Schema.String),
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  /** The cost of the failed attempts, if it is known. */
  usage: Schema.optionalKey(Usage),
  /** The provider's own statement whether a retry helps. It overrides the reason. */
  shouldRetry: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    const code = this.code === undefined ? "" : ` [${this.code}]`
    return `${facts[this.reason].text} (${this.provider}/${this.model}, ${this.reason}${code})`
  }

  /** Whether the same request may succeed a little later. */
  get isRetryable(): boolean {
    return this.shouldRetry ?? facts[this.reason].retryable
  }
}
