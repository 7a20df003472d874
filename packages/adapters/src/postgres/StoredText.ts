/**
 * Converts text and JSON for columns of type `text`, and back. PostgreSQL can store neither NUL nor lone surrogates, but models and clients
 * send both. A text that contains them, or begins with U+0001, is stored as U+0001 followed by the text as JSON, which escapes them.
 * Reading reverses this, so every text is returned as it was, and different texts stay different (this matters for owners and keys).
 *
 * JSON is stored as it is: `JSON.stringify` escapes NUL and lone surrogates.
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

/** Longer texts might not fit into an index entry together with other columns. */
const longestKey = 255

/** For a column that is only compared and never read: a long text is stored as its hash. */
export const toKey = (value: string): string => {
  if (value.length <= longestKey) return toText(value)
  return `\u0002${createHash("sha256").update(JSON.stringify(value)).digest("hex")}`
}

/** Null is stored as SQL null and not as JSON, so that statements can test for it. */
export const toJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

/** The type is not checked: the caller names the type of the value that `toJson` has written to the column. */
export const fromJson = <A = Schema.Json>(stored: string): A => JSON.parse(stored)

export const fromJsonOrNull = <A>(stored: string | null): A | null => (stored === null ? null : fromJson<A>(stored))
