/** The events of runs with their time of arrival, for the details of a turn. */
import type { StreamEvent } from "../wire.ts"

export interface LoggedEvent {
  /** Milliseconds since 1970; null for an event that was read from the server afterwards. */
  readonly at: number | null
  readonly event: StreamEvent
}

const logs = new Map<string, Map<number, LoggedEvent>>()
/** The number of runs that are kept. */
const most = 50

export const record = (event: StreamEvent, at: number | null = Date.now()): void => {
  const log = logs.get(event.run_id) ?? new Map<number, LoggedEvent>()
  if (log.has(event.sequence)) return
  log.set(event.sequence, { at, event })
  logs.delete(event.run_id)
  logs.set(event.run_id, log)
  for (const [oldest] of logs) {
    if (logs.size <= most) break
    logs.delete(oldest)
  }
}

export const runEvents = (runId: string): ReadonlyArray<LoggedEvent> =>
  [...(logs.get(runId)?.values() ?? [])].toSorted((a, b) => a.event.sequence - b.event.sequence)
