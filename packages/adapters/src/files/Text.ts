/**
 * Bytes to text. What says its encoding, or can have only one, is not guessed: byte order marks, UTF-16 by its zero bytes, valid UTF-8. The
 * rest is guessed from the letters, where the package for it is installed; a few accents alone are Western European.
 */
import { Refused } from "./Refused.ts"

const lookedAt = 65_536

export const decodeText = async (bytes: Uint8Array): Promise<string> =>
  new TextDecoder(await encodingOf(bytes)).decode(bytes).replaceAll("\r\n", "\n")

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
