/**
 * Text and JSON on their way into `text` columns and back. Postgres holds neither NUL nor lone surrogates, but models and clients send
 * both. Such text is stored as U+0001 followed by its JSON form, which is plain; so is text that begins with U+0001 itself. Everything
 * comes back as it was, and two texts that differ stay different, owners and keys included.
 *
 * JSON needs no such care: `JSON.stringify` escapes what Postgres cannot hold.
 */
import type * as Schema from "effect/Schema"

const mark = "\u0001"
const needsMark = /[\0\p{Surrogate}]|^\u0001/u

export const toText = (value: string): string => (needsMark.test(value) ? mark + JSON.stringify(value) : value)

export const fromText = (stored: string): string =>
  stored.startsWith(mark) ? String(JSON.parse(stored.slice(1))) : stored

export const toTextOrNull = (value: string | null): string | null => (value === null ? null : toText(value))

export const fromTextOrNull = (stored: string | null): string | null => (stored === null ? null : fromText(stored))

/** Null is no JSON at all in the column, so that the database can see it. */
export const toJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

/** What a column holds was written by `toJson` of the same type. */
export const fromJson = <A = Schema.Json>(stored: string): A => JSON.parse(stored)

export const fromJsonOrNull = <A>(stored: string | null): A | null => (stored === null ? null : fromJson<A>(stored))
