/** The largest files that are read. A file beyond a limit is refused, never silently cut. */
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
