/** What the store gets of the logs of runs, and the right to write one. */
import type { OwnerId, RunId, ThreadId } from "../primitives/Ids.ts"

/** An entry of a run's log. For the store it is JSON with a number. A store MUST return it equal, in order of `sequence`. */
export interface LogEvent {
  readonly _tag: string
  readonly sequence: number
}

/** The right to write one run. */
export interface Lease {
  readonly runId: RunId
  readonly threadId: ThreadId
  readonly ownerId: OwnerId
  readonly token: number
}

/** The next entries of one run's log. One call of `append` contains at most one batch per run. */
export interface LogBatch {
  readonly lease: Lease
  readonly events: ReadonlyArray<LogEvent>
}

/** The runs whose entries were not written. */
export interface Appended {
  readonly lost: ReadonlyArray<RunId>
  /** Another caller is changing these runs at the moment. Try again later. */
  readonly later: ReadonlyArray<RunId>
}

/** A hint that a run changed: new log entries, another state, or a request to cancel. */
export interface RunSignal {
  readonly runId: RunId
  readonly threadId: ThreadId
  readonly cancel: boolean
}
