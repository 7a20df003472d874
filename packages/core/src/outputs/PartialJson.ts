/**
 * An object while a model is still writing it: the text comes in pieces, and what is complete so far is a value at any time. Each character
 * is read once. Texts are shown as far as they are written; numbers, true, false and null when they are complete.
 *
 * Lenient on purpose: this is what a reader sees meanwhile. Whether the whole text is JSON is decided at its end.
 */
import type * as Schema from "effect/Schema"

/** Grows while the text is read. */
type Growing = { [name: string]: Schema.Json } | Array<Schema.Json>

/** A list or an object that is not closed. `key`: the name of the field that comes next; null: no name is complete. */
interface Level {
  readonly value: Growing
  key: string | null
  /** Whether the last item of a list is still being written. */
  isFilling: boolean
}

const escapes: { readonly [sign: string]: string } = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

const mostLevels = 200

export class PartialJson {
  private root: Growing | undefined
  private readonly levels: Array<Level> = []
  /** The text that is being written; null outside of texts. */
  private text: string | null = null
  private isName = false
  /** What follows a backslash, without the backslash; null outside of escapes. */
  private escape: string | null = null
  /** The characters of a number or a word. */
  private word = ""
  private isOver = false

  /** What precedes the first object or list, such as a fence of code, is skipped; so is what follows its end. */
  push(piece: string): void {
    for (let index = 0; index < piece.length && !this.isOver; index++) {
      if (this.text === null) this.outside(piece.charAt(index))
      else if (this.escape !== null) this.escaped(piece.charAt(index))
      else {
        const end = endOfPlain(piece, index)
        this.text += piece.slice(index, end)
        index = end
        if (piece.charAt(end) === "\\") this.escape = ""
        else if (piece.charAt(end) === '"') this.endText()
      }
    }
    if (this.text !== null && !this.isName && !this.isOver) this.put(this.text)
  }

  /** The value so far; undefined before its beginning. It must be copied or written before the next piece. */
  get value(): Schema.Json | undefined {
    return this.root
  }

  private outside(character: string): void {
    if (/[\d+\-.eEa-z]/u.test(character) && this.root !== undefined) {
      this.word += character
      return
    }
    this.endWord()
    const level = this.levels.at(-1)
    if (character === "{" || character === "[") this.open(character === "{" ? {} : [])
    else if (level === undefined) return
    else if (character === '"') {
      this.text = ""
      this.isName = !Array.isArray(level.value) && level.key === null
    } else if (character === ",") level.key = null
    else if (character === "}" || character === "]") this.close()
  }

  private escaped(character: string): void {
    this.escape += character
    const escape = this.escape ?? ""
    if (escape.startsWith("u") && escape.length < 5) return
    const isUnit = /^u[\da-fA-F]{4}$/u.test(escape)
    this.text += isUnit ? String.fromCharCode(Number.parseInt(escape.slice(1), 16)) : (escapes[escape] ?? escape)
    this.escape = null
  }

  private endText(): void {
    const level = this.levels.at(-1)
    const text = this.text ?? ""
    this.text = null
    if (this.isName && level !== undefined) level.key = text
    else {
      this.put(text)
      this.done()
    }
  }

  private endWord(): void {
    const { word } = this
    if (word === "") return
    this.word = ""
    const value = wordValue(word)
    if (value === undefined) return
    this.put(value)
    this.done()
  }

  private open(value: Growing): void {
    if (this.levels.length === 0) this.root = value
    else this.put(value)
    if (this.levels.length >= mostLevels) this.isOver = true
    else this.levels.push({ value, key: null, isFilling: false })
  }

  private close(): void {
    this.levels.pop()
    if (this.levels.length === 0) this.isOver = true
    else this.done()
  }

  /** Sets the value at the place that is being written, again with each piece of a text. */
  private put(value: Schema.Json): void {
    const level = this.levels.at(-1)
    if (level === undefined) return
    if (Array.isArray(level.value)) level.value[level.isFilling ? level.value.length - 1 : level.value.length] = value
    else if (level.key !== null) define(level.value, level.key, value)
    level.isFilling = true
  }

  private done(): void {
    const level = this.levels.at(-1)
    if (level !== undefined) level.isFilling = false
  }
}

/** An assignment would change the prototype for the name `__proto__`. */
const define = (object: { [name: string]: Schema.Json }, name: string, value: Schema.Json): void => {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

const endOfPlain = (piece: string, from: number): number => {
  let end = from
  while (end < piece.length && piece.charAt(end) !== '"' && piece.charAt(end) !== "\\") end++
  return end
}

const wordValue = (word: string): Schema.Json | undefined => {
  if (word === "true" || word === "false") return word === "true"
  if (word === "null") return null
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/u.test(word) ? Number(word) : undefined
}
