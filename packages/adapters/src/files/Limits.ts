/** The largest files that are read. A file beyond a limit is refused, never silently cut. */
import { tooLarge } from "./Refused.ts"

export const limits = {
  zip: { entries: 20_000, part: 128_000_000, total: 256_000_000 },
  xmlDepth: 256,
  htmlDepth: 512,
  cells: 500_000,
  /** The largest number of columns in Excel. */
  columns: 16_384,
  pages: 5_000,
  characters: 20_000_000
}

/**
 * How many times its size a file may hold; a small file may always hold `always`. Packed files can hold a thousand times their size, so
 * without this limit a small upload could cause much work. The text of real documents has up to thirty times the size of the file; unpacked
 * they have up to a hundred times.
 */
const expansion = {
  characters: { times: 100, always: 1_000_000 },
  unpacked: { times: 200, always: 32_000_000 }
}

const limitForSize = (
  { always, times }: { readonly times: number; readonly always: number },
  fileSize: number
): number => Math.max(always, times * fileSize)

/** Throws when a file of this size may not have that much text. */
export const checkCharacters = (characters: number, fileSize: number): void => {
  if (characters > limits.characters) throw tooLarge("it has more than 20 million characters of text")
  if (characters > limitForSize(expansion.characters, fileSize))
    throw tooLarge(`it holds more than ${expansion.characters.times} times as much text as it has bytes`)
}

/** Throws when the parts of an archive of this size may not unpack to that many bytes. */
export const checkUnpacked = (unpacked: number, fileSize: number): void => {
  if (unpacked > limits.zip.total) throw tooLarge("it unpacks to more than 256 MB")
  if (unpacked > limitForSize(expansion.unpacked, fileSize))
    throw tooLarge(`it unpacks to more than ${expansion.unpacked.times} times its size`)
}
