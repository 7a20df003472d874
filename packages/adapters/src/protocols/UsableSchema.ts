/**
 * Pure: whether the parameters of a tool are a JSON Schema that vendors of models accept. They refuse a whole request for one malformed
 * schema, and so all turns of all users. It looks at a bounded number of nodes, whatever a server sends.
 */
import { isRecord } from "./Wire.ts"

const types = new Set(["array", "boolean", "integer", "null", "number", "object", "string"])
const deepest = 16
const mostNodes = 2_000

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === "string")

const isTypeName = (value: unknown): boolean => typeof value === "string" && types.has(value)

const isType = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 && value.every(isTypeName) : isTypeName(value)

/** The keywords that contain schemas, and how. */
const inside: Readonly<Record<string, "one" | "list" | "named" | "oneOrList">> = {
  properties: "named",
  patternProperties: "named",
  $defs: "named",
  definitions: "named",
  items: "oneOrList",
  prefixItems: "list",
  additionalProperties: "one",
  not: "one",
  anyOf: "list",
  oneOf: "list",
  allOf: "list"
}

const schemasIn = (kind: (typeof inside)[string], value: unknown): ReadonlyArray<unknown> | null => {
  if (kind === "named") return isRecord(value) ? Object.values(value) : null
  if (Array.isArray(value)) return kind === "one" ? null : value
  return kind === "list" ? null : [value]
}

export const isUsableSchema = (schema: unknown): boolean => {
  let nodes = 0
  const isUsable = (node: unknown, depth: number): boolean => {
    nodes += 1
    if (nodes > mostNodes || depth > deepest) return false
    if (typeof node === "boolean") return depth > 0
    if (!isRecord(node)) return false
    if (node["type"] !== undefined && !isType(node["type"])) return false
    if (node["required"] !== undefined && !isTexts(node["required"])) return false
    if (node["enum"] !== undefined && !Array.isArray(node["enum"])) return false
    return Object.entries(inside).every(([keyword, kind]) => {
      if (node[keyword] === undefined) return true
      return schemasIn(kind, node[keyword])?.every((each) => isUsable(each, depth + 1)) ?? false
    })
  }
  return isRecord(schema) && schema["type"] === "object" && isUsable(schema, 0)
}
