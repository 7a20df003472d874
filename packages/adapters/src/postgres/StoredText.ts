/**
 * Text and JSON on their way into `text` columns and back. Postgres holds neither NUL nor lone surrogates, but models and clients send
 * both. Such text is stored as U+0001 followed by its JSON form, which is plain; so is text that begins with U+0001 itself. Everything
 * comes back as it was, and two texts that differ stay different, owners and keys included.
 *
 * JSON needs no such care: `JSON.stringify` escapes what Postgres cannot hold.
 */
import type * as Schema from "effect/Schema"
import { createHash } from "node:crypto"

const mark = "\u0001"

export const toText = (value: string): string =>
  value.isWellFormed() && !value.includes("\0") && !value.startsWith(mark) ? value : mark + JSON.stringify(value)

export const fromText = (stored: string): string =>
  stored.startsWith(mark) ? String(JSON.parse(stored.slice(1))) : stored

export const toTextOrNull = (value: string | null): string | null => (value === null ? null : toText(value))

export const fromTextOrNull = (stored: string | null): string | null => (stored === null ? null : fromText(stored))

/** Longer texts do not fit into an index beside other columns. */
const longestKey = 255

/** For a column that is looked up by and not read: a long text is stored as its hash. */
export const toKey = (value: string): string => {
  if (value.length <= longestKey) return toText(value)
  return `\u0002${createHash("sha256").update(JSON.stringify(value)).digest("hex")}`
}

/** Null is no JSON at all in the column, so that the database can see it. */
export const toJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

/** What a column holds was written by `toJson` of the same type. */
export const fromJson = <A = Schema.Json>(stored: string): A => JSON.parse(stored)

export const fromJsonOrNull = <A>(stored: string | null): A | null => (stored === null ? null : fromJson<A>(stored))
