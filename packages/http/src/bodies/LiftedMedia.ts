/**
 * Takes base64 media out of a JSON body while it is read. The remaining text is parsed as a whole, under the limits of text; each medium is
 * decoded piece by piece and is replaced in the text by a mark. So no string of many megabytes is ever made. OpenAI's clients send pictures
 * and sound in this way.
 */
import * as Effect from "effect/Effect"
import { joined } from "./Text.ts"

/** A medium of the body. */
export interface LiftedMedium {
  /** The media type of the data URL; "" without a data URL. */
  readonly mediaType: string
  readonly size: number
  /** Null: it is not base64. */
  readonly pieces: ReadonlyArray<Uint8Array<ArrayBuffer>> | null
}

export interface LiftedBody {
  readonly text: ArrayBuffer
  /** The media by their marks in the text. */
  readonly media: ReadonlyMap<string, LiftedMedium>
}

/** In bytes. */
export interface LiftLimits {
  readonly text: number
  /** The limit of all media together, because they are kept in memory. */
  readonly media: number
}

/** Fields in which media stand, and whether they are base64 without a data URL. */
const fields: ReadonlyMap<string, boolean> = new Map([
  ["url", false],
  ["image_url", false],
  ["data", true],
  ["file_data", true]
])
const longestField = 16

/** A shorter string stays in the text. In bytes. */
const shortest = 16 * 1024

const longestHead = 256
const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,/u

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c]
const [openList, openObject] = [0x5b, 0x7b]

const latin = new TextDecoder("latin1")
const encoder = new TextEncoder()

type State =
  | { readonly _tag: "Outside" }
  | { readonly _tag: "Text" }
  /** A string that may be a medium: its first bytes. */
  | { readonly _tag: "Head"; readonly pieces: Array<Uint8Array>; size: number }
  | { readonly _tag: "Medium"; readonly medium: Base64Reader }

const outside: State = { _tag: "Outside" }
const inText: State = { _tag: "Text" }

export class MediaLifter {
  private readonly limits: LiftLimits
  private readonly mark = `medium:${globalThis.crypto.randomUUID()}:`
  private readonly media = new Map<string, LiftedMedium>()
  private state: State = outside
  /** The last string, while it may be the name of a field. */
  private lastString = ""
  private field = ""
  /** The last piece ended with a backslash that escapes what comes next. */
  private isEscaped = false
  private text: Array<Uint8Array> = []
  private textBytes = 0
  /** The size of all complete media. */
  private mediaBytes = 0
  isTooLarge = false

  constructor(limits: LiftLimits) {
    this.limits = limits
  }

  write(piece: Uint8Array): void {
    if (this.isTooLarge) return
    /** The position of the first byte that is not kept yet. */
    let begin = 0
    let at = 0
    while (at < piece.length && !this.isTooLarge) {
      if (this.state._tag === "Outside") {
        if (!this.readOutside(piece[at++] ?? 0)) continue
        // The quotation mark stays in the text in any case.
        this.keep(piece.slice(begin, at))
        begin = at
        continue
      }
      const end = this.endOfString(piece, at)
      const isClosed = end < piece.length
      this.readString(piece, at, end, isClosed)
      begin = at = end
      if (!isClosed) break
      this.state = outside
      at++
    }
    if (begin < at) this.keep(piece.slice(begin, at))
  }

  /** The text and the media. If a medium was cut off, the text is not valid JSON, and is refused for that. */
  end(): LiftedBody {
    if (this.state._tag === "Head") this.keepAll(this.state.pieces)
    const text = joined(this.text)
    this.text = []
    return { text: text.buffer, media: this.media }
  }

  /** Whether a string has begun. */
  private readOutside(byte: number): boolean {
    switch (byte) {
      case colon:
        this.field = this.lastString
        return false
      case comma:
      case openList:
      case openObject:
        this.field = ""
        return false
      case quote:
        this.lastString = ""
        this.state = fields.has(this.field) ? { _tag: "Head", pieces: [], size: 0 } : inText
        return true
      default:
        return false
    }
  }

  private readString(piece: Uint8Array, at: number, end: number, isClosed: boolean): void {
    const bytes = piece.slice(at, end)
    if (this.state._tag === "Head") {
      const { pieces } = this.state
      pieces.push(bytes)
      this.state.size += bytes.length
      if (this.state.size >= shortest) this.decide(pieces)
      else if (isClosed) this.keepAll(pieces)
    } else if (this.state._tag === "Medium") {
      this.readMedium(this.state.medium, bytes)
    } else {
      this.keep(bytes)
      this.lastString =
        this.lastString.length + bytes.length > longestField
          ? "-".repeat(longestField)
          : this.lastString + latin.decode(bytes)
    }
    if (isClosed && this.state._tag === "Medium") this.close(this.state.medium)
  }

  private decide(pieces: ReadonlyArray<Uint8Array>): void {
    const head = latin.decode(joined(pieces).subarray(0, longestHead)).replaceAll(String.raw`\/`, "/")
    const [start, mediaType = ""] = dataUrl.exec(head) ?? []
    if (start === undefined && fields.get(this.field) !== true) {
      this.state = inText
      this.lastString = "-".repeat(longestField)
      return this.keepAll(pieces)
    }
    const medium = new Base64Reader(mediaType, start?.length ?? 0)
    this.state = { _tag: "Medium", medium }
    for (const piece of pieces) this.readMedium(medium, piece)
  }

  private readMedium(medium: Base64Reader, bytes: Uint8Array): void {
    medium.read(latin.decode(bytes))
    if (this.mediaBytes + medium.size > this.limits.media) this.isTooLarge = true
  }

  private close(medium: Base64Reader): void {
    const mark = `${this.mark}${this.media.size}`
    const found = medium.end()
    this.mediaBytes += found.size
    if (this.mediaBytes > this.limits.media) this.isTooLarge = true
    this.media.set(mark, found)
    this.keep(encoder.encode(mark))
  }

  private keepAll(pieces: ReadonlyArray<Uint8Array>): void {
    for (const piece of pieces) this.keep(piece)
  }

  private keep(bytes: Uint8Array): void {
    this.textBytes += bytes.length
    if (this.textBytes > this.limits.text) this.isTooLarge = true
    else if (bytes.length > 0) this.text.push(bytes)
  }

  /** The position of the quotation mark that ends the string; the end of the piece if the string goes on behind it. */
  private endOfString(piece: Uint8Array, start: number): number {
    for (let from = start; ;) {
      const found = piece.indexOf(quote, from)
      const end = found === -1 ? piece.length : found
      let before = end
      while (before > start && piece[before - 1] === backslash) before--
      const isOdd = (end - before + (before === start && this.isEscaped ? 1 : 0)) % 2 === 1
      if (found === -1 || !isOdd) {
        this.isEscaped = isOdd
        return end
      }
      from = end + 1
    }
  }
}

/** Decodes base64 into pieces of bytes, and lets other fibers run between the pieces. Null: the text is not base64. */
export const decodeInPieces = Effect.fnUntraced(function* (base64: string) {
  const reader = new Base64Reader("", 0)
  for (let at = 0; at < base64.length; at += decodedAtOnce) {
    reader.read(base64.slice(at, at + decodedAtOnce))
    yield* Effect.yieldNow
  }
  return reader.end().pieces
})

/** In characters: about a millisecond of work. */
const decodedAtOnce = 128 * 1024

/** The characters of base64 that are given to `atob`, without padding. */
const plain = /^[A-Za-z0-9+/]*$/u

/** Base64 in the pieces of a JSON string, with its escapes: several programs escape `/` or `+`. */
class Base64Reader {
  private readonly mediaType: string
  /** Characters of the data URL before its data. */
  private skipped: number
  private pieces: Array<Uint8Array<ArrayBuffer>> | null = []
  size = 0
  private escape = ""
  private rest = ""

  constructor(mediaType: string, skipped: number) {
    this.mediaType = mediaType
    this.skipped = skipped
  }

  read(raw: string): void {
    if (this.pieces === null) return
    const text = this.unescaped(raw)
    if (text === null) return this.refuse()
    const data = text.slice(this.skipped)
    this.skipped = Math.max(0, this.skipped - text.length)
    const all = this.rest + data.replaceAll(/\s/gu, "")
    // The last characters may be padding.
    const now = Math.max(0, all.length - 4 - (all.length % 4))
    this.rest = all.slice(now)
    this.decode(all.slice(0, now))
  }

  end(): LiftedMedium {
    const last = this.rest.replace(/={1,2}$/u, "")
    if (this.escape !== "" || last.length % 4 === 1) this.refuse()
    this.decode(last)
    return { mediaType: this.mediaType, size: this.size, pieces: this.pieces }
  }

  private decode(base64: string): void {
    if (this.pieces === null || base64 === "") return
    if (!plain.test(base64)) return this.refuse()
    const characters = globalThis.atob(base64)
    const bytes = new Uint8Array(characters.length)
    for (let index = 0; index < bytes.length; index++) bytes[index] = characters.charCodeAt(index)
    this.pieces.push(bytes)
    this.size += bytes.length
  }

  private refuse(): void {
    this.pieces = null
  }

  /** Null: the text is not valid inside of a JSON string. An escape that is cut off waits for its rest. */
  private unescaped(raw: string): string | null {
    let text = this.escape + raw
    this.escape = ""
    const last = text.lastIndexOf("\\")
    if (last === -1) return text
    const isWhole = text[last + 1] === "u" ? text.length - last >= 6 : text.length - last >= 2
    if (!isWhole) {
      this.escape = text.slice(last)
      text = text.slice(0, last)
    }
    try {
      return String(JSON.parse(`"${text}"`))
    } catch {
      return null
    }
  }
}
