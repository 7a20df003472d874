/** The stored log of a run's present leg, for a process that goes on with a run of another one or ends it. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { LogEvent } from "../runs/LogRecords.ts"
import type { Run } from "../runs/Run.ts"
import { RunLog } from "../runs/RunLog.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { TurnEvent } from "./TurnEvent.ts"

/** The reader holds the run's lease. No other process recovers the run until this lease expires too, so the read is repeated here. */
export const readWholeLog = Effect.fnUntraced(function* (
  store: Pick<typeof RunStore.Service, "read">,
  { id, legStart }: Pick<Run, "id" | "legStart">,
  time: Duration.Input
): Effect.fn.Return<ReadonlyArray<LogEvent>, StoreUnavailable, Principal> {
  const events: Array<LogEvent> = []
  let after = legStart - 1
  while (true) {
    const page = yield* repeatWhileUnavailable(store.read(id, after), time)
    const last = page.at(-1)
    if (last === undefined) return events
    events.push(...page)
    after = last.sequence
  }
})

/** A log that goes on after these events. Those that are never stored may be missing among them. */
export const openLog = (events: ReadonlyArray<TurnEvent>, first: number): RunLog<TurnEvent> => {
  const log = new RunLog<TurnEvent>(first)
  for (const event of events) {
    while (log.nextSequence < event.sequence) log.push((sequence) => ({ _tag: "LiveMissed", sequence }))
    log.push(() => event)
  }
  return log
}
