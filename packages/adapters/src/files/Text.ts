/**
 * Bytes to text. What says its encoding, or can have only one, is not guessed: byte order marks, UTF-16 by its zero bytes, valid UTF-8. The
 * rest is guessed from the letters, where the package for it is installed; a few accents alone are Western European.
 */
import { Refused } from "./Refused.ts"

const lookedAt = 65_536

export const decodeText = async (bytes: Uint8Array): Promise<string> => (await decoded(bytes)).replaceAll("\r\n", "\n")

const decoded = async (bytes: Uint8Array): Promise<string> => {
  const order = utf32Order(bytes)
  return order === null
    ? new TextDecoder(await encodingOf(bytes)).decode(bytes)
    : decodeUtf32(bytes, order === "little")
}

/** Its mark begins like that of UTF-16, and no text begins with a NUL. */
const utf32Order = ([first, second, third, fourth]: Uint8Array): "little" | "big" | null => {
  if (first === 0xff && second === 0xfe && third === 0 && fourth === 0) return "little"
  return first === 0 && second === 0 && third === 0xfe && fourth === 0xff ? "big" : null
}

const decodeUtf32 = (bytes: Uint8Array, isLittle: boolean): string => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const characters: Array<string> = []
  for (let at = 4; at + 4 <= bytes.length; at += 4) {
    const code = view.getUint32(at, isLittle)
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
    throw new Refused("unsupported", "The file holds no text that can be read: it looks like binary data.")
  }
  return isUtf8(bytes) ? "utf-8" : guess(head, high)
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

const western = "windows-1252"

/** Too few letters beyond ASCII say nothing about where they come from. */
const guess = async (head: Uint8Array, high: number): Promise<string> => {
  if (high < 8) return western
  const detector = await import("chardet").catch(() => undefined)
  const name = detector?.default.detect(head) ?? western
  try {
    return new TextDecoder(name).encoding
  } catch {
    return western
  }
}
