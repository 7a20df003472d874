/** Pure: encodings that are known by how often some bytes or characters stand in a text, where a general guess is wrong. */

/**
 * UTF-16 without a mark, of a script whose characters have no zero bytes. Every character must be one that texts have, since any bytes give
 * some; the order is that in which more spaces, line ends and full stops are found.
 */
export const utf16Order = (head: Uint8Array): "utf-16le" | "utf-16be" | null => {
  const even = head.subarray(0, head.length - (head.length % 2))
  const [little, big] = [textOf(even, "utf-16le"), textOf(even, "utf-16be")]
  if (Math.max(marksIn(little), marksIn(big)) <= 0) return null
  return marksIn(little) >= marksIn(big) ? "utf-16le" : "utf-16be"
}

const fewestCharacters = 12

/** Null: these are no characters of a text. */
const textOf = (bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): string | null => {
  try {
    // The head may end inside of a character.
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true })
    return text.length >= fewestCharacters &&
      /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\t\n\r\u200b-\u200f\ufeff]*$/u.test(text)
      ? text
      : null
  } catch {
    return null
  }
}

const marksIn = (text: string | null): number =>
  text === null ? -1 : (text.match(/[ \n\r\t.,\u3000-\u3002\uff0c\u060c]/gu)?.length ?? 0)

/** Encodings of one byte a letter, each known by what its letters do; null: neither. */
export const letterEncoding = (head: Uint8Array, high: number): "windows-874" | "ibm866" | null => {
  if (isThai(new TextDecoder("windows-874").decode(head))) return "windows-874"
  const share = (from: number, to: number) =>
    head.reduce((sum, byte) => sum + (byte >= from && byte <= to ? 1 : 0), 0) / high
  // Russian of DOS has its small letters in two pieces, and nothing between them but frames of tables.
  const isDos = share(0x80, 0xaf) + share(0xe0, 0xf1) > 0.97 && share(0xa0, 0xaf) > 0.4 && share(0xe0, 0xf1) > 0.15
  return isDos ? "ibm866" : null
}

/** Vowels and tones stand above or below a consonant, and some before one. */
const isThai = (text: string): boolean => {
  if (text.includes("\ufffd")) return false
  const found = (pattern: RegExp) => text.match(pattern)?.length ?? 0
  const letters = found(/[\u0e01-\u0e5b]/gu)
  const vowels = found(/[\u0e30-\u0e3a\u0e40-\u0e44\u0e47-\u0e4e]/gu)
  const misplaced =
    found(/(?<![\u0e01-\u0e2e\u0e31-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]/gu) +
    found(/[\u0e40-\u0e44](?![\u0e01-\u0e2e])/gu)
  return letters >= 16 && vowels > letters * 0.22 && misplaced <= letters * 0.01
}
