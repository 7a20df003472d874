/**
 * Reads the errors of OpenAI and of all servers with its protocols (chat, responses, embeddings), including OpenRouter with its additional
 * codes. Each server has its own form of error body; all of them are read here.
 */
import type { ModelErrorReason } from "@colloquy/core/adapters"
import { type Fault, faultOfStatus, machineCode, tellsContextTooLong } from "./Fault.ts"
import { finite, isRecord, list, lookUp, record, string } from "./Wire.ts"

/** `status` is null for an error inside a stream. */
export const toFault = (status: number | null, body: unknown): Fault => {
  const inner = record(body).error
  const error = isRecord(inner) ? inner : record(body)
  const metadata = record(error.metadata)
  const availability = record(error.availability)
  const words = [metadata.error_type, error.code, error.type, availability.code]
  const sentence = string(error.message) ?? string(inner) ?? string(error.detail) ?? ""
  const plain = status === null ? faultInStream(error.code) : faultOfStatus(status)
  const wasFlagged = list(metadata.reasons).length > 0
  return {
    ...plain,
    reason: reasonOfWords(words) ?? (wasFlagged ? "refused" : reasonOfSentence(sentence, plain.reason)),
    ...words.map(machineCode).find((each) => each.code !== undefined),
    ...(typeof availability.retryable === "boolean" ? { shouldRetry: availability.retryable } : {})
  }
}

const reasonOfWords = (words: ReadonlyArray<unknown>): ModelErrorReason | undefined =>
  words.map((word) => lookUp(reasonsOfWords, string(word) ?? "")).find((reason) => reason !== undefined)

/** The message is searched only if the reason is one under which servers report a context that is too long. */
const reasonOfSentence = (sentence: string, reason: ModelErrorReason): ModelErrorReason => {
  const mayBeLength = reason === "invalid_request" || reason === "unknown" || reason === "overloaded"
  return mayBeLength && tellsContextTooLong(sentence) ? "context_too_long" : reason
}

/** The code of an error inside a stream is often the HTTP status that the error would otherwise have had. */
const faultInStream = (code: unknown): Fault => ({ reason: faultOfStatus(finite(code) ?? 0).reason })

const reasonsOfWords: { readonly [word: string]: ModelErrorReason } = {
  invalid_api_key: "auth",
  authentication: "auth",
  permission_denied: "auth",
  insufficient_quota: "quota",
  payment_required: "quota",
  rate_limit_exceeded: "rate_limited",
  context_length_exceeded: "context_too_long",
  payload_too_large: "context_too_long",
  content_filter: "refused",
  content_policy_violation: "refused",
  refusal: "refused",
  bio_policy: "refused",
  misalignment_policy_violation: "refused",
  image_content_policy_violation: "refused",
  model_not_found: "model_not_found",
  model_deprecated: "model_not_found",
  no_endpoints: "model_not_found",
  not_found: "model_not_found",
  invalid_request: "invalid_request",
  invalid_prompt: "invalid_request",
  invalid_image: "invalid_request",
  invalid_image_format: "invalid_request",
  invalid_image_url: "invalid_request",
  image_parse_error: "invalid_request",
  image_too_large: "invalid_request",
  failed_to_download_image: "invalid_request",
  max_tokens_exceeded: "invalid_request",
  server_error: "overloaded",
  server: "overloaded",
  overloaded: "overloaded",
  provider_overloaded: "overloaded",
  provider_unavailable: "overloaded",
  capacity_exhausted: "overloaded",
  temporarily_unavailable: "overloaded",
  timeout: "timeout",
  vector_store_timeout: "timeout"
}
