/**
 * JSON Schema (2020-12) as a promise: every keyword that a schema may contain here is checked on every value. A schema with a keyword that
 * is not checked is refused, with the path of the keyword, before a model is asked. So "it fits the schema" means what it says.
 *
 * `format` and the like are annotations, as the standard has it: the model reads them, nothing checks them.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { type At, keywords, type SchemaPath, unknownKeyword } from "./SchemaKeywords.ts"
import { type Check, isDeeper, isJsonObject, mostProblems, Run, type SchemaProblem } from "./SchemaRun.ts"

export interface CheckedSchema {
  /** Empty: the value fits. */
  readonly findProblems: (value: Schema.Json) => ReadonlyArray<SchemaProblem>
}

export const mostSchemaBytes = 64 * 1024
/** How deep schemas may stand in each other. */
const mostSchemaLevels = 20
/** How deep a value may be. A deeper one fits no schema. */
const mostValueLevels = 200

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
    findProblems: (value) => {
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

// ------ schemas

/** The schema at one path of the document. */
class SchemaNode {
  checks: ReadonlyArray<Check> = []
  isRead = false
  /** Schemas that are applied to the same value. */
  readonly sameValue: Array<SchemaNode> = []

  readonly check: Check = (value, way, run) => {
    for (const check of this.checks) {
      if (!run.works(1)) return
      check(value, way, run)
    }
  }
}

class Compiler {
  readonly problems: Array<SchemaProblem> = []
  private readonly document: Schema.Json
  private readonly nodes = new Map<string, SchemaNode>()
  /** Schemas that a `$ref` names and that are still to be read. So a long chain of them is no deep recursion. */
  private readonly waiting: Array<{
    readonly node: SchemaNode
    readonly schema: Schema.Json
    readonly path: SchemaPath
  }> = []

  constructor(document: Schema.Json) {
    this.document = document
  }

  read(): SchemaNode {
    const root = this.nodeAt([])
    this.fill(root, this.document, [], 1)
    for (let next = this.waiting.pop(); next !== undefined; next = this.waiting.pop()) {
      this.fill(next.node, next.schema, next.path, 1)
    }
    if (this.problems.length === 0 && hasCircle(this.nodes.values())) {
      this.problems.push({ path: [], message: "A schema must not refer to itself for the same value." })
    }
    return root
  }

  private nodeAt(path: SchemaPath): SchemaNode {
    const key = JSON.stringify(path.map(String))
    const found = this.nodes.get(key) ?? new SchemaNode()
    this.nodes.set(key, found)
    return found
  }

  private fill(node: SchemaNode, schema: Schema.Json | undefined, path: SchemaPath, level: number): void {
    if (node.isRead) return
    node.isRead = true
    if (schema === true) return
    if (schema === false) {
      node.checks = [(_, way, run) => run.tell(way, "must not be there")]
      return
    }
    if (!isJsonObject(schema)) {
      this.problems.push({ path, message: "A schema is an object or a boolean." })
      return
    }
    if (level > mostSchemaLevels) {
      this.problems.push(tooDeep(path))
      return
    }
    const checks: Array<Check> = []
    for (const [name, value] of Object.entries(schema)) {
      const at = this.at(node, schema, [...path, name], level)
      const check = Object.hasOwn(keywords, name) ? keywords[name]?.(value, at) : unknownKeyword(name, at)
      if (check !== undefined) checks.push(check)
    }
    node.checks = checks
  }

  private at(node: SchemaNode, schema: Schema.JsonObject, path: SchemaPath, level: number): At {
    const child = (value: Schema.Json | undefined, keys: SchemaPath): SchemaNode => {
      const below = this.nodeAt([...path, ...keys])
      this.fill(below, value, [...path, ...keys], level + 1)
      return below
    }
    const same = (found: SchemaNode): Check => {
      node.sameValue.push(found)
      return found.check
    }
    return {
      path,
      schema,
      refuse: (message) => void this.problems.push({ path, message }),
      below: (value, ...keys) => child(value, keys).check,
      here: (value, ...keys) => same(child(value, keys)),
      elsewhere: (pointer) => {
        const target = readReference(pointer)
        const found = target === null ? undefined : valueAt(this.document, target)
        if (target === null || found === undefined) return undefined
        const named = this.nodeAt(target)
        this.waiting.push({ node: named, schema: found, path: target })
        return same(named)
      }
    }
  }
}

/** The path that a reference into the same document names; null for every other reference. */
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

const valueAt = (document: Schema.Json, path: ReadonlyArray<string>): Schema.Json | undefined => {
  let value: Schema.Json | undefined = document
  for (const key of path) {
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
      const next = done.has(node) ? undefined : node.sameValue[visited]
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
