/**
 * Pure: memories as JSON lines, for export and import. A line has `content`, and optionally `metadata`, `learned`, `from`, `until`,
 * `said_at` (times as ISO 8601), `session` and `speaker`.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Steps } from "../primitives/Steps.ts"
import { eachLine } from "../retrieval/Cutting.ts"
import { isDeeper } from "../tools/SchemaRun.ts"
import { readDate } from "./MemoryDates.ts"
import { isUsableName, type MemoryRecord, type MemoryUnusable } from "./MemoryRecord.ts"

export interface MemoryLine {
  readonly content: string
  readonly metadata: Schema.JsonObject | null
  readonly learned: Date | null
  readonly from: Date | null
  readonly until: Date | null
  readonly saidAt: Date | null
  readonly session: string | null
  readonly speaker: string | null
}

/** Why a line of an import was refused, with the number of the line. */
export interface MemoryLineProblem {
  /** Counted from 1. */
  readonly line: number
  readonly message: string
}

/** Lines of an import cannot be read. Nothing was imported. */
export class MemoryLinesUnusable extends Schema.TaggedError<MemoryLinesUnusable>()("MemoryLinesUnusable", {
  problems: Schema.Array(Schema.Struct({ line: Schema.Int, message: Schema.String }))
}) {
  override get message() {
    return this.problems.map(({ line, message }) => `Line ${line}: ${message}`).join(" ")
  }
}

const Line = Schema.Struct({
  content: Schema.String,
  metadata: Schema.optionalKey(Schema.NullOr(Schema.JsonObject)),
  learned: Schema.optionalKey(Schema.NullOr(Schema.String)),
  from: Schema.optionalKey(Schema.NullOr(Schema.String)),
  until: Schema.optionalKey(Schema.NullOr(Schema.String)),
  said_at: Schema.optionalKey(Schema.NullOr(Schema.String)),
  session: Schema.optionalKey(Schema.NullOr(Schema.String)),
  speaker: Schema.optionalKey(Schema.NullOr(Schema.String))
})
const decodeLine = Schema.decodeUnknownOption(Line)

/** In steps, some lines each. */
export function* writingLines(memories: ReadonlyArray<MemoryRecord>): Steps<string> {
  const lines: Array<string> = []
  for (const { content, createdAt, metadata, saidAt, session, speaker, validFrom, validUntil } of memories) {
    const dates = { learned: createdAt, from: validFrom, until: validUntil, said_at: saidAt }
    lines.push(`${JSON.stringify({ content, metadata, ...dates, session, speaker })}\n`)
    if (lines.length % 16 === 0) yield
  }
  return lines.join("")
}

const facts: { readonly [Reason in MemoryUnusable["reason"]]: string } = {
  empty: "it has no words.",
  too_long: "it is too long.",
  secret: "it holds a password, a key or a card number.",
  copy: "another memory says the same.",
  name: "its `session` or `speaker` is empty or too long."
}

/** How many problems are told at once. A file of another kind would have one in every line. */
const mostProblems = 100

interface MemoryLines {
  readonly lines: ReadonlyArray<MemoryLine>
  readonly problems: ReadonlyArray<MemoryLineProblem>
}

/** Lines in one text, or in a text that came in pieces: joined, a large one would be copied at once. */
export type LinesText = string | ReadonlyArray<string>

/** In steps, one line each. Empty lines are counted, but are no memories. */
export function* readingLines(
  text: LinesText,
  reasonAgainst: (content: string) => MemoryUnusable["reason"] | null
): Steps<MemoryLines> {
  const lines: Array<MemoryLine> = []
  const problems: Array<MemoryLineProblem> = []
  let number = 0
  for (const source of splitLines(typeof text === "string" ? [text] : text)) {
    number++
    if (number % 16 === 0) yield
    if (source.trim() === "") continue
    const read = readLine(source, reasonAgainst)
    if (typeof read !== "string") lines.push(read)
    else if (problems.push({ line: number, message: read }) === mostProblems) return { lines, problems }
    yield
  }
  return { lines, problems }
}

function* splitLines(pieces: ReadonlyArray<string>): Generator<string> {
  let open = ""
  for (const piece of pieces) {
    for (const line of eachLine(piece)) {
      // Of a line that is too long, no more is kept than shows it.
      if (open.length <= longestLine) open += line
      if (!line.endsWith("\n")) continue
      yield open
      open = ""
    }
  }
  if (open !== "") yield open
}

/** In characters. A longer line is not parsed, because that holds up everything else. */
const longestLine = 500_000

const readLine = (
  source: string,
  reasonAgainst: (content: string) => MemoryUnusable["reason"] | null
): MemoryLine | string => {
  if (source.length > longestLine) return `it is longer than ${longestLine} characters.`
  const line = Option.getOrNull(decodeLine(parsed(source)))
  if (line === null) return "it is no JSON object with a text `content`, nested at most 100 levels deep."
  const { content, from, learned, metadata = null, said_at, session = null, speaker = null, until } = line
  for (const [name, moment] of Object.entries({ learned, from, until, said_at })) {
    if (moment !== undefined && moment !== null && readDate(moment) === null)
      return `\`${name}\` is no date of ISO 8601.`
  }
  const reason = [session, speaker].every(isUsableName) ? reasonAgainst(content) : "name"
  if (reason !== null) return facts[reason]
  const dates = { learned: readDate(learned), from: readDate(from), until: readDate(until), saidAt: readDate(said_at) }
  return { content, metadata, ...dates, session, speaker }
}

/** Deeper than any real line, and far below the depth at which a recursive reader fails. */
const maximumDepth = 100

const parsed = (source: string): unknown => {
  try {
    const value: unknown = JSON.parse(source)
    return isDeeper(value, maximumDepth) ? undefined : value
  } catch {
    return undefined
  }
}
