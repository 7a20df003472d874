/**
 * Converts the events of a run's log to rows and back. One row holds a batch of events as JSON, and the sequences of its first and last
 * event. A repeated append may contain events that are stored already; the row's bounds then exclude them.
 */
import type { LogEvent } from "@colloquy/core/adapters"
import { fromJson } from "./StoredText.ts"

/** The largest number of events that an append puts into one row. A log is read row by row, so this is also the smallest page of a log. */
const batchSize = 250

export interface BatchRow {
  readonly first_sequence: number
  readonly last_sequence: number
  readonly events: string
}

/** The events in batches: the sequences of the first and the last event of each, and its JSON. */
export const makeBatches = (events: ReadonlyArray<LogEvent>) => {
  const batches: Array<ReadonlyArray<LogEvent>> = []
  for (let start = 0; start < events.length; start += batchSize) batches.push(events.slice(start, start + batchSize))
  return {
    firsts: batches.map((batch) => batch[0]?.sequence ?? 0),
    lasts: batches.map((batch) => batch.at(-1)?.sequence ?? 0),
    events: batches.map((batch) => JSON.stringify(batch))
  }
}

/**
 * The arguments `first`, `last` and `events` of the schema's functions that write a turn: one row of the log, however many events it has.
 * There are few, because a run appends its events while it goes on. Null: there are none.
 */
export const logArguments = (events: ReadonlyArray<LogEvent>) => ({
  first: events[0]?.sequence ?? null,
  last: events.at(-1)?.sequence ?? null,
  events: events.length === 0 ? null : JSON.stringify(events)
})

/** The events of the rows with a sequence above `after`. */
export const readEvents = (rows: ReadonlyArray<BatchRow>, after: number): ReadonlyArray<LogEvent> =>
  rows.flatMap((row) => {
    const from = Math.max(row.first_sequence, after + 1)
    const events = fromJson<ReadonlyArray<LogEvent>>(row.events)
    return events.filter(({ sequence }) => sequence >= from && sequence <= row.last_sequence)
  })
