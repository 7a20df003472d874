/** How much of a file is read. Beyond these it is refused, never cut silently. */
export const limits = {
  zip: { entries: 20_000, part: 128_000_000, total: 256_000_000 },
  xmlDepth: 256,
  htmlDepth: 512,
  cells: 500_000,
  /** The widest sheet that Excel knows. */
  columns: 16_384,
  pages: 5_000,
  characters: 20_000_000
}
