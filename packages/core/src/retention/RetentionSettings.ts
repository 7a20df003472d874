/**
 * How long records are kept that are needed for a limited time only. The defaults delete what no promise needs, and keep the logs of runs
 * for ever.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface RetentionSettings {
  /** Events of ended runs. Without them, followers of a run get only its end, and its inspection has no steps. Null: for ever. */
  readonly logs: Duration.Input | null
  /** A key is valid for one day, also if it is kept longer. */
  readonly idempotencyKeys: Duration.Input | null
  readonly deletedRuns: Duration.Input | null
  readonly chargeReceipts: Duration.Input | null
  /** Follow-ups that are done. */
  readonly followUps: Duration.Input | null
  /** Follow-ups that failed permanently and wait for an operator. */
  readonly deadFollowUps: Duration.Input | null
  /** Records of which memories a run changed. Without them, that can no longer be asked. */
  readonly learnedRuns: Duration.Input | null
  /** The interval of the deletion. The first one comes after one interval. */
  readonly every: Duration.Input
  /** Rows, or logs of runs, that one step deletes. They are locked during the step. */
  readonly batch: number
  /** The pause between two steps, so that turns come first. */
  readonly pause: Duration.Input
}

/** The ages of a host that changes none. */
export const defaultRetentionSettings: RetentionSettings = {
  logs: null,
  idempotencyKeys: "2 days",
  deletedRuns: "2 days",
  chargeReceipts: "30 days",
  followUps: "30 days",
  deadFollowUps: null,
  learnedRuns: null,
  every: "1 hour",
  batch: 500,
  pause: "50 millis"
}

export const RetentionSettings = Context.Reference<RetentionSettings>("@colloquy/core/retention/RetentionSettings", {
  defaultValue: () => defaultRetentionSettings
})
