/**
 * Writes a tar archive (POSIX: ustar with pax records) without knowing all of it: pure headers, and the end. An entry's size stands before
 * its bytes, so it must be known. A name that ustar cannot hold stands in a pax record.
 */
import { joined } from "../bodies/Text.ts"

const block = 512
const encoder = new TextEncoder()

export interface TarEntry {
  readonly name: string
  readonly size: number
  readonly modifiedAt: Date
}

/** The header before the bytes of an entry. */
export const tarHeader = ({ modifiedAt, name, size }: TarEntry): Uint8Array => {
  const bytes = encoder.encode(name)
  const seconds = Math.max(0, Math.floor(modifiedAt.getTime() / 1000))
  if (bytes.length <= 100 && isPlain(name) && size < mostOctal) return ustar(bytes, size, seconds, "0")
  const records = encoder.encode(record("path", name) + (size < mostOctal ? "" : record("size", String(size))))
  return joined([
    ustar(encoder.encode("pax"), records.length, seconds, "x"),
    records,
    tarPadding(records.length),
    ustar(
      encoder.encode(name.replaceAll(/[^\x20-\x7e]/gu, "_").slice(-100)),
      Math.min(size, mostOctal - 1),
      seconds,
      "0"
    )
  ])
}

/** Fills the last block of an entry. */
export const tarPadding = (size: number): Uint8Array<ArrayBuffer> => new Uint8Array((block - (size % block)) % block)

export const tarEnd = new Uint8Array(2 * block)

/** Sizes of eleven octal digits. */
const mostOctal = 8 ** 11

const isPlain = (name: string): boolean => /^[\x20-\x7e]*$/u.test(name)

/** `<length> key=value\n`, where the length includes its own digits. */
const record = (key: string, value: string): string => {
  const rest = encoder.encode(` ${key}=${value}\n`).length
  let length = rest + String(rest).length
  if (rest + String(length).length > length) length++
  return `${length} ${key}=${value}\n`
}

const ustar = (name: Uint8Array, size: number, seconds: number, type: "0" | "x"): Uint8Array => {
  const header = new Uint8Array(block)
  const put = (text: string, at: number) => header.set(encoder.encode(text), at)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`
  header.set(name, 0)
  put(octal(0o600, 7), 100)
  put(octal(0, 7), 108)
  put(octal(0, 7), 116)
  put(octal(size, 11), 124)
  put(octal(seconds, 11), 136)
  put("        ", 148)
  put(type, 156)
  put("ustar\x0000", 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return header
}
