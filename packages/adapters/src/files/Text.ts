/**
 * Bytes to text. What says its encoding, or can have only one, is not guessed: byte order marks, UTF-16 by its zero bytes, valid UTF-8, the
 * declaration of an XML or HTML file. The rest is guessed from the letters, where the package for it is installed; a few accents alone are
 * Western European.
 */
import { Refused } from "./Refused.ts"
import { letterEncoding, utf16Order } from "./Letters.ts"

const lookedAt = 65_536

export const decodeText = async (bytes: Uint8Array): Promise<string> => (await decoded(bytes)).replaceAll("\r\n", "\n")

const decoded = async (bytes: Uint8Array): Promise<string> => {
  const order = markedUtf32(bytes) ?? utf32ByZeros(bytes)
  return order === null
    ? new TextDecoder(await encodingOf(bytes)).decode(bytes)
    : decodeUtf32(bytes, order === "little")
}

type Order = "little" | "big"

/** Its mark begins like that of UTF-16, and no text begins with a NUL. */
const markedUtf32 = ([first, second, third, fourth]: Uint8Array): Order | null => {
  if (first === 0xff && second === 0xfe && third === 0 && fourth === 0) return "little"
  return first === 0 && second === 0 && third === 0xfe && fourth === 0xff ? "big" : null
}

/** No character is beyond 0x10FFFF: of four bytes the highest is zero, and the next one nearly. */
const utf32ByZeros = (bytes: Uint8Array): Order | null => {
  const head = bytes.subarray(0, lookedAt)
  if (bytes.length < 8 || bytes.length % 4 !== 0) return null
  const fits = (highest: number, next: number) =>
    head.every((byte, at) => (at % 4 === highest ? byte === 0 : at % 4 === next ? byte <= 0x10 : true))
  if (fits(3, 2)) return "little"
  return fits(0, 1) ? "big" : null
}

const decodeUtf32 = (bytes: Uint8Array, isLittle: boolean): string => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const characters: Array<string> = []
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const code = view.getUint32(at, isLittle)
    if (at === 0 && code === 0xfeff) continue
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    characters.push(isCharacter ? String.fromCodePoint(code) : "\ufffd")
  }
  return characters.join("")
}

const encodingOf = async (bytes: Uint8Array): Promise<string> => {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return "utf-16le"
  if (first === 0xfe && second === 0xff) return "utf-16be"
  const head = bytes.subarray(0, lookedAt)
  const { controls, even, high, odd } = count(head)
  if (odd > head.length * 0.2 && even < odd / 10) return "utf-16le"
  if (even > head.length * 0.2 && odd < even / 10) return "utf-16be"
  if (even + odd > 0 || controls > head.length * 0.05) {
    const order = bytes.length % 2 === 0 ? utf16Order(head) : null
    if (order !== null) return order
    throw new Refused("unsupported", "The file holds no text that can be read: it looks like binary data.")
  }
  if (isUtf8(bytes)) return isJis(head) ? "iso-2022-jp" : "utf-8"
  return declared(head) ?? (await guess(head, high))
}

const count = (head: Uint8Array) => {
  let [even, odd, high, controls] = [0, 0, 0, 0]
  head.forEach((byte, index) => {
    if (byte > 127) high++
    else if (byte === 0) {
      if (index % 2 === 0) even++
      else odd++
    } else if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) controls++
  })
  return { even, odd, high, controls }
}

const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")

/** Japanese of seven bits changes its alphabet with an escape, and changes it back. */
const isJis = (head: Uint8Array): boolean => {
  const text = head.includes(27) ? latin1(head) : ""
  return /\u001b\$[@B]/u.test(text) && /\u001b\([BJ]/u.test(text)
}

/** What an XML file, an HTML file or a program says of itself. */
const declared = (head: Uint8Array): string | undefined => {
  const text = latin1(head.subarray(0, 2048))
  const name =
    /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)/u.exec(text)?.[1] ??
    /<meta[^>]*charset\s*=\s*["']?([\w.:-]+)/iu.exec(text)?.[1] ??
    /^#.*coding[:=]\s*([\w.-]+)/mu.exec(text)?.[1]
  const known = name === undefined ? undefined : knownEncoding(name)
  // It is not valid as UTF-8, and UTF-16 would not have been readable so far.
  return known?.startsWith("utf-") === true ? undefined : known
}

const knownEncoding = (name: string): string | undefined => {
  try {
    return new TextDecoder(name).encoding
  } catch {
    return undefined
  }
}

const western = "windows-1252"

/** Too few letters beyond ASCII say nothing about where they come from. */
const guess = async (head: Uint8Array, high: number): Promise<string> => {
  if (high < 8) return western
  const certain = letterEncoding(head, high)
  if (certain !== null) return certain
  const detector = await import("chardet").catch(() => undefined)
  return knownEncoding(detector?.default.detect(head) ?? western) ?? western
}
