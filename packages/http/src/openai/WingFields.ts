/**
 * The fields that a host's wings bring to messages, in the bodies of OpenAI's clients: they are checked and given to their parts as in the
 * native API. A name that the interface of OpenAI has itself is no field of a wing here.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { KernelError } from "../wire/ErrorStatus.ts"
import { bodyContext } from "../wings/BodyReader.ts"
import { Wings } from "../wings/Wings.ts"
import { fromKernel, fromWire, OpenAiError } from "./Errors.ts"
import { isOfOpenAi } from "./Options.ts"
import type { Fields } from "./Request.ts"

export interface WingFields {
  /** The fields as they were sent. */
  readonly sent: Fields
  /** The options of their parts, as `TurnRequest.options`. */
  readonly options: Schema.JsonObject
}

export const makeWingFields = Effect.gen(function* () {
  // The routes of a wing are built where the wings of the API are.
  const wings = Option.getOrThrow(yield* Effect.serviceOption(Wings))
  const { parts } = yield* Effect.provideService(bodyContext, Wings, wings)

  /** `known`: the fields that the interface reads. */
  const read = (fields: Fields, known: object): Result.Result<WingFields, OpenAiError> => {
    const names = wings.brought.filter((name) => Object.hasOwn(fields, name) && !isOfOpenAi(name, known))
    const sent = Object.fromEntries(names.map((name) => [name, fields[name]]))
    const raw = { value: sent, files: [], problems: [] }
    const problems = parts().problems(sent, raw)
    return problems.length === 0
      ? Result.succeed({ sent, options: wings.options({}, raw) ?? {} })
      : Result.fail(fromWire({ status: 422, detail: problems }))
  }

  /** The reason why a turn was refused, with the names of the body's fields. */
  const refusal = (error: OpenAiError | KernelError): OpenAiError =>
    error instanceof OpenAiError ? error : fromKernel(error, wings.bodyPath)

  return { read, refusal }
})
