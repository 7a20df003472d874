/** Typed questions as rows of a form, and in the form of the wire. Pure. */
import type { Json, JsonRecord } from "../wire.ts"

export interface QuestionRow {
  readonly name: string
  readonly type: "noul" | "choice" | "score"
  /** The question in words. */
  readonly instructions: string
  /**
   * The criteria, one on each line. A choice has its options, each with a description behind a colon. A scale has its levels, the lowest
   * first. A yes or no has the meanings of both, the yes first, or nothing.
   */
  readonly criteria: string
}

export const exampleRows: ReadonlyArray<QuestionRow> = [
  { name: "urgent", type: "noul", instructions: "Is it urgent?", criteria: "urgent, today\nlater" },
  { name: "topic", type: "choice", instructions: "Which topic?", criteria: "refund: money back\ndelivery: parcel late" }
]

const linesIn = (text: string): ReadonlyArray<string> =>
  text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]))

const option = (line: string): readonly [string, string | null] => {
  const at = line.indexOf(":")
  return at === -1 ? [line, null] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}

const wireQuestion = ({ criteria, instructions, type }: QuestionRow): JsonRecord => {
  const lines = linesIn(criteria)
  if (type === "score") return { type, instructions, criteria: lines }
  if (type === "choice") {
    const options = lines.map(option)
    // In an object, a name that is a whole number would lose its position.
    return { type, instructions, criteria: Object.fromEntries(options), order: options.map(([name]) => name) }
  }
  const [yes, no] = lines
  return {
    type,
    instructions,
    ...(yes === undefined || no === undefined ? {} : { criteria: { true: yes, false: no } })
  }
}

const problemIn = (row: QuestionRow, rows: ReadonlyArray<QuestionRow>): string | null => {
  const { criteria, name, type } = row
  if (name.trim() === "") return "A question has no name."
  if (rows.some((each) => each !== row && each.name.trim() === name.trim()))
    return `Two questions are called “${name}”.`
  if (type !== "noul" && linesIn(criteria).length < 2)
    return type === "choice" ? `“${name}” needs two options or more.` : `“${name}” needs two levels or more.`
  return null
}

/** The questions as they are sent. Throws an error with a sentence for the first row that cannot be sent. */
export const toQuestions = (rows: ReadonlyArray<QuestionRow>): JsonRecord => {
  if (rows.length === 0) throw new Error("There is no question. Add one under “Options”.")
  for (const row of rows) {
    const problem = problemIn(row, rows)
    if (problem !== null) throw new Error(problem)
  }
  return Object.fromEntries(rows.map((row): readonly [string, Json] => [row.name.trim(), wireQuestion(row)]))
}
