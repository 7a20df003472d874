/** The fields that a host's part adds to messages, checked by their schemas and given to the part as its options. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isGiven, type RawFields } from "../bodies/RawFields.ts"
import { toProblems } from "../bodies/Problems.ts"
import { isRecord, parseJson } from "../wire/Json.ts"
import type { MessageWords, OwnFields } from "./Wing.ts"

/**
 * `title` is what the fields ask for, as the subject of a sentence. A field that is given asks the part; without any, the message is of no
 * concern to it. The part's options have the names of the fields, with the values that their schemas decode.
 */
export const messageFields = (title: string, own: OwnFields): MessageWords => {
  const names = Object.keys(own)
  const readers = names.map((name) => [name, reader(own[name])] as const)
  return {
    own,
    concerns: names,
    asked: (fields) => names.filter((name) => isGiven(fields[name])).map((name) => ({ path: [name], title })),
    problems: (fields) =>
      readers.flatMap(([name, read]) => {
        const found = isGiven(fields[name]) ? read(fields[name]) : null
        return found === null || Result.isSuccess(found) ? [] : toProblems(found.failure.issue, ["body", name])
      }),
    options: (_, { value }) => {
      const fields: RawFields = isRecord(value) ? value : {}
      return Object.fromEntries(
        readers.flatMap(([name, read]) => {
          const found = isGiven(fields[name]) ? read(fields[name]) : null
          return found !== null && Result.isSuccess(found) && isJson(found.success) ? [[name, found.success]] : []
        })
      )
    }
  }
}

const isJson = Schema.is(Schema.Json)

/** In a form every value is text: what does not fit as text may be the JSON of a value. */
const reader = (schema: Schema.ConstraintDecoder<unknown> = Schema.Never) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  return (value: unknown) => {
    const found = decode(value)
    if (Result.isSuccess(found) || typeof value !== "string") return found
    const parsed = parseJson(value)
    const asJson = Result.isSuccess(parsed) ? decode(parsed.success) : found
    return Result.isSuccess(asJson) ? asJson : found
  }
}
