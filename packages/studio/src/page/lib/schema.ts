/** A form for a JSON Schema: its fields, and the JSON of their values. Pure; `SchemaForm` draws it. */
import { isRecord, type Json, type JsonRecord } from "../wire.ts"

export interface Field {
  readonly name: string
  readonly label: string
  readonly hint: string | null
  readonly isRequired: boolean
  readonly kind: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "json"
  readonly choices: ReadonlyArray<string | number | boolean | null>
  readonly minimum: number | null
  readonly maximum: number | null
  readonly initial: Json | undefined
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null)
const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null)

/** `["string", "null"]` is an optional string. */
const singleType = (schema: Readonly<Record<string, unknown>>): string | null => {
  const { type } = schema
  if (Array.isArray(type)) return type.find((each) => typeof each === "string" && each !== "null") ?? null
  return textOrNull(type)
}

const readChoices = (schema: Readonly<Record<string, unknown>>): Field["choices"] => {
  const list = "const" in schema ? [schema["const"]] : schema["enum"]
  return Array.isArray(list)
    ? list.filter((each) => each === null || ["string", "number", "boolean"].includes(typeof each))
    : []
}

const fieldKind = (schema: Readonly<Record<string, unknown>>): Field["kind"] => {
  if (readChoices(schema).length > 0) return "choice"
  switch (singleType(schema)) {
    case "string":
      return (numberOrNull(schema["maxLength"]) ?? 0) > 200 ? "long" : "text"
    case "number":
      return "number"
    case "integer":
      return "integer"
    case "boolean":
      return "boolean"
    default:
      return "json"
  }
}

/** The fields of an object schema; null when it describes no object with properties, so that no form can be made. */
export const formFields = (schema: unknown, values: JsonRecord = {}): ReadonlyArray<Field> | null => {
  if (!isRecord(schema) || !isRecord(schema["properties"])) return null
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  const fields = Object.entries(schema["properties"]).map(([name, property]): Field => {
    const one = isRecord(property) ? property : {}
    return {
      name,
      label: textOrNull(one["title"]) ?? name,
      hint: textOrNull(one["description"]),
      isRequired: required.includes(name),
      kind: fieldKind(one),
      choices: readChoices(one),
      minimum: numberOrNull(one["minimum"]),
      maximum: numberOrNull(one["maximum"]),
      initial: values[name] ?? toJson(one["default"])
    }
  })
  return fields.length === 0 ? null : fields
}

const toJson = (value: unknown): Json | undefined =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) satisfies Json)

/** The first text of a field. */
export const initialText = ({ choices, initial, kind }: Field): string => {
  if (initial === undefined) return kind === "boolean" ? "false" : ""
  if (kind === "choice") {
    const index = choices.findIndex((each) => each === initial)
    return index === -1 ? "" : String(index)
  }
  return typeof initial === "string" && kind !== "json" ? initial : JSON.stringify(initial)
}

export type Read = { readonly value: Json | undefined } | { readonly problem: string }

/** The value of a field's text; undefined: left out. */
const readField = (field: Field, text: string): Read => {
  const { choices, isRequired, kind, label, maximum, minimum } = field
  if (kind === "choice") {
    return text === ""
      ? isRequired
        ? { problem: `Choose “${label}”.` }
        : { value: undefined }
      : { value: choices[Number(text)] ?? null }
  }
  if (kind === "boolean") return { value: text === "true" }
  if (text.trim() === "") return isRequired ? { problem: `“${label}” is missing.` } : { value: undefined }
  if (kind === "number" || kind === "integer") {
    const value = Number(text)
    if (!Number.isFinite(value) || (kind === "integer" && !Number.isInteger(value))) {
      return { problem: `“${label}” must be ${kind === "integer" ? "a whole number" : "a number"}.` }
    }
    if (kind === "integer" && !Number.isSafeInteger(value))
      return { problem: `“${label}” has more digits than can be sent.` }
    if (minimum !== null && value < minimum) return { problem: `“${label}” must be at least ${minimum}.` }
    if (maximum !== null && value > maximum) return { problem: `“${label}” must be at most ${maximum}.` }
    return { value }
  }
  if (kind === "json") {
    try {
      return { value: JSON.parse(text) }
    } catch {
      return { problem: `“${label}” must be JSON.` }
    }
  }
  return { value: text }
}

/** The whole form as JSON, or all its problems. */
export const readForm = (
  fields: ReadonlyArray<Field>,
  texts: Readonly<Record<string, string>>
): { readonly values: JsonRecord; readonly problems: ReadonlyArray<string> } => {
  const values: Record<string, Json> = {}
  const problems: Array<string> = []
  for (const field of fields) {
    const read = readField(field, texts[field.name] ?? initialText(field))
    if ("problem" in read) problems.push(read.problem)
    else if (read.value !== undefined) values[field.name] = read.value
  }
  return { values, problems }
}
