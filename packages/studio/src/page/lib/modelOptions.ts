/** The options of a model as texts of a form, and as the record that the API takes. Pure. */
import type { JsonRecord, Json, Model } from "../wire.ts"

interface OptionField {
  readonly name: string
  readonly label: string
  /** The step and the bounds of a number. */
  readonly number?: { readonly step: string; readonly min?: string; readonly max?: string }
  /** The values that may be chosen, each with its words. */
  readonly choices?: Readonly<Record<string, string>>
  readonly hint?: string
  /** The field has a line of the form for itself. */
  readonly isWide?: boolean
}

export const optionFields: ReadonlyArray<OptionField> = [
  { name: "temperature", label: "Temperature", number: { step: "0.1", min: "0", max: "2" } },
  { name: "top_p", label: "Top p", number: { step: "0.05", min: "0", max: "1" } },
  { name: "max_output_tokens", label: "Most tokens of an answer", number: { step: "1", min: "1" } },
  { name: "max_steps", label: "Most model calls of a run", number: { step: "1", min: "1", max: "64" } },
  { name: "seed", label: "Seed", number: { step: "1" } },
  { name: "parallel_tool_calls", label: "Several tools at once", choices: { true: "Yes", false: "No" } },
  { name: "stop", label: "Stops at these words", hint: "one a line; \\n is a line break", isWide: true },
  { name: "tool_choice", label: "Calls tools", hint: "auto, none, required, or a tool’s name", isWide: true }
]

/** How much a model may think before it answers, in words. */
export const effortWords: Readonly<Record<string, string>> = {
  low: "A little",
  medium: "Some",
  high: "Much",
  max: "As much as it can"
}

/** The efforts that a model takes, as the catalogue has it: none where it does not think on request, all where it has no list. */
export const listedEfforts = (
  model: Pick<Model, "supports_thinking" | "thinking_controls"> | undefined
): ReadonlyArray<string> => {
  if (model?.supports_thinking !== true) return []
  const known = Object.keys(effortWords)
  const { thinking_controls: controls } = model
  return controls === null ? known : known.filter((each) => controls.efforts.includes(each))
}

export type OptionTexts = Readonly<Record<string, string>>

/** A stop word on a line of its own: a line break in it is written as `\n`, and a backslash as two. */
const writeStop = (word: string): string => word.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
const readStop = (line: string): string =>
  line.replaceAll(/\\([\\n])/gu, (_, escaped) => (escaped === "n" ? "\n" : "\\"))

const modes = ["auto", "none", "required"]

const readOption = ({ choices, name, number }: OptionField, text: string): Json => {
  if (number !== undefined) return Number(text)
  if (choices !== undefined) return text === "true"
  // Spaces belong to a stop word.
  if (name === "stop")
    return text
      .split("\n")
      .filter((each) => each !== "")
      .map(readStop)
  const mode = text.trim()
  return modes.includes(mode) ? mode : { name: mode }
}

/** The options that are filled in. Null: none is. */
export const readOptions = (texts: OptionTexts): JsonRecord | null => {
  const given = optionFields.flatMap((field) => {
    const text = texts[field.name] ?? ""
    return text.trim() === "" ? [] : [[field.name, readOption(field, text)] as const]
  })
  return given.length === 0 ? null : Object.fromEntries(given)
}

const writeOption = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(String).map(writeStop).join("\n")
  return typeof value === "object" && value !== null && "name" in value ? String(value.name) : String(value)
}

export const writeOptions = (options: JsonRecord | null): OptionTexts =>
  Object.fromEntries(
    Object.entries(options ?? {}).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, writeOption(value)]]
    )
  )
