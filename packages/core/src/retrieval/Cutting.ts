/**
 * Pure: splits a text at the best boundary that makes the pieces small enough: between paragraphs, then sentences, then words, then
 * graphemes. The pieces joined are the text again, and no boundary is inside of a grapheme. In steps, because a text may have megabytes, and
 * in one pass for each kind of boundary, because a text may be hostile: one line or one sentence of megabytes costs no more than many.
 */
import { runSteps, type Steps } from "../primitives/Steps.ts"

export type CountTokens = (text: string) => number

/** The number of characters between two yields. */
const stride = 2_000

/** More characters than a token of any vendor's has on average. A longer text is not counted: it is too long. */
const charactersOfToken = 16

export const fits = (text: string, limit: number, count: CountTokens): boolean =>
  text.length <= limit * charactersOfToken && count(text) <= limit

/** Pieces with at most `limit` tokens, each as large as its boundaries permit. A single grapheme may be larger. */
export const fit = (text: string, limit: number, count: CountTokens): Steps<ReadonlyArray<string>> =>
  fitAt(text, limit, count, 0)

const cuts: ReadonlyArray<(text: string) => Steps<ReadonlyArray<string>>> = [
  paragraphs,
  (text) => segments(text, sentences),
  (text) => segments(text, words),
  (text) => segments(text, graphemes)
]

function* fitAt(text: string, limit: number, count: CountTokens, level: number): Steps<ReadonlyArray<string>> {
  const cut = cuts[level]
  if (text === "" || cut === undefined || fits(text, limit, count)) return text === "" ? [] : [text]
  return yield* packed(yield* cut(text), limit, count, level + 1)
}

/** Joins small adjacent parts and splits large ones further. */
function* packed(
  parts: ReadonlyArray<string>,
  limit: number,
  count: CountTokens,
  level: number
): Steps<ReadonlyArray<string>> {
  const pieces: Array<string> = []
  let room = 0
  let sinceYield = 0
  for (const part of parts) {
    const tokens = part.length > limit * charactersOfToken ? Infinity : count(part)
    const last = pieces.at(-1)
    sinceYield += part.length
    if (sinceYield > stride) {
      sinceYield = 0
      yield
    }
    if (last !== undefined && tokens <= room) {
      pieces[pieces.length - 1] = last + part
      room -= tokens
    } else if (tokens <= limit) {
      pieces.push(part)
      room = limit - tokens
    } else {
      for (const piece of yield* fitAt(part, limit, count, level)) pieces.push(piece)
      room = 0
    }
  }
  return pieces
}

/** Whole sentences (otherwise whole words) from the end of a text, with at most `limit` tokens. */
export const textTail = (text: string, limit: number, count: CountTokens): string => {
  const lastSentences = lastParts(runSteps(segments(text, sentences)), limit, count)
  return lastSentences === "" ? lastParts(runSteps(segments(text, words)), limit, count) : lastSentences
}

const lastParts = (parts: ReadonlyArray<string>, limit: number, count: CountTokens): string => {
  let tail = ""
  for (const part of parts.toReversed()) {
    if (!fits(part + tail, limit, count)) break
    tail = part + tail
  }
  return tail.trim() === "" ? "" : tail
}

/** The lines of a text one by one, each with its line break. A boundary after a line break is never inside of a grapheme. */
export function* eachLine(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const found = text.indexOf("\n", start)
    const end = found === -1 ? text.length : found + 1
    yield text.slice(start, end)
    start = end
  }
}

/** Works through lines in steps of about the same size. */
export function* forEachLine(text: string, work: (line: string, index: number) => void): Steps<void> {
  let index = 0
  let sinceYield = 0
  for (const line of eachLine(text)) {
    work(line, index++)
    sinceYield += line.length + 32
    if (sinceYield > stride) {
      sinceYield = 0
      yield
    }
  }
}

export function* splitLines(text: string): Steps<ReadonlyArray<string>> {
  const lines: Array<string> = []
  yield* forEachLine(text, (line) => lines.push(line))
  return lines
}

/** Paragraphs, each with the empty lines behind it. */
function* paragraphs(text: string): Steps<ReadonlyArray<string>> {
  const found: Array<string> = []
  let lines: Array<string> = []
  let isBehind = false
  yield* forEachLine(text, (line) => {
    const isEmpty = line.trim() === ""
    if (isBehind && !isEmpty) {
      found.push(lines.join(""))
      lines = []
    }
    isBehind = isEmpty && lines.length > 0
    lines.push(line)
  })
  if (lines.length > 0) found.push(lines.join(""))
  return found
}

/** Always the English rules, because rules for boundaries hardly depend on the language. */
const sentences = new Intl.Segmenter("en", { granularity: "sentence" })
const words = new Intl.Segmenter("en", { granularity: "word" })
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })

/** How many characters a segmenter reads at once, and what cuts a sentence, word or grapheme that is longer. */
const windows = new Map([
  [sentences, { length: 4_096, finer: words }],
  [words, { length: 1_024, finer: graphemes }]
])
const shortWindow = { length: 1_024, finer: null }
const segmenterWindow = (segmenter: Intl.Segmenter) => windows.get(segmenter) ?? shortWindow

/** The segments of a segmenter, without boundaries inside of a grapheme, which its rules do not consider. */
function* segments(text: string, segmenter: Intl.Segmenter): Steps<ReadonlyArray<string>> {
  const parts: Array<string> = []
  let from = 0
  while (from < text.length) {
    const end = Math.min(from + segmenterWindow(segmenter).length, text.length)
    const part = text.slice(from, end)
    const ends = end < text.length ? endsBefore(part, segmenter) : boundariesIn(part, segmenter)
    let start = 0
    for (const at of ends) {
      parts.push(part.slice(start, at))
      start = at
    }
    from += start
    yield
  }
  return parts
}

/** The same where the text goes on: the last segment, which may go on too, is left to the next window. */
const endsBefore = (text: string, segmenter: Intl.Segmenter): ReadonlyArray<number> => {
  const ends = boundariesIn(text, segmenter).slice(0, -1)
  if (ends.length > 0) return ends
  const { finer } = segmenterWindow(segmenter)
  if (finer !== null) return endsBefore(text, finer).slice(-1)
  return [/[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length]
}

/** The ends of the segments of a text, the last one is its length. */
const boundariesIn = (text: string, segmenter: Intl.Segmenter): ReadonlyArray<number> => {
  const ends = Array.from(segmenter.segment(text), ({ index, segment }) => index + segment.length)
  if (segmenter === graphemes || !joinsGraphemes.test(text)) return ends
  const allowed = new Set(Array.from(graphemes.segment(text), ({ index, segment }) => index + segment.length))
  return ends.filter((end) => allowed.has(end))
}

/** A character that may belong to the grapheme before or after it: marks, joiners, parts of flags and of Korean syllables. */
const joinsGraphemes =
  /[\p{M}\p{Cf}\p{Emoji_Modifier}\p{Regional_Indicator}\u0d4e\u0e33\u0eb3\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\uff9e\uff9f\u{111c2}\u{111c3}\u{1193f}\u{11a3a}\u{11a84}-\u{11a89}\r]/u
