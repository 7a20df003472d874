/**
 * A long answer is thousands of chunks that differ in one piece of text. A chunk whose characters are those of the chunk before it, but for
 * that text, says the same with another text: it need not be parsed and looked through again. Used by Transport.
 *
 * A protocol says which of its chunks are fit for that (`Saying`). Everything else is parsed as ever, and so is a chunk of a server that
 * puts something new (a number, random padding) into each one.
 */
import type { ChatEvent } from "@colloquy/core/adapters"
import { parseJson } from "./Wire.ts"

/** A chunk that says a text, and apart from that changes nothing that it would not change when it came twice. */
export interface Saying {
  readonly text: string
  /** What the chunk does, for this or for another text in its place. */
  readonly say: (text: string, events: Array<ChatEvent>) => void
}

/** Tells of a parsed chunk that was taken whether it is one; null: no. */
export type SayingOf = (chunk: unknown) => Saying | null

/** So many chunks in a row that are unlike the one before them: this server's always are. */
const patience = 4

export class RepeatedChunk {
  private readonly sayingOf: SayingOf
  private before = ""
  private behind = ""
  private say: Saying["say"] | null = null
  private misses = 0

  constructor(sayingOf: SayingOf) {
    this.sayingOf = sayingOf
  }

  /** False: it is no repetition, and nothing was done. */
  take(data: string, events: Array<ChatEvent>): boolean {
    const { before, behind, say } = this
    // Slices are compared many characters at a time, where `startsWith` takes one after the other: most of the price of a chunk.
    if (say === null || data.slice(0, before.length) !== before || data.slice(-behind.length) !== behind) return false
    const text = textOf(data, before.length, data.length - behind.length)
    if (text === null) return false
    say(text, events)
    this.misses = 0
    return true
  }

  /** To be called with every chunk that was parsed and taken. */
  learn(data: string, chunk: unknown): void {
    this.say = null
    if (this.misses >= patience) return
    const saying = this.sayingOf(chunk)
    const at = saying === null ? -1 : data.indexOf(`"${saying.text}"`) + 1
    if (saying === null || at === 0) return
    this.misses++
    // Whether that is the text, and not the same characters elsewhere, shows when others stand in their place.
    const probe = `${data.slice(0, at)}${mark}${data.slice(at + saying.text.length)}`
    if (this.sayingOf(parseJson(probe))?.text !== mark) return
    // Pieces of the probe: those of the data would keep the whole read in memory of which it is a piece.
    this.before = probe.slice(0, at)
    this.behind = probe.slice(at + mark.length)
    this.say = saying.say
  }
}

/** Letters stand nowhere in JSON but in a string (these are no literal), and this is not what a model says. */
const mark = "colloquyprobe"

/** The text between two quotes; null: these are not the quotes of one JSON string. */
const textOf = (data: string, from: number, to: number): string | null => {
  const isPlain = to >= from && to - from <= longestCopied && !unplain.test(data.slice(from, to))
  if (isPlain) return data.slice(from, to)
  const parsed = to < from ? undefined : parseJson(data.slice(from - 1, to + 1))
  return typeof parsed === "string" ? parsed : null
}

/** V8 copies so short a piece of a text; a longer one is a view of the whole, which would stay in memory with it. */
const longestCopied = 12

/** What is not for itself in a JSON string: a quote, a backslash, a control character. */
const unplain = /[^ !#-[\]-\uffff]/
