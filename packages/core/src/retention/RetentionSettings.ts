/** How long is kept what only serves for a while. The defaults delete what no promise needs, and keep the logs of runs for ever. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface RetentionSettings {
  /** Events of ended runs. Without them a run is followed by its end alone, and its inspection has no steps. Null: for ever. */
  readonly logs: Duration.Input | null
  /** They are good for a day, whatever stands here. */
  readonly idempotencyKeys: Duration.Input | null
  readonly deletedRuns: Duration.Input | null
  readonly chargeReceipts: Duration.Input | null
  /** Those that are done. */
  readonly followUps: Duration.Input | null
  /** Those that failed for good and wait for an operator. */
  readonly deadFollowUps: Duration.Input | null
  /** How often it is looked for, the first time when a process has run so long. */
  readonly every: Duration.Input
  /** Rows, or logs of runs, that are deleted in one step: as long as a step takes, they are locked. */
  readonly batch: number
  /** Between two steps, so that turns come first. */
  readonly pause: Duration.Input
}

export const defaultRetentionSettings: RetentionSettings = {
  logs: null,
  idempotencyKeys: "2 days",
  deletedRuns: "2 days",
  chargeReceipts: "30 days",
  followUps: "30 days",
  deadFollowUps: null,
  every: "1 hour",
  batch: 500,
  pause: "50 millis"
}

export const RetentionSettings = Context.Reference<RetentionSettings>("@colloquy/core/retention/RetentionSettings", {
  defaultValue: () => defaultRetentionSettings
})
