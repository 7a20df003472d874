/**
 * Turns the fields of a form into a JSON body: booleans arrive as words, objects and arrays as JSON text, and an empty field counts as not
 * given.
 */
import * as Result from "effect/Result"
import type { ValidationError } from "../wire/Errors.ts"
import { booleanPattern, saysTrue } from "../wire/Fields.ts"
import { booleanFields, jsonFields, numberFields } from "../wire/MessageBody.ts"
import { parseJson } from "../wire/Json.ts"

export interface ReadForm {
  readonly body: Readonly<Record<string, unknown>>
  /** Fields that could not be read. They are left out of `body`. */
  readonly problems: ReadonlyArray<ValidationError>
}

type Field = Result.Result<unknown, Omit<ValidationError, "loc">>

const readers: ReadonlyMap<string, (text: string) => Field> = new Map([
  ...booleanFields.map((name) => [name, readBoolean] as const),
  ...jsonFields.map((name) => [name, readJson] as const),
  ...numberFields.map((name) => [name, readNumber] as const)
])

function readBoolean(text: string): Field {
  return booleanPattern.test(text)
    ? Result.succeed(saysTrue(text))
    : Result.fail({ msg: "Expected a boolean", type: "bool_parsing" })
}

function readNumber(text: string): Field {
  return /^[+-]?\d{1,15}$/u.test(text)
    ? Result.succeed(Number(text))
    : Result.fail({ msg: "Expected an integer", type: "int_parsing" })
}

function readJson(text: string): Field {
  return Result.mapError(parseJson(text), (fault) => ({
    msg: fault === "malformed" ? "Expected JSON text" : "The JSON is too large in depth or number of values",
    type: "json_invalid"
  }))
}

/** Of a field that stands more than once, the last one counts. */
export const readForm = (fields: Iterable<readonly [string, string]>): ReadForm => {
  const body = new Map<string, unknown>()
  const problems = new Map<string, ValidationError>()
  for (const [name, text] of fields) {
    body.delete(name)
    problems.delete(name)
    if (text === "") continue
    const read = readers.get(name)?.(text) ?? Result.succeed(text)
    if (Result.isSuccess(read)) body.set(name, read.success)
    else problems.set(name, { loc: ["body", name], ...read.failure })
  }
  return { body: Object.fromEntries(body), problems: [...problems.values()] }
}
