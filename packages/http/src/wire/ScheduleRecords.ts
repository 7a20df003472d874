/** Schedules on the wire. */
import * as Schema from "effect/Schema"
import { maybe, maybeOr, Timestamp, Uuid } from "./Fields.ts"

const Id = Schema.String.annotate({ format: "uuid" })
const OnMissed = Schema.Literals(["once", "skip"])

/** `new`: each turn has a thread of its own. */
const Thread = Schema.Union([Schema.Literal("new"), Schema.Struct({ thread_id: Uuid })])

const fields = {
  paused: maybeOr(Schema.Boolean, false),
  /** The metadata of the schedule's messages. */
  metadata: maybe(Schema.JsonObject),
  /** The rule for times at which no process was running: one turn for all of them, or none. */
  on_missed: maybeOr(OnMissed, "once")
}

export const ScheduleRequest = Schema.Struct({
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  cron: Schema.String,
  /** A name such as Europe/Berlin. */
  timezone: Schema.String,
  content: Schema.String,
  thread: Thread,
  ...fields
}).annotate({ identifier: "ScheduleRequest" })
export type ScheduleRequest = typeof ScheduleRequest.Type

/** A change of a schedule. Absent fields stay unchanged. */
export const ScheduleUpdate = Schema.Struct({
  cron: maybe(Schema.String),
  timezone: maybe(Schema.String),
  content: maybe(Schema.String),
  thread: maybe(Thread),
  paused: maybe(Schema.Boolean),
  metadata: maybe(Schema.JsonObject),
  on_missed: maybe(OnMissed)
}).annotate({ identifier: "ScheduleUpdate" })
export type ScheduleUpdate = typeof ScheduleUpdate.Type

export const Schedule = Schema.Struct({
  schedule_id: Id,
  assistant_id: Id,
  cron: Schema.String,
  timezone: Schema.String,
  content: Schema.String,
  thread: Schema.Union([Schema.Literal("new"), Schema.Struct({ thread_id: Id })]),
  metadata: Schema.NullOr(Schema.JsonObject),
  paused: Schema.Boolean,
  on_missed: OnMissed,
  /** The next five times; none while it is paused. */
  next: Schema.Array(Timestamp),
  /** The last time, and its run, or why there was none. */
  last: Schema.NullOr(
    Schema.Struct({ time: Timestamp, run_id: Schema.NullOr(Schema.String), error: Schema.NullOr(Schema.String) })
  ),
  created_at: Timestamp,
  updated_at: Timestamp
}).annotate({ identifier: "Schedule" })
export type Schedule = typeof Schedule.Type

export const ScheduleCreated = Schedule.annotate({ identifier: "ScheduleCreated", httpApiStatus: 201 })

export const ScheduleList = Schema.Struct({
  schedules: Schema.Array(Schedule),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ScheduleList" })

export const ScheduleDeleted = Schema.Struct({
  message: Schema.String,
  schedule_id: Id,
  deleted_at: Timestamp
}).annotate({ identifier: "ScheduleDeleted" })
