/**
 * Functions that read single fields of what a provider sent. Protocols use them on streamed chunks in place of a schema: only the fields that
 * are needed are checked, which takes nanoseconds. A field of an unexpected type counts as missing, because servers differ in both respects.
 */
import type * as Schema from "effect/Schema"

export type WireRecord = { readonly [field: string]: unknown }

export const isRecord = (value: unknown): value is WireRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const record = (value: unknown): WireRecord => (isRecord(value) ? value : nothing)

const nothing: WireRecord = {}

export const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const string = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** A string that is not empty. */
export const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

export const finite = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

/** A number of tokens; zero when it is missing or invalid. */
export const count = (value: unknown): number => Math.max(0, Math.round(finite(value) ?? 0))

/** A limit from a vendor's list of models. Zero means that the limit is unknown. */
export const wholeNumber = (value: unknown): number | null => {
  const number = finite(value)
  return number === undefined || number <= 0 ? null : Math.round(number)
}

/** Looks up a word from outside in a table. Inherited properties such as `constructor` are not found. */
export const lookUp = <A>(table: { readonly [key: string]: A }, key: string): A | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined

/** Undefined when the text is not JSON. */
export const parseJson = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

// The two type guards below are given values from `JSON.parse`, which consist of JSON only. So they only need to check for missing values.

const isJson = (parsed: unknown): parsed is Schema.Json => parsed !== undefined

const isJsonRecord = (parsed: WireRecord): parsed is Schema.JsonObject => Object.values(parsed).every(isJson)

/** A parsed value as JSON; null when it is missing. */
export const json = (parsed: unknown): Schema.Json => (isJson(parsed) ? parsed : null)

export const jsonRecord = (parsed: WireRecord): Schema.JsonObject => (isJsonRecord(parsed) ? parsed : {})

/** With the replacement character for each half of a character, which strict servers refuse. `JSON.stringify` writes it as an escape. */
export const wellFormedJson = (written: string): string =>
  written.includes("\\ud")
    ? written.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.startsWith("\\ud") ? "\ufffd" : escape))
    : written

export const base64 = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("base64")

/** Carries a file inside a JSON request. */
export const dataUrl = (mediaType: string, bytes: Uint8Array): string => `data:${mediaType};base64,${base64(bytes)}`

export const fromBase64 = (encoded: string): Uint8Array => new Uint8Array(Buffer.from(encoded, "base64"))
