/** One check of a value against a schema: where it stands, what it has found, and how much work is left for it. */
import type * as Schema from "effect/Schema"

export interface SchemaProblem {
  /** The way to the value: names of fields, and places in lists. */
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/** So many problems are told of one value. */
export const mostProblems = 100
/** Checks of keywords, and states of patterns, for one value. Alternatives in alternatives could need any number of them. */
const mostWork = 200_000

/** The way to a value, from its end. It becomes a path only where there is a problem. */
export interface Way {
  readonly before: Way | null
  readonly key: string | number
}

const writePath = (way: Way | null): Array<string | number> => {
  const path: Array<string | number> = []
  for (let each = way; each !== null; each = each.before) path.unshift(each.key)
  return path
}

/** The problems of one value that were found so far, and the work that is left for finding them. */
export class Run {
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

export type Check = (value: Schema.Json, way: Way | null, run: Run) => void

export type Kind = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object"

export const kinds: ReadonlyArray<unknown> = ["null", "boolean", "integer", "number", "string", "array", "object"]

export const isKind = (value: unknown): value is Kind => kinds.includes(value)

export const jsonKind = (value: Schema.Json): Kind => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number"
  return typeof value === "boolean" ? "boolean" : typeof value === "string" ? "string" : "object"
}

export const kindWords: { readonly [kind in Kind]: string } = {
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

export const isList = (value: unknown): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/** Does not recurse, because it finds out whether recursion would be safe. */
export const isDeeper = (value: unknown, levels: number): boolean => {
  let level: ReadonlyArray<unknown> = [value]
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []))
    if (level.length === 0) return false
  }
  return true
}

/** Equal for equal values: the order of fields does not count. */
export const canonical = (value: Schema.Json): string => {
  if (isList(value)) return `[${value.map(canonical).join(",")}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(",")}}`
}
