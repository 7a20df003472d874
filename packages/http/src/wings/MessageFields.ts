/** The fields that a host's part adds to messages, checked by their schemas and given to the part as its options. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isGiven, type RawFields } from "../bodies/RawFields.ts"
import { toProblems } from "../bodies/Problems.ts"
import { isRecord, parseJson } from "../wire/Json.ts"
import type { MessageWords, OwnFields } from "./Wing.ts"

/**
 * `title` is what the fields ask for, as the subject of a sentence. A field that is given asks the part; without any, the message is of no
 * concern to it. The part's options have the names of the fields, and their values as JSON: of a date or an instance of a class its encoded
 * form, which `Schema.toCodecJson` of the same schema decodes.
 */
export const messageFields = (title: string, own: OwnFields): MessageWords => {
  const names = Object.keys(own)
  const readers = Object.entries(own).map(([name, schema]) => [name, reader(schema)] as const)
  const readAll = (fields: RawFields) =>
    readers.flatMap(([name, read]) => (isGiven(fields[name]) ? [[name, read(fields[name])] as const] : []))
  return {
    own,
    concerns: names,
    asked: (fields) => names.filter((name) => isGiven(fields[name])).map((name) => ({ path: [name], title })),
    problems: (fields) =>
      readAll(fields).flatMap(([name, found]) =>
        Result.isSuccess(found) ? [] : toProblems(found.failure.issue, ["body", name])
      ),
    options: (_, { value }) =>
      Object.fromEntries(
        readAll(isRecord(value) ? value : {}).flatMap(([name, found]) =>
          Result.isSuccess(found) ? [[name, found.success] as const] : []
        )
      )
  }
}

/** In a form every value is text: what does not fit as text may be the JSON of a value. */
const reader = (schema: OwnFields[string]) => {
  const codec = Schema.toCodecJson(schema)
  const decode = Schema.decodeUnknownResult(codec, { errors: "all" })
  const encode = Schema.encodeResult(codec)
  const read = (value: unknown) => Result.flatMap(decode(value), encode)
  return (value: unknown) => {
    const found = read(value)
    if (Result.isSuccess(found) || typeof value !== "string") return found
    const parsed = parseJson(value)
    const asJson = Result.isSuccess(parsed) ? read(parsed.success) : found
    return Result.isSuccess(asJson) ? asJson : found
  }
}
