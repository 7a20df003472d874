/**
 * Reads Anthropic's errors, from an error response or from inside a stream. Every error has a type, and some have a more precise code.
 */
import type { ModelErrorReason } from "@colloquy/core/adapters"
import { type Fault, faultOfStatus, machineCode, tellsContextTooLong } from "./Fault.ts"
import type { ErrorDialect } from "./Transport.ts"
import { lookUp, record, string } from "./Wire.ts"

/** The status is null for an error inside a stream. */
export const toFault = (status: number | null, body: unknown): Fault => {
  const error = record(record(body).error)
  const type = string(error.type) ?? ""
  const code = string(record(error.details).error_code) ?? type
  const plain: Fault = status === null ? { reason: "unknown" } : faultOfStatus(status)
  const reason = lookUp(reasons, code) ?? lookUp(reasons, type) ?? plain.reason
  const sentence = string(error.message) ?? ""
  return {
    ...plain,
    reason: reason === "invalid_request" ? reasonOfSentence(sentence) : reason,
    ...(type === "conflict_error" ? { shouldRetry: true } : {}),
    ...machineCode(code)
  }
}

const reasonOfSentence = (sentence: string): ModelErrorReason => {
  if (tellsContextTooLong(sentence)) return "context_too_long"
  return /credit balance is too low/i.test(sentence.slice(0, 2000)) ? "quota" : "invalid_request"
}

const reasons: { readonly [type: string]: ModelErrorReason } = {
  invalid_request_error: "invalid_request",
  authentication_error: "auth",
  billing_error: "quota",
  enforced_spend_limit_reached: "quota",
  permission_error: "auth",
  not_found_error: "model_not_found",
  request_too_large: "context_too_long",
  rate_limit_error: "rate_limited",
  api_error: "overloaded",
  timeout_error: "timeout",
  overloaded_error: "overloaded"
}

export const errorDialect: ErrorDialect = { requestIdHeader: "request-id", fault: toFault }
