/**
 * Reads the parameters of a tool in any form in which a host may describe them: a Standard Schema that yields JSON Schema (zod, valibot
 * with `toStandardJsonSchema`), an Effect schema, or JSON Schema. Two things are made of the one description: the JSON Schema that the
 * model reads, and the check of the model's arguments. Used by `tool`.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import { checkedSchema } from "../tools/CheckedSchema.ts"

/** A Standard Schema of version 1 that can be written as JSON Schema. */
export interface DescribedSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>
}

/** `null`: no description, so every JSON object that the model writes is passed on. */
export type ToolParameters = DescribedSchema | Schema.Codec<unknown, unknown> | Schema.JsonObject | null

/** The type of the checked arguments. */
export type ArgumentsOf<Parameters extends ToolParameters> =
  Parameters extends Schema.Codec<infer Type, unknown>
    ? Type
    : Parameters extends DescribedSchema<infer _, infer Output>
      ? Output
      : Schema.JsonObject

type Checked<Arguments> = StandardSchemaV1.Result<Arguments> | Promise<StandardSchemaV1.Result<Arguments>>

export interface ReadParameters<Arguments> {
  readonly jsonSchema: Schema.JsonObject | null
  readonly check: (args: Schema.JsonObject) => Checked<Arguments>
}

/** Throws a `TypeError` that says what to change when the description is not usable. */
export const readParameters = <Parameters extends ToolParameters>(
  parameters: Parameters
): ReadParameters<ArgumentsOf<Parameters>> => {
  const { jsonSchema, validate } = read(parameters)
  return {
    jsonSchema: jsonSchema === null ? null : asObjectSchema(jsonSchema),
    // Decoder. The cast is safe: by the contract of Standard Schema, `validate` returns the output type that `ArgumentsOf` names.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    check: validate as ReadParameters<ArgumentsOf<Parameters>>["check"]
  }
}

interface Described {
  readonly jsonSchema: unknown
  readonly validate: (args: unknown) => Checked<unknown>
}

const read = (parameters: ToolParameters): Described => {
  // Plain JavaScript may have left them out.
  if (parameters === undefined) {
    throw new TypeError("A tool has `parameters`: a schema of what it takes, or null where nothing is described.")
  }
  if (parameters === null) return { jsonSchema: null, validate: (value) => ({ value }) }
  if (Schema.isSchema(parameters)) return describe(standardSchema(parameters))
  if (isStandard(parameters)) return describe(parameters)
  return describeJsonSchema(parameters)
}

/**
 * The schema of a value in any of the forms, as JSON Schema and as a check. A value of JSON Schema is not checked here: the part of the turn
 * that asks the model for it has done so.
 */
export const readSchema = (schema: DescribedSchema | Schema.Codec<unknown, unknown> | Schema.JsonObject) => {
  const isChecked = !Schema.isSchema(schema) && !isStandard(schema)
  const { jsonSchema, validate }: Described = isChecked
    ? { jsonSchema: schema, validate: (value) => ({ value }) }
    : read(schema)
  return { jsonSchema: decodeJson(jsonSchema), validate, isChecked }
}

/** Effect schemas read JSON: a `Schema.Date` accepts the text that its JSON Schema describes. */
const standardSchema = (schema: Schema.Codec<unknown, unknown>): DescribedSchema => {
  const codec = Schema.toCodecJson(schema)
  return Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(codec, { parseOptions: { errors: "all" } }))
}

const isStandard = (parameters: DescribedSchema | Schema.JsonObject): parameters is DescribedSchema =>
  "~standard" in parameters

const describe = ({ "~standard": standard }: DescribedSchema): Described => {
  // The type requires this part, but callers in plain JavaScript may pass a schema without it.
  const converter: DescribedSchema["~standard"]["jsonSchema"] | undefined = standard.jsonSchema
  if (converter === undefined) {
    throw new TypeError(
      `This schema of ${standard.vendor} yields no JSON Schema, which the model reads. ` +
        (standard.vendor === "valibot"
          ? "Wrap it in `toStandardJsonSchema` of @valibot/to-json-schema."
          : "Use a version that implements `~standard.jsonSchema`, or give JSON Schema.")
    )
  }
  return { jsonSchema: converter.input({ target: "draft-2020-12" }), validate: (args) => standard.validate(args) }
}

/** A schema that cannot be checked wholly is refused here, so that no schema is checked only in part. */
const describeJsonSchema = (jsonSchema: Schema.JsonObject): Described => {
  const { findProblems } = Result.getOrElse(checkedSchema(jsonSchema), (problems) => {
    const found = problems.map(({ message, path }) => `${path.join(".") || "the schema"}: ${message}`).join(" ")
    throw new TypeError(
      `Arguments cannot be checked against this JSON Schema. ${found} Change it, or give the parameters as a schema of a library.`
    )
  })
  return {
    jsonSchema,
    validate: (args) => {
      const value = decodeJson(args)
      const issues = findProblems(value)
      return issues.length === 0 ? { value } : { issues }
    }
  }
}

/** Providers accept only an object at the top level, without a reference in its place. A model does not use `$schema`. */
const asObjectSchema = (given: unknown): Schema.JsonObject => {
  const { $schema: _, ...schema } = decodeJsonObject(given)
  const whole = typeof schema["$ref"] === "string" ? followed(schema, schema["$ref"]) : schema
  if (whole["type"] === "object") return whole
  throw new TypeError(
    "The parameters of a tool must be an object. Put a list, a union or a single value into a field of it."
  )
}

const followed = (schema: Schema.JsonObject, reference: string): Schema.JsonObject => {
  const { $ref: _, ...rest } = schema
  const definition = Schema.decodeUnknownSync(Definitions)(rest).$defs[reference.replace(/^#\/\$defs\//u, "")]
  return { ...definition, ...rest }
}

const Definitions = Schema.Struct({ $defs: Schema.Record(Schema.String, Schema.JsonObject) })

const decodeJson = Schema.decodeUnknownSync(Schema.Json)
const decodeJsonObject = Schema.decodeUnknownSync(Schema.JsonObject)
