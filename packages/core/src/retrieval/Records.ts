/** Pure: splits separated values and lines into records, so that a chunk never contains half a row. */
import { linesOf } from "./Cutting.ts"

/**
 * The records of separated values, each with its line break. A line break between quotes belongs to the value. A quote counts only at the
 * beginning of a value, so that an inch sign in a cell does not join the rest of the table to one record.
 */
export const recordsOf = (table: string): ReadonlyArray<string> => {
  const records: Array<string> = []
  let open = ""
  for (const line of linesOf(table)) {
    open += line
    if (isOpen(open)) continue
    records.push(open)
    open = ""
  }
  // A quote that is never closed is part of the text.
  return open === "" ? records : [...records, ...linesOf(open)]
}

const quoted = /(^|[,;\t|])[^\S\t\n]*"(?:[^"]|"")*(?:"|$)/gu

const isOpen = (record: string): boolean => {
  if (!record.includes('"')) return false
  const rest = record.replaceAll(quoted, (value: string, separator: string) => {
    const text = value.slice(separator.length).trim()
    return text.length > 1 && text.endsWith('"') ? "" : "\0"
  })
  return rest.includes("\0")
}
