/** Reads the wanted value in the text of a model, and writes what is wrong with it as a message to the model. Pure. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { isJsonObject, type SchemaProblem } from "../tools/SchemaRun.ts"

/** Whether a provider that takes only objects at the top takes this schema. */
const isObjectSchema = (schema: Schema.Json): schema is Schema.JsonObject =>
  isJsonObject(schema) && schema["type"] === "object"

/** The schema of an object, with the schema that was asked for as its field `value` where that is not one of an object itself. */
export const objectSchema = (schema: Schema.Json): Schema.JsonObject =>
  isObjectSchema(schema)
    ? schema
    : {
        type: "object",
        properties: { value: moved(schema, "#/properties/value") },
        required: ["value"],
        additionalProperties: false
      }

/** The value that was asked for, in what was written for `objectSchema`. A model may have left the object around it out. */
export const unwrapped = (schema: Schema.Json, written: Schema.Json): Schema.Json =>
  isObjectSchema(schema) || !isJsonObject(written) || !Object.hasOwn(written, "value")
    ? written
    : (written["value"] ?? null)

/** A schema that stands at another place of its document: references into the document name the new place. */
const moved = (schema: Schema.Json, root: string): Schema.Json => {
  if (Array.isArray(schema)) return schema.map((each) => moved(each, root))
  if (!isJsonObject(schema)) return schema
  return mapFields(schema, (value, name) => {
    if (name === "$ref" && typeof value === "string") return value.replace("#", root)
    if (named.has(name) && isJsonObject(value)) return mapFields(value, (each) => moved(each, root))
    return valueKeywords.has(name) ? value : moved(value, root)
  })
}

const mapFields = (
  object: Schema.JsonObject,
  change: (value: Schema.Json, name: string) => Schema.Json
): Schema.JsonObject => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))

/** Their values are schemas under names of the author's own. */
const named = new Set(["$defs", "definitions", "patternProperties", "properties"])

/** Their values are no schemas. */
const valueKeywords = new Set(["const", "default", "enum", "examples"])

/** None: the text is no JSON, also without a fence of code around it. */
export const jsonIn = (text: string): Option.Option<Schema.Json> =>
  Option.orElse(parse(text), () => Option.flatMap(inFence(text), parse))

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

const inFence = (text: string): Option.Option<string> => {
  const fence = text.indexOf("```")
  const begin = text.indexOf("\n", fence)
  const end = text.lastIndexOf("```")
  return fence >= 0 && begin > fence && end > begin ? Option.some(text.slice(begin, end)) : Option.none()
}

export const instruction = (schema: Schema.Json): string =>
  `Answer with one JSON value that fits the following JSON Schema, and with nothing else: no words around it, no fence of code.\n${JSON.stringify(schema)}`

export const repairRequest = (problems: ReadonlyArray<SchemaProblem>): string =>
  [
    "Your answer cannot be used. It has these problems:",
    ...problems.map(
      ({ message, path }) => `- ${path.length === 0 ? "the whole answer" : `/${path.join("/")}`} ${message}`
    ),
    "Answer again, with the whole corrected JSON value and nothing else."
  ].join("\n")
