/** The expectations that a case may have: a form for each kind, and each expectation in words. Pure. */
import { isRecord, type Expectation, type Json, type JsonRecord } from "../wire.ts"
import { type Field, formFields } from "./schema.ts"

interface Kind {
  readonly word: string
  /** The schema of the form's fields. */
  readonly properties: JsonRecord
  readonly required?: ReadonlyArray<string>
  /** Fields that are lists of texts, written one on each line. */
  readonly lists?: ReadonlyArray<string>
}

const text = (title: string): JsonRecord => ({ type: "string", maxLength: 1000, title })
const word = (title: string): JsonRecord => ({ type: "string", title })
const share = (title: string): JsonRecord => ({ type: "number", minimum: 0, maximum: 1, title })
const amount = (title: string): JsonRecord => ({ type: "number", minimum: 0, title })
const not: JsonRecord = { type: "boolean", title: "The opposite is expected" }

export const kinds: Readonly<Record<string, Kind>> = {
  contains: {
    word: "contains a text",
    properties: { text: text("Text"), ignore_case: { type: "boolean", title: "Capitals do not count" }, not },
    required: ["text"]
  },
  matches: { word: "matches a pattern", properties: { pattern: word("Pattern"), not }, required: ["pattern"] },
  equals: { word: "is a text", properties: { text: text("Text"), not }, required: ["text"] },
  json_schema: {
    word: "is JSON that fits a schema",
    properties: { schema: { type: "object", title: "JSON Schema" } },
    required: ["schema"]
  },
  calls: {
    word: "calls a tool",
    properties: { tool: word("Tool"), arguments: { type: "object", title: "At least these arguments" } },
    required: ["tool"]
  },
  calls_none: {
    word: "does not call a tool",
    properties: { tool: { type: "string", title: "Tool", description: "Empty: no tool at all" } }
  },
  refuses: {
    word: "refuses",
    properties: { phrases: text("Phrases, one on each line"), not },
    lists: ["phrases"]
  },
  cites: {
    word: "cites a document",
    properties: { filename: word("Name of the file"), document_id: word("Or its id"), not }
  },
  judge: {
    word: "is found good by a model",
    properties: {
      question: text("Question about the answer"),
      options: text("Options, one on each line"),
      expected: { type: "string", title: "Expected option", description: "Empty: yes" },
      at_least: share("With at least this probability")
    },
    required: ["question"],
    lists: ["options"]
  },
  similar: {
    word: "means the same as a text",
    properties: { text: text("Text"), at_least: share("Similarity at least") },
    required: ["text"]
  },
  cost_under: { word: "costs less than", properties: { usd: amount("Dollars") }, required: ["usd"] },
  time_under: { word: "takes less time than", properties: { ms: amount("Milliseconds") }, required: ["ms"] },
  tokens_under: { word: "takes fewer tokens than", properties: { tokens: amount("Tokens") }, required: ["tokens"] },
  custom: {
    word: "passes a scorer of the host",
    properties: {
      name: word("Name of the scorer"),
      settings: { title: "Settings" },
      at_least: share("Score at least")
    },
    required: ["name"]
  }
}

const listText = (value: Json): Json => (Array.isArray(value) ? value.join("\n") : value)

/** The fields of an expectation's form, with its values. A kind that is not known has none. */
export const expectationFields = ({ kind, ...given }: Expectation): ReadonlyArray<Field> => {
  const known = kinds[kind]
  if (known === undefined) return []
  const values = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, known.lists?.includes(name) === true ? listText(value) : value])
  )
  return formFields({ properties: known.properties, required: [...(known.required ?? [])] }, values) ?? []
}

/** The expectation of a form's values. Empty values are left out. */
export const toExpectation = (kind: string, values: JsonRecord): Expectation => {
  const lists = kinds[kind]?.lists ?? []
  const fields = Object.entries(values).flatMap(([name, value]): ReadonlyArray<readonly [string, Json]> => {
    if (value === false || value === "") return []
    if (!lists.includes(name) || typeof value !== "string") return [[name, value]]
    return [[name, value.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]))]]
  })
  return { ...Object.fromEntries(fields), kind }
}

const units: Readonly<Record<string, string>> = { usd: "dollars", ms: "milliseconds" }

const shown = (value: Json): string => (typeof value === "string" ? `“${value}”` : JSON.stringify(value))

/** `contains a text “Friday”`, `costs less than 0.01 dollars`. */
export const expectationWords = ({ kind, not: isOpposite, ...given }: Expectation): string => {
  const values = Object.entries(given).filter(
    ([name, value]) => name !== "at_least" && name !== "ignore_case" && !isRecord(value)
  )
  const said = values.map(([name, value]) => [shown(value), units[name]].filter(Boolean).join(" ")).join(", ")
  return [isOpposite === true ? "not:" : "", kinds[kind]?.word ?? kind.replaceAll("_", " "), said]
    .filter(Boolean)
    .join(" ")
}
