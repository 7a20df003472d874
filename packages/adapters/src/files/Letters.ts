/** Recognises two encodings with one byte per letter which the package `chardet` gets wrong. Pure functions. */

/** Each of the two is recognised by patterns of its letters. Null when the text has neither of them. */
export const letterEncoding = (head: Uint8Array, high: number): "windows-874" | "ibm866" | null => {
  if (isThai(new TextDecoder("windows-874").decode(head))) return "windows-874"
  const share = (from: number, to: number) =>
    head.reduce((sum, byte) => sum + (byte >= from && byte <= to ? 1 : 0), 0) / high
  // In the Russian encoding of DOS the small letters are in two ranges, and between them are only characters for the borders of tables.
  const isDos = share(0x80, 0xaf) + share(0xe0, 0xf1) > 0.97 && share(0xa0, 0xaf) > 0.4 && share(0xe0, 0xf1) > 0.15
  return isDos ? "ibm866" : null
}

/** In Thai, vowels and tone marks follow a consonant, and some vowels come before one. Other orders show that the text is not Thai. */
const isThai = (text: string): boolean => {
  if (text.includes("\ufffd")) return false
  const found = (pattern: RegExp) => text.match(pattern)?.length ?? 0
  const letters = found(/[\u0e01-\u0e5b]/gu)
  const vowels = found(/[\u0e30-\u0e3a]|[\u0e40-\u0e44]|[\u0e47-\u0e4e]/gu)
  const misplaced =
    found(/(?<![\u0e01-\u0e2e]|[\u0e31-\u0e3a]|[\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]/gu) +
    found(/[\u0e40-\u0e44](?![\u0e01-\u0e2e])/gu)
  return letters >= 16 && vowels > letters * 0.22 && misplaced <= letters * 0.01
}
