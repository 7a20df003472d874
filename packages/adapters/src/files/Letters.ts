/** Pure: encodings of one byte a letter for which the general guess is wrong. */

/** Each is known by what its letters do; null: neither. */
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
  const vowels = found(/[\u0e30-\u0e3a]|[\u0e40-\u0e44]|[\u0e47-\u0e4e]/gu)
  const misplaced =
    found(/(?<![\u0e01-\u0e2e]|[\u0e31-\u0e3a]|[\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]/gu) +
    found(/[\u0e40-\u0e44](?![\u0e01-\u0e2e])/gu)
  return letters >= 16 && vowels > letters * 0.22 && misplaced <= letters * 0.01
}
