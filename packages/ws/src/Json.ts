/** Pure: fields and objects of JSON. */
import * as Schema from "effect/Schema"

/** A JSON object. */
export type Fields = { readonly [field: string]: Schema.Json }

export const isObject = Schema.is(Schema.JsonObject)
export const isList = (value: Schema.Json | undefined): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/** A field that may be absent or null. */
export const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** The value at a path; undefined when a step of the path is not an object. */
export const at = (value: Schema.Json | undefined, ...path: ReadonlyArray<string>): Schema.Json | undefined =>
  path.reduce<Schema.Json | undefined>(
    (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
    value
  )

/** Merges objects. Every other value replaces the one before, and so does an object of another `type`. */
export const merge = (before: Fields, after: Fields): Fields =>
  Object.fromEntries([
    ...Object.entries(before),
    ...Object.entries(after).map(([name, value]) => {
      const old = Object.hasOwn(before, name) ? before[name] : undefined
      const isReplaced = !isObject(old) || !isObject(value) || old["type"] !== value["type"]
      return [name, isReplaced ? value : merge(old, value)] as const
    })
  ])

/** The object without these fields; null if nothing is left. */
export const without = (value: Schema.Json | undefined, names: ReadonlyArray<string>): Fields | null => {
  if (!isObject(value)) return null
  const rest = Object.entries(value).filter(([name]) => !names.includes(name))
  return rest.length === 0 ? null : Object.fromEntries(rest)
}

/** The fields that have a value. */
export const defined = (fields: { readonly [field: string]: Schema.Json | undefined }): Fields =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
