/**
 * Pure: splits a text at the best boundary that makes the pieces small enough: between paragraphs, then sentences, then words, then
 * graphemes. The pieces joined are the text again, and no boundary is inside of a grapheme. In steps, because a text may have megabytes.
 */
import { runSteps, type Steps } from "../primitives/Steps.ts"

export type CountTokens = (text: string) => number

/** The number of characters between two yields. */
const stride = 2_000

/** Pieces with at most `limit` tokens, each as large as its boundaries permit. A single grapheme may be larger. */
export const fit = (text: string, limit: number, count: CountTokens): Steps<ReadonlyArray<string>> =>
  fitAt(text, limit, count, 0)

const cuts: ReadonlyArray<(text: string) => Steps<ReadonlyArray<string>>> = [
  (text) => splitAfter(text, /\n[^\S\n]*\n\s*/gu),
  (text) => segments(text, sentences),
  (text) => segments(text, words),
  (text) => segments(text, graphemes)
]

function* fitAt(text: string, limit: number, count: CountTokens, level: number): Steps<ReadonlyArray<string>> {
  const cut = cuts[level]
  if (text === "" || cut === undefined || count(text) <= limit) return text === "" ? [] : [text]
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
    const tokens = count(part)
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
export const tailOf = (text: string, limit: number, count: CountTokens): string => {
  const lastSentences = lastOf(runSteps(segments(text, sentences)), limit, count)
  return lastSentences === "" ? lastOf(runSteps(segments(text, words)), limit, count) : lastSentences
}

const lastOf = (parts: ReadonlyArray<string>, limit: number, count: CountTokens): string => {
  let tail = ""
  for (const part of parts.toReversed()) {
    if (count(part + tail) > limit) break
    tail = part + tail
  }
  return tail.trim() === "" ? "" : tail
}

/** Splits after each match. A line break always ends a grapheme. */
function* splitAfter(text: string, pattern: RegExp): Steps<ReadonlyArray<string>> {
  const parts: Array<string> = []
  let start = 0
  let yieldedAt = 0
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length
    if (!isBoundary(text, end)) continue
    parts.push(text.slice(start, end))
    start = end
    if (end - yieldedAt > stride) {
      yieldedAt = end
      yield
    }
  }
  if (start < text.length) parts.push(text.slice(start))
  return parts
}

export const linesOf = (text: string): ReadonlyArray<string> => runSteps(splitAfter(text, /\n/gu))

/** Always the English rules, because rules for boundaries hardly depend on the language. */
const sentences = new Intl.Segmenter("en", { granularity: "sentence" })
const words = new Intl.Segmenter("en", { granularity: "word" })
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })

/** The segments of a segmenter, without boundaries inside of a grapheme, which its rules do not consider. */
function* segments(text: string, segmenter: Intl.Segmenter): Steps<ReadonlyArray<string>> {
  const parts: Array<string> = []
  let start = 0
  let yieldedAt = 0
  for (const { index } of segmenter.segment(text)) {
    if (index - yieldedAt > stride) {
      yieldedAt = index
      yield
    }
    if (index === start || !isBoundary(text, index)) continue
    parts.push(text.slice(start, index))
    start = index
  }
  if (start < text.length) parts.push(text.slice(start))
  return parts
}

/** A character that may belong to the grapheme before or after it: marks, joiners, parts of flags and of Korean syllables. */
const joinsGraphemes =
  /[\p{M}\p{Cf}\p{Emoji_Modifier}\p{Regional_Indicator}\u0d4e\u0e33\u0eb3\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\uff9e\uff9f\u{111c2}\u{111c3}\u{1193f}\u{11a3a}\u{11a84}-\u{11a89}\r]/u

/** More characters than a grapheme has. */
const around = 256

const isBoundary = (text: string, index: number): boolean => {
  if (index <= 0 || index >= text.length) return true
  if (!joinsGraphemes.test(text.slice(Math.max(index - 2, 0), index + 2))) return true
  const from = Math.max(index - around, 0)
  const offset = index - from
  return graphemes.segment(text.slice(from, index + around)).containing(offset)?.index === offset
}
