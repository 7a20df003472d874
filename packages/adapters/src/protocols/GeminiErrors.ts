/**
 * Reads the errors of Google's APIs, from an error response or from inside a stream. An error has a status word, and details that are more
 * precise.
 */
import type { ModelErrorReason } from "@colloquy/core/adapters"
import { type Fault, faultOfStatus, machineCode, tellsContextTooLong } from "./Fault.ts"
import type { ErrorDialect } from "./Transport.ts"
import { list, lookUp, record, string, type WireRecord } from "./Wire.ts"

/** `status` is null for an error inside a stream. Without server-sent events the body is an array that contains the error. */
export const toFault = (status: number | null, body: unknown): Fault => {
  const error = record(record(Array.isArray(body) ? body[0] : body).error)
  const details = list(error.details).map(record)
  const word = string(error.status) ?? ""
  const plain: Fault = status === null ? { reason: "unknown" } : faultOfStatus(status)
  const reason = reasonOfDetails(details) ?? lookUp(reasons, word) ?? plain.reason
  const isTooLong = reason === "invalid_request" && tellsContextTooLong(string(error.message) ?? "")
  return {
    ...plain,
    reason: isTooLong ? "context_too_long" : reason,
    ...machineCode(word === "" ? error.code : word),
    ...readPause(details)
  }
}

const reasons: { readonly [word: string]: ModelErrorReason } = {
  INVALID_ARGUMENT: "invalid_request",
  FAILED_PRECONDITION: "invalid_request",
  OUT_OF_RANGE: "invalid_request",
  UNAUTHENTICATED: "auth",
  PERMISSION_DENIED: "auth",
  NOT_FOUND: "model_not_found",
  RESOURCE_EXHAUSTED: "rate_limited",
  INTERNAL: "overloaded",
  UNAVAILABLE: "overloaded",
  DEADLINE_EXCEEDED: "timeout"
}

/** Details correct the status word: a wrong key has the word of an invalid argument, and a used-up daily quota that of a short rate limit. */
const reasonOfDetails = (details: ReadonlyArray<WireRecord>): ModelErrorReason | undefined => {
  const limit = details
    .map((each) => lookUp(reasonsOfDetails, string(each.reason) ?? ""))
    .find((each) => each !== undefined)
  const isOfDay = details
    .flatMap((each) => list(each.violations))
    .some((violation) => /PerDay/i.test(string(record(violation).quotaId) ?? ""))
  return limit ?? (isOfDay ? "quota" : undefined)
}

const reasonsOfDetails: { readonly [word: string]: ModelErrorReason } = {
  API_KEY_INVALID: "auth",
  API_KEY_EXPIRED: "auth",
  BILLING_DISABLED: "quota"
}

/** The pause of the detail `RetryInfo`, for example "34s". */
const readPause = (details: ReadonlyArray<WireRecord>): Pick<Fault, "retryAfterMillis"> => {
  const delay = details.map((each) => string(each.retryDelay)).find((each) => each !== undefined)
  const seconds = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay ?? "")?.[1]
  return seconds === undefined ? {} : { retryAfterMillis: Math.ceil(Number(seconds) * 1000) }
}

/** Only errors have an id in a header; the id of an answer is inside its body. */
export const errorDialect: ErrorDialect = { requestIdHeader: "x-goog-request-id", fault: toFault }
