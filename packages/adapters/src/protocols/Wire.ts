/**
 * Narrow looks into what a provider sent. A protocol reads a streamed chunk with these instead of a schema: only the few fields that
 * are used are checked, in nanoseconds, and whatever is missing or of another type counts as absent, because dialects differ in both.
 */
import type * as Schema from "effect/Schema"

export type WireRecord = { readonly [field: string]: unknown }

export const isRecord = (value: unknown): value is WireRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const record = (value: unknown): WireRecord => (isRecord(value) ? value : nothing)

const nothing: WireRecord = {}

export const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const string = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** A text with something in it. */
export const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

export const finite = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

/** A number of tokens: zero when it is missing or makes no sense. */
export const count = (value: unknown): number => Math.max(0, Math.round(finite(value) ?? 0))

/** A limit as a vendor's list of models tells it: zero is none. */
export const wholeNumber = (value: unknown): number | null => {
  const number = finite(value)
  return number === undefined || number <= 0 ? null : Math.round(number)
}

/** What a table has under a word that came from outside: a word such as `constructor` finds nothing. */
export const lookUp = <A>(table: { readonly [key: string]: A }, key: string): A | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined

/** Undefined when the text is no JSON. */
export const parseJson = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

// What came out of `JSON.parse` is JSON all the way down, so only what is missing needs a look.

const isJson = (parsed: unknown): parsed is Schema.Json => parsed !== undefined

const isJsonRecord = (parsed: WireRecord): parsed is Schema.JsonObject => Object.values(parsed).every(isJson)

/** For a parsed value that is kept as it is. */
export const json = (parsed: unknown): Schema.Json => (isJson(parsed) ? parsed : null)

export const jsonRecord = (parsed: WireRecord): Schema.JsonObject => (isJsonRecord(parsed) ? parsed : {})

export const base64 = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("base64")

export const fromBase64 = (encoded: string): Uint8Array => new Uint8Array(Buffer.from(encoded, "base64"))
