/**
 * What went wrong with a provider, before it is known whom to blame: the parts of a `ModelError` that a protocol can tell. The table of
 * HTTP statuses and the headers on retries are the same for all vendors; a protocol puts its own error words on top.
 *
 * The text that a provider writes beside its code never leaves this folder: it may hold a prompt or a key.
 */
import type { ModelErrorReason } from "@colloquy/core/adapters"
import { isKnownCode } from "./KnownCodes.ts"

export interface Fault {
  readonly reason: ModelErrorReason
  readonly status?: number
  readonly code?: string
  readonly retryAfterMillis?: number
  readonly shouldRetry?: boolean
}

/** The reason that a status alone tells. Statuses that are missing here are `overloaded` from 500 on, and otherwise unknown. */
const reasons: { readonly [status: number]: ModelErrorReason } = {
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

export const faultOfStatus = (status: number): Fault => {
  // A conflict is a lock on the provider's side; none of the reasons says so, but it passes.
  if (status === 409) return { reason: "unknown", status, shouldRetry: true }
  return { reason: reasons[status] ?? (status >= 500 ? "overloaded" : "unknown"), status }
}

/** A provider's word for an error, if it is a documented one: anything else could quote the conversation, or a key. */
export const machineCode = (value: unknown): { readonly code?: string } => {
  const word = typeof value === "number" ? String(value) : value
  return typeof word === "string" && isKnownCode(word) ? { code: word } : {}
}

/** Servers without a code for it say it in a sentence. */
export const tellsContextTooLong = (message: string): boolean =>
  /context (length|window|size)|maximum context|prompt is too long|too many (input )?tokens|token count .{0,40}exceeds/i.test(
    message.slice(0, 2000)
  )

/** What the headers say about another try: in milliseconds, in seconds, as a date, as a veto. */
export const retryHeaders = (
  headers: Pick<Headers, "get">,
  nowMillis: number
): Pick<Fault, "retryAfterMillis" | "shouldRetry"> => {
  const pause = pauseOf(headers.get("retry-after-ms"), headers.get("retry-after"), nowMillis)
  const word = headers.get("x-should-retry")
  return {
    ...(pause === undefined || !Number.isFinite(pause) ? {} : { retryAfterMillis: Math.max(0, pause) }),
    ...(word === "true" || word === "false" ? { shouldRetry: word === "true" } : {})
  }
}

const pauseOf = (millis: string | null, after: string | null, nowMillis: number): number | undefined => {
  if (millis !== null && isNumber(millis)) return Number(millis)
  if (after === null) return undefined
  if (isNumber(after)) return Number(after) * 1000
  const date = Date.parse(after)
  return Number.isNaN(date) ? undefined : date - nowMillis
}

const isNumber = (header: string): boolean => /^\s*\d+(\.\d+)?\s*$/.test(header)
