/**
 * A run's log as it is stored: batches of events, a row each. The database looks at the first and the last sequence of a batch only.
 * An append that was repeated may overlap with what is stored; the bounds of its row then leave the repeated part out.
 */
import type { LogEvent } from "@colloquy/core/adapters"
import { fromJson } from "./StoredText.ts"

/** Keeps a row, and so the smallest page of a log, small. */
const batchSize = 250

export interface BatchRow {
  readonly first_sequence: number
  readonly last_sequence: number
  readonly events: string
}

/** The arguments by which functions take events. */
export const logArguments = (events: ReadonlyArray<LogEvent>) => {
  const batches: Array<ReadonlyArray<LogEvent>> = []
  for (let start = 0; start < events.length; start += batchSize) batches.push(events.slice(start, start + batchSize))
  return {
    firsts: batches.map((batch) => batch[0]?.sequence ?? 0),
    lasts: batches.map((batch) => batch.at(-1)?.sequence ?? 0),
    events: batches.map((batch) => JSON.stringify(batch))
  }
}

/** The events of the rows with a sequence above `after`. */
export const eventsOf = (rows: ReadonlyArray<BatchRow>, after: number): ReadonlyArray<LogEvent> =>
  rows.flatMap((row) => {
    const from = Math.max(row.first_sequence, after + 1)
    const events = fromJson<ReadonlyArray<LogEvent>>(row.events)
    return events.filter(({ sequence }) => sequence >= from && sequence <= row.last_sequence)
  })
