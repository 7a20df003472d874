/** Pure: splits separated values and lines into records, so that a chunk never contains half a row. One pass. */
import { forEachLine } from "./Cutting.ts"
import type { Steps } from "../primitives/Steps.ts"

/**
 * The records of separated values, each with its line break. A line break between quotes belongs to the value. A quote counts only at the
 * beginning of a value, so that an inch sign in a cell does not join the rest of the table to one record.
 */
export function* splitRecords(table: string): Steps<ReadonlyArray<string>> {
  const records: Array<string> = []
  let open: Array<string> = []
  let isOpen = false
  yield* forEachLine(table, (line) => {
    open.push(line)
    isOpen = endsInQuotes(line, isOpen)
    if (isOpen) return
    records.push(open.join(""))
    open = []
  })
  // A quote that is never closed is part of the text.
  return records.concat(open)
}

const opening = /(?:^|[,;\t|])[^\S\t\n]*"/gu

/** Whether the line ends inside of a quoted value, given whether it begins inside of one. */
const endsInQuotes = (line: string, beginsInQuotes: boolean): boolean => {
  let at = 0
  for (let isQuoted = beginsInQuotes; ; isQuoted = true) {
    if (isQuoted) {
      at = endOfQuoted(line, at)
      if (at === -1) return true
    }
    opening.lastIndex = at
    if (!opening.test(line)) return false
    at = opening.lastIndex
  }
}

/** The position behind the closing quote; -1: there is none. A doubled quote is one of the text. */
const endOfQuoted = (line: string, from: number): number => {
  for (let at = line.indexOf('"', from); at !== -1; at = line.indexOf('"', at + 2)) {
    if (line.charAt(at + 1) !== '"') return at + 1
  }
  return -1
}
