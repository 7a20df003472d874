/**
 * JSON Schema (2020-12) as a promise: every keyword that a schema may contain here is checked on every value. A schema with a keyword that
 * is not checked is refused, with the place of the keyword, before a model is asked. So "it fits the schema" means what it says.
 *
 * `format` and the like are annotations, as the standard has it: the model reads them, nothing checks them.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { type LinearPattern, linearPattern } from "./LinearPattern.ts"

export interface SchemaProblem {
  /** The way to the value: names of fields, and places in lists. */
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

export interface CheckedSchema {
  /** Empty: the value fits. */
  readonly problemsOf: (value: Schema.Json) => ReadonlyArray<SchemaProblem>
}

export const mostSchemaBytes = 64 * 1024
/** How deep schemas may stand in each other. */
const mostSchemaLevels = 20
/** How deep a value may be. A deeper one fits no schema. */
const mostValueLevels = 200
/** So many problems are told of one value. */
const mostProblems = 100
/** Checks of keywords, and states of patterns, for one value. Alternatives in alternatives could need any number of them. */
const mostWork = 200_000

/** Reads a schema. Fails with every problem that it has. */
export const checkedSchema = (schema: Schema.Json): Result.Result<CheckedSchema, ReadonlyArray<SchemaProblem>> => {
  if (isDeeper(schema, 4 * mostSchemaLevels)) return Result.fail([tooDeep([])])
  if (new TextEncoder().encode(JSON.stringify(schema)).byteLength > mostSchemaBytes) {
    return Result.fail([{ path: [], message: `A schema has at most ${mostSchemaBytes / 1024} KiB.` }])
  }
  const compiler = new Compiler(schema)
  const root = compiler.read()
  if (compiler.problems.length > 0) return Result.fail(compiler.problems.slice(0, mostProblems))
  return Result.succeed({
    problemsOf: (value) => {
      if (isDeeper(value, mostValueLevels)) return [{ path: [], message: "is nested too deep" }]
      const run = new Run()
      root.check(value, null, run)
      return run.isExhausted ? [{ path: [], message: "takes too long to be checked" }] : run.problems
    }
  })
}

const tooDeep = (path: SchemaProblem["path"]): SchemaProblem => ({
  path,
  message: `A schema has at most ${mostSchemaLevels} levels.`
})

// ------ values

/** The way to a value, from its end. It becomes a path only where there is a problem. */
interface Way {
  readonly before: Way | null
  readonly key: string | number
}

const writePath = (way: Way | null): Array<string | number> => {
  const path: Array<string | number> = []
  for (let each = way; each !== null; each = each.before) path.unshift(each.key)
  return path
}

/** The problems of one value that were found so far, and the work that is left for finding them. */
class Run {
  readonly problems: Array<SchemaProblem> = []
  private readonly budget: { left: number }

  constructor(budget = { left: mostWork }) {
    this.budget = budget
  }

  tell(way: Way | null, message: string): void {
    if (this.problems.length < mostProblems) this.problems.push({ path: writePath(way), message })
  }

  /** Counts work that is about to be done. False: there was too much of it, and the value counts as one that does not fit. */
  works(steps: number): boolean {
    this.budget.left -= steps
    return this.budget.left >= 0
  }

  get isExhausted(): boolean {
    return this.budget.left < 0
  }

  /** Checks beside this run, with the same budget: what is found counts only if the caller takes it over. */
  try(check: Check, value: Schema.Json, way: Way | null): ReadonlyArray<SchemaProblem> {
    const tried = new Run(this.budget)
    check(value, way, tried)
    return tried.problems
  }
}

type Check = (value: Schema.Json, way: Way | null, run: Run) => void

type Kind = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object"

const kinds: ReadonlyArray<unknown> = ["null", "boolean", "integer", "number", "string", "array", "object"]

const isKind = (value: unknown): value is Kind => kinds.includes(value)

const jsonKind = (value: Schema.Json): Kind => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number"
  return typeof value === "boolean" ? "boolean" : typeof value === "string" ? "string" : "object"
}

const words: { readonly [kind in Kind]: string } = {
  null: "null",
  boolean: "a boolean",
  integer: "an integer",
  number: "a number",
  string: "a text",
  array: "a list",
  object: "an object"
}

/** A JSON object: no list, and not null. */
export const isJsonObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isList = (value: unknown): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/** Does not recurse: what is asked is whether recursion would be safe. */
export const isDeeper = (value: unknown, levels: number): boolean => {
  let level: ReadonlyArray<unknown> = [value]
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []))
    if (level.length === 0) return false
  }
  return true
}

/** Equal for equal values: the order of fields does not count. */
const canonical = (value: Schema.Json): string => {
  if (isList(value)) return `[${value.map(canonical).join(",")}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(",")}}`
}

// ------ schemas

/** A schema at one place of the document. */
class SchemaNode {
  checks: ReadonlyArray<Check> = []
  isRead = false
  /** Schemas that are applied to the same value. */
  readonly samePlace: Array<SchemaNode> = []

  readonly check: Check = (value, way, run) => {
    for (const check of this.checks) {
      if (!run.works(1)) return
      check(value, way, run)
    }
  }
}

type Place = ReadonlyArray<string | number>

/** Reads one keyword of a schema. Undefined: the keyword has nothing to check by itself. */
type Keyword = (value: Schema.Json, at: At) => Check | undefined

/** Where a keyword stands. */
interface At {
  readonly place: Place
  readonly level: number
  readonly schema: Schema.JsonObject
  readonly node: SchemaNode
  readonly refuse: (message: string) => undefined
  /** The schema at a place below this keyword, applied to a part of the value. */
  readonly below: (schema: Schema.Json | undefined, ...keys: Place) => Check
  /** The same, applied to the value itself. */
  readonly here: (schema: Schema.Json | undefined, ...keys: Place) => Check
  /** A schema elsewhere in the document. */
  readonly elsewhere: (pointer: string) => Check | undefined
}

class Compiler {
  readonly problems: Array<SchemaProblem> = []
  private readonly document: Schema.Json
  private readonly nodes = new Map<string, SchemaNode>()
  /** Schemas that a `$ref` names and that are still to be read. So a long chain of them is no deep recursion. */
  private readonly waiting: Array<{ readonly node: SchemaNode; readonly schema: Schema.Json; readonly place: Place }> =
    []

  constructor(document: Schema.Json) {
    this.document = document
  }

  read(): SchemaNode {
    const root = this.nodeAt([])
    this.fill(root, this.document, [], 1)
    for (let next = this.waiting.pop(); next !== undefined; next = this.waiting.pop()) {
      this.fill(next.node, next.schema, next.place, 1)
    }
    if (this.problems.length === 0 && hasCircle(this.nodes.values())) {
      this.problems.push({ path: [], message: "A schema must not refer to itself for the same value." })
    }
    return root
  }

  private nodeAt(place: Place): SchemaNode {
    const key = JSON.stringify(place.map(String))
    const found = this.nodes.get(key) ?? new SchemaNode()
    this.nodes.set(key, found)
    return found
  }

  private fill(node: SchemaNode, schema: Schema.Json | undefined, place: Place, level: number): void {
    if (node.isRead) return
    node.isRead = true
    if (schema === true) return
    if (schema === false) {
      node.checks = [(_, way, run) => run.tell(way, "must not be there")]
      return
    }
    if (!isJsonObject(schema)) {
      this.problems.push({ path: place, message: "A schema is an object or a boolean." })
      return
    }
    if (level > mostSchemaLevels) {
      this.problems.push(tooDeep(place))
      return
    }
    const checks: Array<Check> = []
    for (const [name, value] of Object.entries(schema)) {
      const at = this.at(node, schema, [...place, name], level)
      const check = Object.hasOwn(keywords, name) ? keywords[name]?.(value, at) : unknownKeyword(name, at)
      if (check !== undefined) checks.push(check)
    }
    node.checks = checks
  }

  private at(node: SchemaNode, schema: Schema.JsonObject, place: Place, level: number): At {
    const child = (value: Schema.Json | undefined, keys: Place): SchemaNode => {
      const below = this.nodeAt([...place, ...keys])
      this.fill(below, value, [...place, ...keys], level + 1)
      return below
    }
    const same = (found: SchemaNode): Check => {
      node.samePlace.push(found)
      return found.check
    }
    return {
      place,
      level,
      schema,
      node,
      refuse: (message) => void this.problems.push({ path: place, message }),
      below: (value, ...keys) => child(value, keys).check,
      here: (value, ...keys) => same(child(value, keys)),
      elsewhere: (pointer) => {
        const target = readReference(pointer)
        const found = target === null ? undefined : valueAt(this.document, target)
        if (target === null || found === undefined) return undefined
        const named = this.nodeAt(target)
        this.waiting.push({ node: named, schema: found, place: target })
        return same(named)
      }
    }
  }
}

/** The place that a reference into the same document names; null for every other reference. */
const readReference = (reference: string): ReadonlyArray<string> | null => {
  if (reference === "#") return []
  if (!reference.startsWith("#/")) return null
  try {
    return decodeURIComponent(reference.slice(2))
      .split("/")
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
  } catch {
    return null
  }
}

const valueAt = (document: Schema.Json, place: ReadonlyArray<string>): Schema.Json | undefined => {
  let value: Schema.Json | undefined = document
  for (const key of place) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined
    value = Object.entries(value).find(([name]) => name === key)?.[1]
  }
  return value
}

/** Whether a schema is applied to a value in order to know whether it applies to that value. */
const hasCircle = (nodes: Iterable<SchemaNode>): boolean => {
  const done = new Set<SchemaNode>()
  for (const first of nodes) {
    /** The nodes on the way from the first one, each with the number of its neighbours that were visited. */
    const way: Array<[SchemaNode, number]> = [[first, 0]]
    const onWay = new Set([first])
    for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
      const [node, visited] = top
      const next = done.has(node) ? undefined : node.samePlace[visited]
      top[1]++
      if (next === undefined) {
        done.add(node)
        onWay.delete(node)
        way.pop()
      } else if (onWay.has(next)) return true
      else if (!done.has(next)) {
        onWay.add(next)
        way.push([next, 0])
      }
    }
  }
  return false
}

// ------ keywords

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
  const named = known.map((kind) => words[kind]).join(" or ")
  return (each, way, run) => {
    const kind = jsonKind(each)
    if (known.includes(kind) || (kind === "integer" && known.includes("number"))) return
    run.tell(way, `must be ${named}, and is ${words[kind]}`)
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
  at.place.length === 1 ? undefined : at.refuse("Only the whole schema has an identifier here.")

const refused =
  (message: string): Keyword =>
  (_, at) =>
    at.refuse(message)

const notChecked = refused("This keyword is not checked here, so the schema must do without it.")

const unknownKeyword = (name: string, at: At): undefined =>
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

const keywords: { readonly [name: string]: Keyword } = {
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
  return Number.isFinite(times) && Math.abs(times - Math.round(times)) <= Math.abs(times) * 1e-12
}
