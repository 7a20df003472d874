/** The smallest value of a JSON Schema, as the demo model's answer where one is asked for. What has rules beyond its shape may not fit. */
import type * as Schema from "effect/Schema"

const isObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const listOrEmpty = (value: unknown): ReadonlyArray<Schema.Json> => (Array.isArray(value) ? value : [])

/** `asked` is what texts repeat. */
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
    const [alternative] = [...listOrEmpty(schema["anyOf"]), ...listOrEmpty(schema["oneOf"])]
    if (alternative !== undefined) return sampleValue(alternative, depth + 1)
    const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]
    switch (type) {
      case "object": {
        const properties = isObject(schema["properties"]) ? schema["properties"] : {}
        return Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [name, sampleValue(each, depth + 1)])
        )
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
        return asked.slice(0, typeof schema["maxLength"] === "number" ? schema["maxLength"] : 60)
    }
  }
  return sampleValue(whole, 0)
}
