/** Questions that a tool asks in the middle of its call: the initial text of the answer. */
import { isRecord, type JsonRecord, type ToolCall } from "../wire.ts"
import { prettyJson } from "./prettyJson.ts"

/** The text that a person changes: the arguments of the call, or an empty answer to its question. */
export const textToDecide = ({ function: { arguments: args }, question }: ToolCall): string =>
  prettyJson(question === undefined ? args : JSON.stringify(emptyAnswer(question.schema)))

const emptyAnswer = ({ properties }: JsonRecord): JsonRecord =>
  isRecord(properties)
    ? Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, emptyValue(field)]))
    : {}

const emptyValue = (field: JsonRecord[string] | undefined): JsonRecord[string] => {
  const { default: preset, type } = isRecord(field) ? field : {}
  if (preset !== undefined) return preset
  if (type === "boolean") return false
  if (type === "array") return []
  return type === "integer" || type === "number" ? 0 : ""
}
