/**
 * Pure: detects text with two or four bytes per character and without a byte order mark. Used to accept a file as text and to read it, so
 * that both agree. In a Latin text every second byte is zero. For other scripts every character must be one that occurs in texts; because
 * any bytes decode to some characters, the byte order with more spaces, line ends and full stops is chosen.
 */

export type WideEncoding = "utf-16le" | "utf-16be" | "utf-32le" | "utf-32be"

/** `head` is the beginning of the file. Null: it is no such text. */
export const detectWideEncoding = (head: Uint8Array): WideEncoding | null => utf32Order(head) ?? utf16Order(head)

/** No character is above 0x10FFFF: of four bytes the highest is zero, and the next is at most 0x10. */
const utf32Order = (head: Uint8Array): WideEncoding | null => {
  const whole = head.subarray(0, head.length - (head.length % 4))
  if (whole.length < 8) return null
  const fits = (highest: number, next: number) =>
    whole.every((byte, at) => (at % 4 === highest ? byte === 0 : at % 4 === next ? byte <= 0x10 : true))
  if (fits(3, 2)) return "utf-32le"
  return fits(0, 1) ? "utf-32be" : null
}

const utf16Order = (head: Uint8Array): WideEncoding | null => {
  let [even, odd, controls] = [0, 0, 0]
  head.forEach((byte, index) => {
    if (byte > 13 ? byte > 31 || byte === 27 : byte > 8) return
    if (byte !== 0) controls++
    else if (index % 2 === 0) even++
    else odd++
  })
  if (controls <= head.length * 0.05) {
    if (odd > head.length * 0.2 && even < odd / 10) return "utf-16le"
    if (even > head.length * 0.2 && odd < even / 10) return "utf-16be"
  }
  return even + odd + controls === 0 ? null : orderByMarks(head)
}

const orderByMarks = (head: Uint8Array): WideEncoding | null => {
  const whole = head.subarray(0, head.length - (head.length % 2))
  const [little, big] = [marksIn(whole, "utf-16le"), marksIn(whole, "utf-16be")]
  if (Math.max(little, big) === 0) return null
  return little >= big ? "utf-16le" : "utf-16be"
}

const fewestCharacters = 8

const ofTexts = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\t\n\r\u200b-\u200f\ufeff]*$/u

/** 0: these are no characters of a text. */
const marksIn = (bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): number => {
  try {
    // The head may end inside of a character.
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true })
    if (text.length < fewestCharacters || !ofTexts.test(text)) return 0
    return text.match(/[ \n\r\t.,\u3000-\u3002\uff0c\u060c]/gu)?.length ?? 0
  } catch {
    return 0
  }
}
