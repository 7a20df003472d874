/** A schedule as everybody outside reads it: its endpoints and webhooks give the same record. */
import type { ScheduleWithTimes } from "./Schedules.ts"

export const scheduleRecord = ({ schedule, times }: ScheduleWithTimes) => ({
  schedule_id: schedule.id,
  assistant_id: schedule.assistantId,
  cron: schedule.cron,
  timezone: schedule.timezone,
  content: schedule.content,
  thread: schedule.threadId === null ? ("new" as const) : { thread_id: schedule.threadId },
  metadata: schedule.metadata,
  paused: schedule.paused,
  on_missed: schedule.onMissed,
  next: times.map((time) => time.toISOString()),
  last:
    schedule.last === null
      ? null
      : { time: schedule.last.time.toISOString(), run_id: schedule.last.runId, error: schedule.last.error },
  created_at: schedule.createdAt.toISOString(),
  updated_at: schedule.updatedAt.toISOString()
})
