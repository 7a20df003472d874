/** A schedule: a message that is sent to an assistant again and again, at the times of a cron expression in a time zone. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AssistantId, RunId, ScheduleId, ThreadId } from "../primitives/Ids.ts"
import { Metadata } from "../threads/Thread.ts"

/** What happens to a time at which no process was running: one turn for all times that were missed, or none. */
export const OnMissed = Schema.Literals(["once", "skip"])
export type OnMissed = typeof OnMissed.Type

/** The last time of a schedule, and what came of it. */
export const LastTime = Schema.Struct({
  /** The time of the schedule, not that of the turn. */
  time: Schema.Date,
  /** Null: no turn began. */
  runId: Schema.NullOr(RunId),
  /** Why no turn began; null: one did. */
  error: Schema.NullOr(Schema.String)
})
export type LastTime = typeof LastTime.Type

export const Schedule = Schema.Struct({
  id: ScheduleId,
  assistantId: AssistantId,
  cron: Schema.String,
  timezone: Schema.String,
  content: Schema.String,
  /** Null: each turn has a thread of its own. */
  threadId: Schema.NullOr(ThreadId),
  /** Of the messages. */
  metadata: Schema.NullOr(Metadata),
  paused: Schema.Boolean,
  onMissed: OnMissed,
  /** The next time; null while it is paused. */
  next: Schema.NullOr(Schema.Date),
  last: Schema.NullOr(LastTime),
  /** Rises by one with each change and each time that is taken. Schedules that older versions stored have none. */
  revision: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
  createdAt: Schema.Date,
  updatedAt: Schema.Date
})
export type Schedule = typeof Schedule.Type

/** The owner has no schedule with this id. */
export class ScheduleNotFound extends Schema.TaggedError<ScheduleNotFound>()("ScheduleNotFound", {
  scheduleId: ScheduleId
}) {
  override get message() {
    return `There is no schedule ${this.scheduleId}.`
  }
}

/** A schedule cannot be as it was asked for. `problems` name its fields. */
export class ScheduleRefused extends Schema.TaggedError<ScheduleRefused>()("ScheduleRefused", {
  problems: Schema.Array(
    Schema.Struct({ field: Schema.Literals(["cron", "timezone", "content", "threadId"]), message: Schema.String })
  )
}) {
  override get message() {
    return this.problems.map(({ message }) => message).join(" ")
  }
}

/** The owner has as many schedules as the settings allow. */
export class TooManySchedules extends Schema.TaggedError<TooManySchedules>()("TooManySchedules", {
  limit: Schema.Int
}) {
  override get message() {
    return `There are ${this.limit} schedules already, which is the limit. Delete one of them first.`
  }
}
