/**
 * Decodes bytes to text. Several encodings are recognised for certain: by a byte order mark, UTF-16 by its zero bytes, valid UTF-8, and by the
 * declaration in an XML or HTML file. Every other encoding is guessed from the letters, if the package `chardet` is installed. A text with few
 * letters beyond ASCII is decoded as Western European.
 */
import { letterEncoding } from "./Letters.ts"
import { Refused } from "./Refused.ts"

const lookedAt = 65_536

export const decodeText = async (bytes: Uint8Array): Promise<string> =>
  (await decoded(bytes)).replaceAll(/\r\n?/gu, "\n")

const decoded = async (bytes: Uint8Array): Promise<string> => {
  const encoding = markedUtf32(bytes) ?? (await detectEncoding(bytes))
  return encoding === "utf-32le" || encoding === "utf-32be"
    ? decodeUtf32(bytes, encoding === "utf-32le")
    : new TextDecoder(encoding).decode(bytes)
}

/** Checked before UTF-16, because the mark of little-endian UTF-32 begins with that of UTF-16. */
const markedUtf32 = ([first, second, third, fourth]: Uint8Array): "utf-32le" | "utf-32be" | null => {
  if (first === 0xff && second === 0xfe && third === 0 && fourth === 0) return "utf-32le"
  return first === 0 && second === 0 && third === 0xfe && fourth === 0xff ? "utf-32be" : null
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

const detectEncoding = async (bytes: Uint8Array): Promise<string> => {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return "utf-16le"
  if (first === 0xfe && second === 0xff) return "utf-16be"
  const head = bytes.subarray(0, lookedAt)
  const { controls, high, zeros } = count(head)
  if (zeros > 0 || controls > head.length * 0.05) {
    // Imported only here, because few files need it and it loads all of core into the reader's process.
    const { detectWideEncoding } = await import("@colloquy/core/documents")
    const wide = detectWideEncoding(head)
    if (wide !== null) return wide
    throw new Refused("unsupported", "The file contains no readable text: it looks like binary data.")
  }
  if (isUtf8(bytes)) return isJis(head) ? "iso-2022-jp" : "utf-8"
  return declared(head) ?? (await guess(head, high))
}

const count = (head: Uint8Array) => {
  let [zeros, high, controls] = [0, 0, 0]
  for (const byte of head) {
    if (byte > 127) high++
    else if (byte === 0) zeros++
    else if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) controls++
  }
  return { zeros, high, controls }
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

/** The 7-bit encoding of Japanese switches between character sets with escape sequences. */
const isJis = (head: Uint8Array): boolean => {
  const text = head.includes(27) ? latin1(head) : ""
  return /\u001b\$[@B]/u.test(text) && /\u001b\([BJ]/u.test(text)
}

/** The encoding that an XML file, an HTML file or a source file declares. */
const declared = (head: Uint8Array): string | undefined => {
  const text = latin1(head.subarray(0, 2048))
  const name =
    /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)/u.exec(text)?.[1] ??
    /<meta[^<>]*charset\s*=\s*["']?([\w.:-]+)/iu.exec(text)?.[1] ??
    /^#.*coding[:=]\s*([\w.-]+)/mu.exec(text)?.[1]
  const known = name === undefined ? undefined : knownEncoding(name)
  // A declared UTF-8 or UTF-16 is wrong: the bytes are not valid UTF-8, and in UTF-16 this declaration could not have been found.
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

/** Fewer than 8 letters beyond ASCII are not enough to guess an encoding. */
const guess = async (head: Uint8Array, high: number): Promise<string> => {
  if (high < 8) return western
  const certain = letterEncoding(head, high)
  if (certain !== null) return certain
  const detector = await import("chardet").catch(() => undefined)
  return knownEncoding(detector?.default.detect(head) ?? western) ?? western
}
