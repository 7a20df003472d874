/**
 * A small value of a JSON Schema: the demo model's answer, or the arguments of its call. A value with rules beyond its shape may not fit
 * the schema.
 */
import type * as Schema from "effect/Schema"

const isObject = (value: unknown): value is { readonly [name: string]: Schema.Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const listOrEmpty = (value: unknown): ReadonlyArray<Schema.Json> => (Array.isArray(value) ? value : [])

/** Texts of the value repeat `asked`. */
export const demoObject = (whole: Schema.JsonObject, asked: string): Schema.Json => {
  const at = (pointer: string): unknown =>
    pointer
      .slice(2)
      .split("/")
      .reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), whole)

  const sampleValue = (schema: unknown, depth: number): Schema.Json => {
    if (!isObject(schema) || depth > 10) return null
    if (typeof schema["$ref"] === "string") return sampleValue(at(schema["$ref"]), depth + 1)
    if (schema["const"] !== undefined) return schema["const"]
    const [first] = listOrEmpty(schema["enum"])
    if (first !== undefined) return first
    const [alternative]: ReadonlyArray<unknown> = [...listOrEmpty(schema["anyOf"]), ...listOrEmpty(schema["oneOf"])]
    if (isObject(alternative)) return sampleValue({ ...schema, anyOf: null, oneOf: null, ...alternative }, depth + 1)
    const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]
    switch (type) {
      case "object": {
        const properties = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})
        const wanted = schema["required"] ?? properties.map(([name]) => name)
        const given = properties.filter(([name]) => listOrEmpty(wanted).includes(name))
        return Object.fromEntries(given.map(([name, each]) => [name, sampleValue(each, depth + 1)]))
      }
      case "array":
        return [sampleValue(schema["items"] ?? {}, depth + 1)]
      case "integer":
      case "number":
        return typeof schema["minimum"] === "number" ? schema["minimum"] : 1
      case "boolean":
        return true
      case "null":
        return null
      default:
        return typeof schema["maxLength"] === "number" ? asked.slice(0, schema["maxLength"]) : asked
    }
  }
  return sampleValue(whole, 0)
}
