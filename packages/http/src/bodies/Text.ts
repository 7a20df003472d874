/** Bytes to text without guessing: what is not UTF-8 is an error, not a question mark. */
import * as Result from "effect/Result"

const decoder = new TextDecoder("utf-8", { fatal: true })

export const decodeText = (bytes: Uint8Array | ArrayBuffer): Result.Result<string, "not_utf8"> => {
  try {
    return Result.succeed(decoder.decode(bytes))
  } catch {
    return Result.fail("not_utf8")
  }
}

const escapes = /(?:%[0-9a-f]{2})+/giu

/** One name or value of a URL-encoded form. A lone `%` stands for itself, as browsers read it. */
export const decodeFormText = (encoded: string): Result.Result<string, "not_utf8"> => {
  try {
    return Result.succeed(encoded.replaceAll("+", " ").replace(escapes, decodeURIComponent))
  } catch {
    return Result.fail("not_utf8")
  }
}

const encoder = new TextEncoder()

/** Bytes that a text takes in UTF-8; counted only when it could be over the limit at all. */
export const isLongerThan = (text: string, bytes: number): boolean =>
  text.length * 3 > bytes && (text.length > bytes || encoder.encode(text).length > bytes)
