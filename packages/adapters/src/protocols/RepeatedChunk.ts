/**
 * Reads most chunks of a long answer without parsing them. Such an answer consists of thousands of chunks that differ only in one piece of text.
 * So if a chunk has the same characters as the last parsed one except for that text, only the text is taken from it. Used by Transport.
 *
 * A protocol decides which of its chunks may be read in this way (`TextChunk`). All others are parsed, and so are all chunks of servers that
 * put something new (a number, random padding) into each of them.
 */
import type { ChatEvent } from "@colloquy/core/adapters"
import { parseJson } from "./Wire.ts"

/** A chunk with a text. Apart from the text, it changes nothing in the state of the answer that a repetition of it would not change too. */
export interface TextChunk {
  readonly text: string
  /** Does what `step` did with the chunk, for another text in the place of this one. */
  readonly apply: (text: string, events: Array<ChatEvent>) => void
}

/** Called with a chunk after `step`. Null: the chunk is not a `TextChunk`. */
export type ReadTextChunk = (chunk: unknown) => TextChunk | null

/** After so many different chunks in a row, all later chunks are parsed: this server seems to put something new into each of them. */
const maxMisses = 4

export class RepeatedChunk {
  private readonly toTextChunk: ReadTextChunk
  /** The characters of the last parsed chunk before and after its text. */
  private before = ""
  private after = ""
  private apply: TextChunk["apply"] | null = null
  private misses = 0

  constructor(toTextChunk: ReadTextChunk) {
    this.toTextChunk = toTextChunk
  }

  /** Returns false, and does nothing, if the chunk differs in more than its text. */
  take(data: string, events: Array<ChatEvent>): boolean {
    const { after, apply, before } = this
    // V8 compares slices many characters at a time, but `startsWith` and `endsWith` one by one, which would be most of the time for a chunk.
    if (apply === null || data.slice(0, before.length) !== before || data.slice(-after.length) !== after) return false
    const text = readText(data, before.length, data.length - after.length)
    if (text === null) return false
    apply(text, events)
    this.misses = 0
    return true
  }

  /** Must be called after `step` with every chunk that was parsed. */
  learn(data: string, chunk: unknown): void {
    this.apply = null
    if (this.misses >= maxMisses) return
    const found = this.toTextChunk(chunk)
    const at = found === null ? -1 : data.indexOf(`"${found.text}"`) + 1
    if (found === null || at === 0) return
    this.misses++
    // The same characters may also occur elsewhere in the chunk. It is the text only if replacing these characters replaces the text.
    const probe = `${data.slice(0, at)}${mark}${data.slice(at + found.text.length)}`
    if (this.toTextChunk(parseJson(probe))?.text !== mark) return
    // Slices of `data` would keep the whole network read in memory that it is a slice of. So these are slices of the probe.
    this.before = probe.slice(0, at)
    this.after = probe.slice(at + mark.length)
    this.apply = found.apply
  }
}

/** A text that no model writes. Letters other than those of `true`, `false` and `null` can only occur inside of a JSON string. */
const mark = "colloquyprobe"

/** The text between two positions; null, if it is not the content of one JSON string. */
const readText = (data: string, from: number, to: number): string | null => {
  const isPlain = to >= from && to - from <= longestCopied && !escapedCharacter.test(data.slice(from, to))
  if (isPlain) return data.slice(from, to)
  const parsed = to < from ? undefined : parseJson(data.slice(from - 1, to + 1))
  return typeof parsed === "string" ? parsed : null
}

/** V8 copies slices up to this length. A longer slice refers to the whole text, and would keep it in memory. */
const longestCopied = 12

/** The characters that cannot be in a JSON string without an escape: a quote, a backslash, a control character. */
const escapedCharacter = /[^ !#-[\]-\uffff]/
