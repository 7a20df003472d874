/**
 * A failure of a provider: the fields of a `ModelError` that a protocol can determine; `Transport` adds the provider and the model. The retry headers
 * are the same for all vendors. A protocol adds the error words of its vendor.
 *
 * The message of a provider's error leaves this folder only through `operatorDetail`, because it may quote a prompt or a key.
 */
import { type ModelErrorReason, reasonOfStatus } from "@colloquy/core/adapters"
import { isKnownCode } from "./KnownCodes.ts"
import { isRecord, list, record } from "./Wire.ts"

export interface Fault {
  readonly reason: ModelErrorReason
  readonly status?: number
  readonly code?: string
  readonly retryAfterMillis?: number
  readonly shouldRetry?: boolean
  /** The provider's sentence as `operatorDetail` leaves it. */
  readonly forOperator?: string
}

export const faultOfStatus = (status: number): Fault => {
  // A conflict is a lock on the provider's side. There is no reason of this name, but a retry may succeed.
  if (status === 409) return { reason: "unknown", status, shouldRetry: true }
  return { reason: reasonOfStatus(status), status }
}

/** The provider's error code, if it is a documented one. Any other text could quote the conversation or a key. */
export const machineCode = (value: unknown): { readonly code?: string } => {
  const word = typeof value === "number" ? String(value) : value
  return typeof word === "string" && isKnownCode(word) ? { code: word } : {}
}

/** The sentence of an error, from whichever field a vendor has put it into; empty where there is none. */
export const sentenceIn = (body: unknown, depth = 0): string => {
  if (typeof body === "string") return body
  if (Array.isArray(body)) return depth < deepestSentence ? sentenceIn(body[0], depth + 1) : ""
  if (!isRecord(body) || depth >= deepestSentence) return ""
  const { detail, error, message } = body
  return [message, detail, error].map((each) => sentenceIn(each, depth + 1)).find((text) => text !== "") ?? ""
}

/** The sentence of an error inside of an answer: of the event, of its response or of its choice. Empty where there is none. */
export const sentenceInEvent = (event: unknown): string => {
  const { choices, error, message, response, type } = record(Array.isArray(event) ? event[0] : event)
  const errors = [error, record(response).error, record(list(choices)[0]).error, type === "error" ? message : ""]
  return errors.map((each) => sentenceIn(each)).find((text) => text !== "") ?? ""
}

/** A hostile server may nest its error deep enough to overflow the stack. */
const deepestSentence = 8

/** Some servers have no code for a context that is too long, and only say it in the message. */
export const tellsContextTooLong = (message: string): boolean =>
  /context (length|window|size)|maximum context|prompt is too long|too many (input )?tokens|token count .{0,40}exceeds/i.test(
    message.slice(0, 2000)
  )

/** Reads the headers about retries: a pause in milliseconds, in seconds or as a date, and whether a retry makes sense. */
export const retryHeaders = (
  headers: Pick<Headers, "get">,
  nowMillis: number
): Pick<Fault, "retryAfterMillis" | "shouldRetry"> => {
  const pause = readPause(headers.get("retry-after-ms"), headers.get("retry-after"), nowMillis)
  const word = headers.get("x-should-retry")
  return {
    ...(pause === undefined || !Number.isFinite(pause) ? {} : { retryAfterMillis: Math.max(0, pause) }),
    ...(word === "true" || word === "false" ? { shouldRetry: word === "true" } : {})
  }
}

const readPause = (millis: string | null, after: string | null, nowMillis: number): number | undefined => {
  if (millis !== null && isNumber(millis)) return Number(millis)
  if (after === null) return undefined
  if (isNumber(after)) return Number(after) * 1000
  const date = Date.parse(after)
  return Number.isNaN(date) ? undefined : date - nowMillis
}

const isNumber = (header: string): boolean => /^\s*\d+(\.\d+)?\s*$/.test(header)
