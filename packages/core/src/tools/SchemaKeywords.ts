/** What each keyword of a schema checks, and how each may be written. */
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { type LinearPattern, linearPattern } from "./LinearPattern.ts"
import {
  canonical,
  type Check,
  isJsonObject,
  isKind,
  isList,
  jsonKind,
  kinds,
  kindWords,
  mostProblems,
  type Run,
  type SchemaProblem,
  type Way
} from "./SchemaRun.ts"

export type SchemaPath = ReadonlyArray<string | number>

/** Reads one keyword of a schema. Undefined: the keyword has nothing to check by itself. */
export type Keyword = (value: Schema.Json, at: At) => Check | undefined

/** Where a keyword stands. */
export interface At {
  readonly path: SchemaPath
  readonly schema: Schema.JsonObject
  readonly refuse: (message: string) => undefined
  /** The schema at a path below this keyword, applied to a part of the value. */
  readonly below: (schema: Schema.Json | undefined, ...keys: SchemaPath) => Check
  /** The same, applied to the value itself. */
  readonly here: (schema: Schema.Json | undefined, ...keys: SchemaPath) => Check
  /** A schema elsewhere in the document. */
  readonly elsewhere: (pointer: string) => Check | undefined
}

const whole =
  (check: (limit: number) => Check): Keyword =>
  (value, at) =>
    typeof value === "number" && Number.isInteger(value) && value >= 0
      ? check(value)
      : at.refuse("This is an integer that is not negative.")

const numeric =
  (check: (limit: number) => Check): Keyword =>
  (value, at) =>
    typeof value === "number" ? check(value) : at.refuse("This is a number.")

const onNumber =
  (fits: (value: number) => boolean, message: string): Check =>
  (value, way, run) => {
    if (typeof value === "number" && !fits(value)) run.tell(way, message)
  }

const onText =
  (fits: (length: number) => boolean, message: string): Check =>
  (value, way, run) => {
    if (typeof value === "string" && run.works(value.length / 64) && !fits(countCharacters(value)))
      run.tell(way, message)
  }

const countCharacters = (text: string): number => {
  let length = 0
  for (const _ of text) length++
  return length
}

/** Counts the fields of an object as work before they are visited. */
const fieldsIn = (value: Schema.Json, run: Run): ReadonlyArray<[string, Schema.Json]> => {
  if (!isJsonObject(value)) return []
  const fields = Object.entries(value)
  return run.works(fields.length) ? fields : []
}

const onList =
  (fits: (length: number) => boolean, message: string): Check =>
  (value, way, run) => {
    if (isList(value) && !fits(value.length)) run.tell(way, message)
  }

const onObject =
  (fits: (fields: number) => boolean, message: string): Check =>
  (value, way, run) => {
    if (isJsonObject(value) && !fits(Object.keys(value).length)) run.tell(way, message)
  }

const annotation: Keyword = () => undefined

const definitions: Keyword = (value, at) => {
  if (!isJsonObject(value)) return at.refuse("This is an object of schemas.")
  for (const [name, schema] of Object.entries(value)) at.below(schema, name)
}

const type: Keyword = (value, at) => {
  const wanted = isList(value) ? value : [value]
  const known = wanted.filter(isKind)
  if (known.length < wanted.length || known.length === 0) return at.refuse(`A type is one of ${kinds.join(", ")}.`)
  const named = known.map((kind) => kindWords[kind]).join(" or ")
  return (each, way, run) => {
    const kind = jsonKind(each)
    if (known.includes(kind) || (kind === "integer" && known.includes("number"))) return
    run.tell(way, `must be ${named}, and is ${kindWords[kind]}`)
  }
}

const oneOfValues = (values: ReadonlyArray<Schema.Json>, message: string): Check => {
  const texts = new Set(values.map(canonical))
  return (value, way, run) => {
    const text = canonical(value)
    if (run.works(text.length / 16) && !texts.has(text)) run.tell(way, message)
  }
}

const fieldNames = (value: Schema.Json | undefined): ReadonlyArray<string> =>
  isJsonObject(value) ? Object.keys(value) : []

const patternIn = (source: string, at: At): LinearPattern | undefined =>
  Option.getOrElse(linearPattern(source), () =>
    at.refuse(
      "This pattern cannot be matched in a time that grows only with the text. Leave out what looks ahead, behind or back, boundaries of words and long repetitions."
    )
  )

const isMatched = (pattern: LinearPattern, text: string, run: Run): boolean =>
  run.works((text.length * pattern.states) / 4) && pattern.isIn(text)

const properties: Keyword = (value, at) => {
  if (!isJsonObject(value)) return at.refuse("This is an object of schemas.")
  const checks = new Map(Object.entries(value).map(([name, schema]) => [name, at.below(schema, name)]))
  return (each, way, run) => {
    for (const [name, field] of fieldsIn(each, run)) checks.get(name)?.(field, { before: way, key: name }, run)
  }
}

const patternProperties: Keyword = (value, at) => {
  if (!isJsonObject(value)) return at.refuse("This is an object of schemas.")
  const checks = Object.entries(value).flatMap(([source, schema]) => {
    const pattern = patternIn(source, at)
    return pattern === undefined ? [] : [{ pattern, check: at.below(schema, source) }]
  })
  return (each, way, run) => {
    for (const [name, field] of fieldsIn(each, run)) {
      for (const { check, pattern } of checks) {
        if (isMatched(pattern, name, run)) check(field, { before: way, key: name }, run)
      }
    }
  }
}

const additionalProperties: Keyword = (value, at) => {
  const known = new Set(fieldNames(at.schema["properties"]))
  const patterns = fieldNames(at.schema["patternProperties"]).flatMap((source) => Option.toArray(linearPattern(source)))
  const check = value === false ? null : at.below(value)
  return (each, way, run) => {
    for (const [name, field] of fieldsIn(each, run)) {
      if (known.has(name) || patterns.some((pattern) => isMatched(pattern, name, run))) continue
      const own: Way = { before: way, key: name }
      if (check === null) run.tell(own, "is not a field of the schema")
      else check(field, own, run)
    }
  }
}

const required: Keyword = (value, at) => {
  if (!isList(value) || !value.every((name) => typeof name === "string")) return at.refuse("This is a list of names.")
  return (each, way, run) => {
    if (!isJsonObject(each) || !run.works(value.length / 4)) return
    for (const name of value) if (!Object.hasOwn(each, name)) run.tell({ before: way, key: name }, "is missing")
  }
}

const items: Keyword = (value, at) => {
  if (isList(value)) return at.refuse("`items` is one schema. A list of schemas is called `prefixItems`.")
  const check = at.below(value)
  const first = isList(at.schema["prefixItems"]) ? at.schema["prefixItems"].length : 0
  return (each, way, run) => {
    if (!isList(each)) return
    for (let index = first; index < each.length; index++) check(each[index] ?? null, { before: way, key: index }, run)
  }
}

const prefixItems: Keyword = (value, at) => {
  if (!isList(value)) return at.refuse("This is a list of schemas.")
  const checks = value.map((schema, index) => at.below(schema, index))
  return (each, way, run) => {
    if (!isList(each) || !run.works(checks.length / 4)) return
    for (const [index, check] of checks.entries()) {
      if (index < each.length) check(each[index] ?? null, { before: way, key: index }, run)
    }
  }
}

const uniqueItems: Keyword = (value, at) => {
  if (typeof value !== "boolean") return at.refuse("This is a boolean.")
  if (!value) return undefined
  return (each, way, run) => {
    if (!isList(each)) return
    const texts = each.map(canonical)
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    if (run.works(length / 16) && new Set(texts).size < texts.length) run.tell(way, "has an item twice")
  }
}

const alternatives =
  (decide: (checks: ReadonlyArray<Check>) => Check): Keyword =>
  (value, at) => {
    if (!isList(value) || value.length === 0) return at.refuse("This is a list of schemas.")
    return decide(value.map((schema, index) => at.here(schema, index)))
  }

const all =
  (checks: ReadonlyArray<Check>): Check =>
  (value, way, run) => {
    for (const check of checks) check(value, way, run)
  }

/** Of alternatives that all fail, the problems of the one with the fewest are told: it is likely to be the one that was meant. */
const any =
  (isAlone: boolean) =>
  (checks: ReadonlyArray<Check>): Check =>
  (value, way, run) => {
    let fitting = 0
    let nearest: ReadonlyArray<SchemaProblem> | null = null
    for (const check of checks) {
      const problems = run.try(check, value, way)
      if (problems.length === 0) fitting++
      else if (nearest === null || problems.length < nearest.length) nearest = problems
      if (fitting > (isAlone ? 1 : 0) || run.isExhausted) break
    }
    if (fitting === 0) {
      run.tell(way, `fits none of the ${checks.length} alternatives`)
      for (const { message, path } of nearest ?? [])
        if (run.problems.length < mostProblems) run.problems.push({ message, path })
    }
    if (isAlone && fitting > 1) run.tell(way, "fits more than one of the alternatives, and must fit one")
  }

const reference: Keyword = (value, at) => {
  const check = typeof value === "string" ? at.elsewhere(value) : undefined
  return check ?? at.refuse("A reference names a place in the same schema, such as #/$defs/name.")
}

const identifier: Keyword = (_, at) =>
  at.path.length === 1 ? undefined : at.refuse("Only the whole schema has an identifier here.")

const refused =
  (message: string): Keyword =>
  (_, at) =>
    at.refuse(message)

const notChecked = refused("This keyword is not checked here, so the schema must do without it.")

export const unknownKeyword = (name: string, at: At): undefined =>
  uncheckedKeywords.has(name) ? void notChecked(null, at) : undefined

/** Keywords of the standard that are not checked. */
export const uncheckedKeywords: ReadonlySet<string> = new Set([
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "contains",
  "minContains",
  "maxContains",
  "additionalItems",
  "$anchor",
  "$dynamicRef",
  "$dynamicAnchor",
  "$recursiveRef",
  "$recursiveAnchor",
  "$vocabulary"
])

export const keywords: { readonly [name: string]: Keyword } = {
  type,
  enum: (value, at) =>
    isList(value)
      ? oneOfValues(value, "is not one of the values of the schema")
      : at.refuse("This is a list of values."),
  const: (value) => oneOfValues([value], "is not the value of the schema"),
  minimum: numeric((limit) => onNumber((value) => value >= limit, `must be at least ${limit}`)),
  maximum: numeric((limit) => onNumber((value) => value <= limit, `must be at most ${limit}`)),
  exclusiveMinimum: numeric((limit) => onNumber((value) => value > limit, `must be more than ${limit}`)),
  exclusiveMaximum: numeric((limit) => onNumber((value) => value < limit, `must be less than ${limit}`)),
  multipleOf: (value, at) =>
    typeof value === "number" && value > 0
      ? onNumber((each) => isMultiple(each, value), `must be a multiple of ${value}`)
      : at.refuse("This is a number above zero."),
  minLength: whole((limit) => onText((length) => length >= limit, `must have at least ${limit} characters`)),
  maxLength: whole((limit) => onText((length) => length <= limit, `must have at most ${limit} characters`)),
  pattern: (value, at) => {
    const pattern = typeof value === "string" ? patternIn(value, at) : at.refuse("A pattern is a text.")
    return (each, way, run) => {
      if (pattern === undefined || typeof each !== "string" || isMatched(pattern, each, run)) return
      run.tell(way, "does not match the pattern of the schema")
    }
  },
  minItems: whole((limit) => onList((length) => length >= limit, `must have at least ${limit} items`)),
  maxItems: whole((limit) => onList((length) => length <= limit, `must have at most ${limit} items`)),
  uniqueItems,
  items,
  prefixItems,
  properties,
  patternProperties,
  additionalProperties,
  required,
  minProperties: whole((limit) => onObject((fields) => fields >= limit, `must have at least ${limit} fields`)),
  maxProperties: whole((limit) => onObject((fields) => fields <= limit, `must have at most ${limit} fields`)),
  allOf: alternatives(all),
  anyOf: alternatives(any(false)),
  oneOf: alternatives(any(true)),
  $ref: reference,
  $defs: definitions,
  definitions,
  $id: identifier,
  $schema: annotation,
  nullable: refused("JSON Schema has no `nullable`. Add null to the types."),
  discriminator: annotation
}

/** Decimal fractions are compared as they are written: 0.3 is a multiple of 0.1. */
const isMultiple = (value: number, of: number): boolean => {
  const times = value / of
  return Number.isFinite(times) && Math.abs(times - Math.round(times)) <= Math.abs(times) * 4 * Number.EPSILON
}
