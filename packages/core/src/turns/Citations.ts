/**
 * Which of the texts that a model was given its answer cites. A part numbers such texts, `[d1]`, `[d2]`, and keeps how many there are with the
 * answer (`Marks`). When a leg ends, the markers of its answer are matched with them: pure, so that a process that takes the run over finds the
 * same. A leg without such texts costs nothing.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { keptIn, readSupplement } from "../threads/Supplement.ts"
import type { TurnPlan } from "./TurnPlan.ts"
import type { Message } from "../threads/Message.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

/** Part of the value that a part keeps: `{ letter: "d", count: 2 }` are the markers `[d1]` and `[d2]`. */
export const Marks = Schema.Struct({ letter: Schema.String, count: Schema.Int })
export type Marks = typeof Marks.Type

/** The letters of the kernel's own parts: excerpts of documents, and memories. */
export const documentMark = "d"
export const memoryMark = "m"

/** The number of a text, from 0, and the place of its marker in the answer's content. */
const FoundMark = Schema.Struct({
  letter: Schema.String,
  index: Schema.Int,
  start: Schema.Int,
  end: Schema.Int
})
export type FoundMark = typeof FoundMark.Type

/** Kept with the answer under this name, beside what parts keep. */
export const citationsName = "citations"

const KeptCitations = Schema.Struct({ found: Schema.Array(FoundMark), dropped: Schema.Int })
const readCitations = Schema.decodeUnknownOption(KeptCitations)

/** A marker in an answer: which excerpt or memory it names, and where it stands. */
export interface Citation {
  /** The cited excerpt: `retrieved[index]` of the same answer; of a memory: its place in the retrieved memories. */
  readonly index: number
  /** The place of the marker in `content`, in UTF-16 units. */
  readonly start: number
  readonly end: number
  /** Absent: an excerpt of a document. */
  readonly kind?: "memory"
}

export interface Citations {
  readonly citations: ReadonlyArray<Citation>
  /** How many markers were removed from the content, because the model was given no such text. */
  readonly dropped: number
}

/** The citations of an answer, from the supplements of a reply or a stored message. Null: the model was not asked for markers. */
export const citationsIn = (supplements: Schema.JsonObject | null): Citations | null =>
  Option.match(readCitations(keptIn(supplements, citationsName)), {
    onNone: () => null,
    onSome: ({ dropped, found }) => ({
      citations: found.flatMap(({ letter, ...citation }): ReadonlyArray<Citation> => {
        if (letter === documentMark) return [citation]
        return letter === memoryMark ? [{ ...citation, kind: "memory" }] : []
      }),
      dropped
    })
  })

/** The text of a message without its markers, which mean nothing outside of it. */
export const withoutMarkers = ({ content, supplements }: Pick<Message, "content" | "supplements">): string => {
  const text = content ?? ""
  const found = Option.match(readCitations(keptIn(supplements, citationsName)), {
    onNone: () => [],
    onSome: (kept) => kept.found
  })
  const ends = [0, ...found.map(({ end }) => end)]
  return ends
    .map((end, index) => {
      const start = found[index]?.start
      return start === undefined ? text.slice(end) : text.slice(end, start).replace(/ $/u, "")
    })
    .join("")
}

const readMarks = Schema.decodeUnknownOption(Schema.Struct({ marks: Marks }))

/** The leg with the markers of its answer matched. What a part answers is no text of a model. */
export const withCitations = (leg: RecordedLeg, { answeredBy }: Pick<TurnPlan, "answeredBy">): RecordedLeg => {
  if (leg.supplements === null || answeredBy !== undefined) return leg
  const given = Object.keys(leg.supplements).flatMap((part) =>
    Option.match(readMarks(readSupplement(leg, part)?.value), { onNone: () => [], onSome: ({ marks }) => [marks] })
  )
  if (given.length === 0) return leg
  const { content, dropped, found } = matchMarks(leg.content, given)
  return {
    ...leg,
    content,
    steps:
      content === leg.content
        ? leg.steps
        : leg.steps.map((step) => ({ ...step, text: matchMarks(step.text, given).content })),
    supplements: { ...leg.supplements, [citationsName]: { value: { found, dropped } } }
  }
}

/** More markers stay in the text and are not listed. */
const mostFound = 2_000

const marker = /\[([a-z]\d+(?: ?[,;] ?[a-z]\d+)*)\]/gu

/**
 * The text without markers of what was not given, and the markers that are left, with their places in that text. `[d1, d2]` becomes `[d1][d2]`,
 * so each marker has a place of its own. Code is left alone. One pass over the text.
 */
export const matchMarks = (text: string, given: ReadonlyArray<Marks>) => {
  const counts = new Map(given.map(({ count, letter }) => [letter, count]))
  const found: Array<FoundMark> = []
  let dropped = 0
  const pieces: Array<string> = []
  let length = 0
  const add = (piece: string) => {
    if (piece === "") return
    pieces.push(piece)
    length += piece.length
  }
  let read = 0
  const code = codeIn(text)
  let span = code.next()
  for (const match of text.matchAll(marker)) {
    const at = match.index
    const end = at + match[0].length
    while (span.done !== true && span.value.end <= at) span = code.next()
    if (span.done !== true && span.value.start < end) continue
    const items = (match[1] ?? "").split(/[,;]/u).map((item) => item.trim())
    // Other letters mean something else: an area is given in [m2].
    if (!items.every((item) => counts.has(item.charAt(0)))) continue
    const known = items.filter((item) => isGiven(item, counts))
    dropped += items.length - known.length
    add(text.slice(read, at))
    read = end
    for (const item of known) {
      const [letter, index, start] = [item.charAt(0), Number(item.slice(1)) - 1, length]
      add(`[${item}]`)
      if (found.length < mostFound) found.push({ letter, index, start, end: length })
    }
    if (known.length > 0) continue
    // The space that belonged to the marker goes with it.
    const before = pieces.at(-1) ?? "\n"
    if (before.endsWith(" ") && (end === text.length || " \n\r.,;:!?)".includes(text.charAt(end)))) {
      pieces[pieces.length - 1] = before.slice(0, -1)
      length--
    } else if (before.endsWith("\n") && text.charAt(end) === " ") read = end + 1
  }
  add(text.slice(read))
  return { content: pieces.join(""), found, dropped }
}

const isGiven = (item: string, counts: ReadonlyMap<string, number>): boolean => {
  const number = Number(item.slice(1))
  return number >= 1 && number <= (counts.get(item.charAt(0)) ?? 0) && String(number) === item.slice(1)
}

interface Span {
  readonly start: number
  readonly end: number
}

interface Ticks extends Span {
  readonly paragraph: number
}

/** Fenced blocks and code between backticks of Markdown, in order. */
const codeIn = function* (text: string): Generator<Span, void, undefined> {
  if (!text.includes("`") && !text.includes("~~~")) return
  let fence: { readonly mark: string; readonly start: number } | null = null
  let paragraph = 0
  const ticks: Array<Ticks> = []
  const blocks: Array<Span> = []
  for (let start = 0; start < text.length;) {
    const found = text.indexOf("\n", start)
    const end = found === -1 ? text.length : found + 1
    const line = text.slice(start, end)
    const mark = codeFence(line)
    if (fence !== null) {
      if (mark !== "" && mark.startsWith(fence.mark) && line.trim().endsWith(mark)) {
        blocks.push({ start: fence.start, end })
        fence = null
      }
    } else if (mark !== "") {
      fence = { mark, start }
      paragraph++
    } else if (line.trim() === "") paragraph++
    else
      for (const run of line.matchAll(/`+/gu))
        ticks.push({ start: start + run.index, end: start + run.index + run[0].length, paragraph })
    start = end
  }
  if (fence !== null) blocks.push({ start: fence.start, end: text.length })
  let block = 0
  for (const span of betweenTicks(ticks)) {
    for (; (blocks[block]?.start ?? Infinity) < span.start; block++) yield blocks[block] ?? span
    yield span
  }
  yield* blocks.slice(block)
}

/** The mark with which the line begins or ends a block of code, also in a list or a quotation; empty if it does neither. */
const codeFence = (line: string): string => {
  const inner = line.replace(/^[ \t>]+/u, "").replace(/^(?:[-*+]|\d{1,9}[.)])[ \t]+/u, "")
  const mark = /^(?:`{3,}|~{3,})/u.exec(inner)?.[0] ?? ""
  // What follows on the line of backticks is no code between backticks.
  return mark.startsWith("`") && inner.includes("`", mark.length) ? "" : mark
}

/** A run of backticks begins code if a run of the same length follows in its paragraph. */
function* betweenTicks(ticks: ReadonlyArray<Ticks>): Generator<Span, void, undefined> {
  const next = new Map<string, number>()
  const closers = ticks.map(() => -1)
  for (let index = ticks.length - 1; index >= 0; index--) {
    const { end, paragraph, start } = ticks[index] ?? { end: 0, paragraph: 0, start: 0 }
    const key = `${paragraph} ${end - start}`
    closers[index] = next.get(key) ?? -1
    next.set(key, index)
  }
  for (let index = 0; index < ticks.length; index++) {
    const closer = closers[index] ?? -1
    const [first, last] = [ticks[index], ticks[closer]]
    if (first === undefined || last === undefined) continue
    yield { start: first.start, end: last.end }
    index = closer
  }
}
