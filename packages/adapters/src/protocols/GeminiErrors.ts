/**
 * Errors of Google's interfaces, as an answer of their own or inside a stream: a status word, and details that say more.
 */
import type { ModelErrorReason } from "@colloquy/core/adapters"
import { type Fault, faultOfStatus, machineCode, tellsContextTooLong } from "./Fault.ts"
import type { ErrorDialect } from "./Transport.ts"
import { list, lookUp, record, string, type WireRecord } from "./Wire.ts"

/** The status is null for an error inside a stream. Without server-sent events the error stands in an array. */
export const faultOf = (status: number | null, body: unknown): Fault => {
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
    ...pauseOf(details)
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

/** A wrong key comes as an invalid argument, and a quota for a day, which no pause helps, as one for a minute. */
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

/** `RetryInfo`, such as "34s". */
const pauseOf = (details: ReadonlyArray<WireRecord>): Pick<Fault, "retryAfterMillis"> => {
  const delay = details.map((each) => string(each.retryDelay)).find((each) => each !== undefined)
  const seconds = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay ?? "")?.[1]
  return seconds === undefined ? {} : { retryAfterMillis: Math.ceil(Number(seconds) * 1000) }
}

/** The vendor's id of an answer stands inside it; an error has at most this one. */
export const errorDialect: ErrorDialect = { requestIdHeader: "x-goog-request-id", fault: faultOf }
