/** Bytes to text without guessing: what is not UTF-8 is an error, not a question mark. */
import type { Steps } from "@colloquy/core/adapters"
import * as Result from "effect/Result"
import { isRecord } from "../wire/Json.ts"

const decoder = new TextDecoder("utf-8", { fatal: true })

export const decodeText = (bytes: Uint8Array | ArrayBuffer): Result.Result<string, "not_utf8"> => {
  try {
    return Result.succeed(decoder.decode(bytes))
  } catch {
    return Result.fail("not_utf8")
  }
}

export const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

/** Bytes of a text that are decoded between two steps. */
const slice = 512 * 1024

/** Many bytes to text in steps. The pieces joined are the text. */
export function* decodingText(bytes: ArrayBuffer): Steps<Result.Result<ReadonlyArray<string>, "not_utf8">> {
  const pieces: Array<string> = []
  const streaming = new TextDecoder("utf-8", { fatal: true })
  try {
    for (let at = 0; at < bytes.byteLength; at += slice) {
      const piece = new Uint8Array(bytes, at, Math.min(slice, bytes.byteLength - at))
      pieces.push(streaming.decode(piece, { stream: at + slice < bytes.byteLength }))
      yield
    }
  } catch {
    return Result.fail("not_utf8")
  }
  return Result.succeed(pieces)
}

const formDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const [percent, plus, space] = [37, 43, 32]

/** One name or value of a URL-encoded form. A lone `%` stands for itself, as browsers read it. */
export function* decodingFormText(encoded: Uint8Array): Steps<Result.Result<string, "not_utf8">> {
  const decoded = new Uint8Array(encoded.length)
  let to = 0
  for (let from = 0; from < encoded.length; from++) {
    const byte = encoded[from] ?? 0
    const escaped = byte === percent ? hexPair(encoded[from + 1], encoded[from + 2]) : none
    decoded[to++] = byte === plus ? space : escaped === none ? byte : escaped
    if (escaped !== none) from += 2
    if (to % slice === 0) yield
  }
  try {
    return Result.succeed(formDecoder.decode(decoded.subarray(0, to)))
  } catch {
    return Result.fail("not_utf8")
  }
}

const none = -1

const hexPair = (first = 0, second = 0): number => {
  const [high, low] = [hexDigit(first), hexDigit(second)]
  return high === none || low === none ? none : high * 16 + low
}

const hexDigit = (code: number): number => {
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : none
}

const encoder = new TextEncoder()

/** The error of a text that is over the limit of one text. */
export const textOverLimit = (limit: number): string => `The text is over the limit of ${limit} bytes`

/** Whether a text of a body, or its metadata as a whole, is longer than a text may be. */
export const hasTextOver = (body: unknown, limit: number): boolean => {
  if (!isRecord(body)) return false
  let metadataLeft = limit
  const isOver = (value: unknown, isMetadata: boolean): boolean => {
    if (typeof value === "string") {
      if (isMetadata) metadataLeft -= value.length
      return metadataLeft < 0 || isLongerThan(value, limit)
    }
    return typeof value === "object" && value !== null && Object.values(value).some((each) => isOver(each, isMetadata))
  }
  return Object.entries(body).some(([name, value]) => isOver(value, name === "metadata"))
}

/** Whether a text takes more bytes than this in UTF-8. They are counted only when they could be too many. */
export const isLongerThan = (text: string, bytes: number): boolean =>
  text.length * 3 > bytes && (text.length > bytes || encoder.encode(text).length > bytes)
