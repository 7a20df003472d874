/**
 * Data that parts of a turn keep with a message, by their names. `value` belongs to the part: the part shows it, and reads it again in
 * later turns. `prompt` is what the part recalled for the answer of a run that is resumed later, so that nothing is recalled twice.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Message, Supplements } from "./Message.ts"

const Supplement = Schema.Struct({ value: Schema.Json, prompt: Schema.optionalKey(Schema.Json) })
export type Supplement = typeof Supplement.Type

const decodeSupplement = Schema.decodeUnknownOption(Supplement)

/** Reads what a part keeps with a message. */
export const readSupplement = (message: Pick<Message, "supplements">, part: string): Supplement | null =>
  Option.getOrNull(decodeSupplement(message.supplements?.[part]))

/** The value that a part kept, in the supplements of a stored message or, where they are values already, of a reply. */
export const keptIn = (supplements: Supplements | null, part: string): Schema.Json =>
  readSupplement({ supplements }, part)?.value ?? supplements?.[part] ?? null

/** Only the values of the parts, for readers outside of the kernel; absent when there are none. */
export const withValues = (supplements: Supplements | null): { readonly supplements?: Schema.JsonObject } => {
  const values = Object.keys(supplements ?? {}).flatMap((part) => {
    const value = readSupplement({ supplements }, part)?.value ?? null
    return value === null ? [] : [[part, value] as const]
  })
  return values.length === 0 ? {} : { supplements: Object.fromEntries(values) }
}

/** Null when there are no entries, which is the common case. */
export const makeSupplements = (
  entries: Iterable<readonly [part: string, supplement: Supplement]>
): Supplements | null => {
  const all = Object.fromEntries(entries)
  return Object.keys(all).length === 0 ? null : all
}
