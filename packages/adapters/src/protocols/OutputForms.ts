/**
 * Pure: schemas of answers in the subset that a vendor accepts. A limit that the vendor cannot enforce is written into the description,
 * where the model reads it; the kernel checks it in any case. If a keyword outside of the subset changes the shape of a value, the form is
 * null, and the kernel tells the model the schema in words.
 */
import { isJsonObject } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import type { WireRecord } from "./Wire.ts"

export interface SchemaSubset {
  readonly keywords: ReadonlySet<string>
  /** Whether every object must refuse fields that it does not name. */
  readonly isClosed: boolean
  /** Whether a schema may contain itself. */
  readonly mayRecurse: boolean
}

/** Keywords that narrow a value and do not change its shape. */
const limits = new Set([
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties"
])

const annotations = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly"
])

/** The keywords that all vendors accept. */
const common = [
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "enum",
  "$ref",
  "$defs",
  "description"
]

export const geminiSubset: SchemaSubset = {
  keywords: new Set([...common, "format", "title", "prefixItems", "minItems", "maxItems", "minimum", "maximum"]),
  isClosed: false,
  mayRecurse: true
}

export const anthropicSubset: SchemaSubset = {
  keywords: new Set([...common, "const", "allOf", "title"]),
  isClosed: true,
  mayRecurse: false
}

/** Null: the vendor cannot enforce this schema. */
export const fitted = (schema: Schema.Json, subset: SchemaSubset): Schema.JsonObject | null =>
  subset.mayRecurse || !isRecursive(schema) ? fit(schema, subset) : null

const fit = (schema: Schema.Json, subset: SchemaSubset): Schema.JsonObject | null => {
  if (!isJsonObject(schema)) return null
  const form: Record<string, Schema.Json> = {}
  const notes: Array<string> = []
  for (const [name, value] of Object.entries(schema)) {
    const isAlternative = name === "oneOf" && !subset.keywords.has(name)
    const isConstant = name === "const" && !subset.keywords.has(name) && typeof value === "string"
    if (isConstant) form["enum"] = [value]
    else if (subset.keywords.has(name) || isAlternative) {
      const fittedValue = fitValue(name, value, subset)
      if (fittedValue === null) return null
      form[isAlternative ? "anyOf" : name] = fittedValue
    } else if (limits.has(name)) notes.push(`${name}: ${JSON.stringify(value)}`)
    else if (!annotations.has(name)) return null
  }
  if (subset.isClosed && schema["type"] === "object") {
    if (form["additionalProperties"] !== undefined && form["additionalProperties"] !== false) return null
    form["additionalProperties"] = false
  }
  if (notes.length > 0) {
    const described = typeof form["description"] === "string" ? `${form["description"]} ` : ""
    form["description"] = `${described}(${notes.join(", ")})`
  }
  return form
}

/** The value of a keyword; null if it holds a schema that does not fit. */
const fitValue = (name: string, value: Schema.Json, subset: SchemaSubset): Schema.Json | null => {
  switch (name) {
    case "properties":
    case "$defs":
      return isJsonObject(value) ? all(Object.entries(value).map(([key, each]) => [key, fit(each, subset)])) : null
    case "anyOf":
    case "oneOf":
    case "allOf":
    case "prefixItems": {
      const forms = isList(value) ? value.map((each) => fit(each, subset)) : [null]
      return forms.every((form) => form !== null) ? forms : null
    }
    case "items":
      return fit(value, subset)
    case "additionalProperties":
      return typeof value === "boolean" ? value : fit(value, subset)
    default:
      return value
  }
}

const all = (fields: ReadonlyArray<readonly [string, Schema.Json | null]>): Schema.JsonObject | null =>
  fields.every(([, form]) => form !== null) ? Object.fromEntries(fields) : null

/** Whether a reference leads back to a schema that contains it. */
const isRecursive = (schema: Schema.Json): boolean => {
  const done = new Set<string>()
  const visit = (pointer: string, way: ReadonlySet<string>): boolean => {
    if (way.has(pointer)) return true
    if (done.has(pointer)) return false
    const longer = new Set([...way, pointer])
    const found = referencesIn(at(schema, pointer)).some((next) => next === "#" || visit(next, longer))
    done.add(pointer)
    return found
  }
  return referencesIn(schema).some((pointer) => pointer === "#" || visit(pointer, new Set()))
}

const referencesIn = (schema: Schema.Json | undefined): ReadonlyArray<string> => {
  const found = new Set<string>()
  const walk = (value: Schema.Json | undefined): void => {
    if (isList(value)) for (const each of value) walk(each)
    else if (isJsonObject(value)) {
      for (const [name, each] of Object.entries(value)) {
        if (name === "$ref" && typeof each === "string") found.add(each)
        else if (name !== "$defs" && name !== "definitions") walk(each)
      }
    }
  }
  walk(schema)
  return [...found]
}

const at = (schema: Schema.Json, pointer: string): Schema.Json | undefined =>
  pointer
    .slice(2)
    .split("/")
    .reduce<Schema.Json | undefined>(
      (value, key) => (isJsonObject(value) ? value[key.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
      schema
    )

/**
 * Whether OpenAI can enforce a schema (`strict`): it knows all the keywords, every object is closed, and every field is required. Any other
 * schema is sent all the same, and the model follows it as well as it can.
 */
export const isStrict = (schema: Schema.Json): boolean =>
  isJsonObject(schema) &&
  Object.entries(schema).every(([name, value]) => strictKeywords.has(name) && isStrictValue(name, value)) &&
  (schema["type"] !== "object" ||
    (schema["additionalProperties"] === false &&
      Object.keys(isJsonObject(schema["properties"]) ? schema["properties"] : {}).every((name) =>
        listOrEmpty(schema["required"]).includes(name)
      )))

const isStrictValue = (name: string, value: Schema.Json): boolean => {
  if (name === "properties" || name === "$defs") return isJsonObject(value) && Object.values(value).every(isStrict)
  if (name === "anyOf") return isList(value) && value.every(isStrict)
  return name !== "items" || isStrict(value)
}

const strictKeywords = new Set([
  ...common,
  "const",
  "title",
  "pattern",
  "multipleOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems"
])

const isList = (value: unknown): value is ReadonlyArray<Schema.Json> => Array.isArray(value)
const listOrEmpty = (value: Schema.Json | undefined): ReadonlyArray<Schema.Json> => (isList(value) ? value : [])

/** The fields of `json_schema` in both of OpenAI's protocols. */
export const openAiFormat = ({
  name,
  schema
}: {
  readonly name: string
  readonly schema: Schema.JsonObject
}): WireRecord => ({
  name,
  schema,
  strict: isStrict(schema)
})
