/**
 * What a question asks of the parts of its turn that give the answer its form: a JSON Schema, typed questions. What other parts do (search,
 * remember, paint) is no form of the answer, and a case does not ask for it.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { checkTypedAsk } from "../answers/CheckQuestions.ts"
import { CheckableSchema } from "./Expectation.ts"

const TypedAsk = Schema.JsonObject.check(
  Schema.makeFilter((asked) =>
    Result.match(checkTypedAsk(asked), {
      onFailure: (problems) => problems.map(({ message, path }) => ({ path, issue: message })),
      onSuccess: () => undefined
    })
  )
)

/** By the names of the parts, as options of a message. */
export const AskedParts = Schema.Struct({
  outputs: Schema.optionalKey(Schema.Struct({ schema: CheckableSchema, name: Schema.optionalKey(Schema.String) })),
  answers: Schema.optionalKey(TypedAsk)
})
export type AskedParts = typeof AskedParts.Type

const read = Schema.decodeUnknownOption(AskedParts)

/** Of the options of a message; undefined: it asked for no form. Options that this version cannot read are none. */
export const askedParts = ({ answers, outputs }: Schema.JsonObject = {}): AskedParts | undefined =>
  answers === undefined && outputs === undefined
    ? undefined
    : Option.getOrUndefined(
        read({ ...(outputs === undefined ? {} : { outputs }), ...(answers === undefined ? {} : { answers }) })
      )

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** The same as fields of a message on the wire. */
export const askedFields = {
  /** JSON Schema (2020-12) of the answer. */
  output_schema: nullable(CheckableSchema),
  output_name: nullable(Schema.String),
  /** Typed questions, in the place of words. */
  system_one: nullable(TypedAsk)
}
const AskedFields = Schema.Struct(askedFields)
type AskedFields = typeof AskedFields.Type

/** A name without a schema is none. */
export const askedFromFields = ({ output_name, output_schema, system_one }: AskedFields): AskedParts | undefined => {
  const name = output_name ?? undefined
  const outputs =
    output_schema == null ? {} : { outputs: { schema: output_schema, ...(name === undefined ? {} : { name }) } }
  const answers = system_one == null ? {} : { answers: system_one }
  return output_schema == null && system_one == null ? undefined : { ...outputs, ...answers }
}

/** The same the other way round: fields for the wire. */
export const fieldsFromAsked = ({ answers, outputs }: AskedParts = {}): AskedFields => ({
  ...(outputs === undefined ? {} : { output_schema: outputs.schema }),
  ...(outputs?.name === undefined ? {} : { output_name: outputs.name }),
  ...(answers === undefined ? {} : { system_one: answers })
})
