/** The times of a schedule: reading an expression, the next times, and what is done when one has come. */
import * as Cron from "effect/Cron"
import * as Result from "effect/Result"
import { RecentlyUsed } from "../primitives/RecentlyUsed.ts"
import type { Schedule } from "./Schedule.ts"

export interface TimeProblem {
  readonly field: "cron" | "timezone"
  readonly message: string
}

/** The most characters of an expression. */
const longest = 200

/** How many times a schedule shows. */
const shownTimes = 5

/** How many expressions keep their times: some hundred bytes each. */
const keptExpressions = 5000

const isZone = (timezone: string): boolean =>
  timezone.length <= longest && Result.isSuccess(Cron.parse("0 0 * * *", timezone))

/** A cron expression with five fields, so that a schedule has at most one time a minute. */
export const readTimes = (
  { cron, timezone }: Pick<Schedule, "cron" | "timezone">,
  now: Date
): Result.Result<Cron.Cron, ReadonlyArray<TimeProblem>> => {
  const zone: ReadonlyArray<TimeProblem> = isZone(timezone)
    ? []
    : [{ field: "timezone", message: "There is no such time zone. Give a name such as Europe/Berlin, or UTC." }]
  const fields = cron.length <= longest ? cron.trim().split(/\s+/u) : []
  // What is wanted all the time is wanted in both of the hours that clocks show twice, and a time of day once.
  const onDstOverlap = fields[1]?.startsWith("*") === true ? "both" : "earlier"
  const read =
    fields.length === 5
      ? Cron.parse(fields.join(" "), zone.length === 0 ? timezone : "UTC", { onDstOverlap })
      : undefined
  if (read === undefined || Result.isFailure(read)) {
    const message =
      "This is no cron expression with five fields: minute, hour, day of the month, month, day of the week."
    return Result.fail([{ field: "cron", message }, ...zone])
  }
  if (!hasDay(read.success) || nextTime(read.success, now) === null) {
    return Result.fail([{ field: "cron", message: "There is no day at which this expression has a time." }, ...zone])
  }
  return zone.length === 0 ? Result.succeed(read.success) : Result.fail(zone)
}

/** The days of each month, in a leap year. */
const daysOfMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** False for the 31st of February, for which the search for a next time would look through centuries. */
const hasDay = ({ days, months, weekdays }: Cron.Cron): boolean =>
  days.size === 0 ||
  weekdays.size > 0 ||
  daysOfMonths.some((last, month) => (months.size === 0 || months.has(month + 1)) && Math.min(...days) <= last)

/** The first time after a moment; null: there is none. */
export const nextTime = (cron: Cron.Cron, after: Date): Date | null => {
  try {
    return Cron.next(cron, after)
  } catch {
    return null
  }
}

/** The next times after a moment, at most five. */
export const nextTimes = (cron: Cron.Cron, after: Date): ReadonlyArray<Date> => {
  const times: Array<Date> = []
  for (let time = nextTime(cron, after); time !== null; time = nextTime(cron, time)) {
    times.push(time)
    if (times.length === shownTimes) break
  }
  return times
}

/** Gives what `nextTimes` gives. A search takes about half a millisecond, so what it found is kept until the first time has come. */
export class KeptTimes {
  private readonly kept = new RecentlyUsed<{ readonly since: Date; readonly times: ReadonlyArray<Date> }>(
    keptExpressions
  )

  /** None where the expression cannot be read. */
  find(schedule: Pick<Schedule, "cron" | "timezone">, after: Date): ReadonlyArray<Date> {
    const key = `${schedule.timezone}\n${schedule.cron}`
    const found = this.kept.get(key)
    const [first] = found?.times ?? []
    if (found !== undefined && first !== undefined && found.since <= after && after < first) return found.times
    const read = readTimes(schedule, after)
    const times = Result.isFailure(read) ? [] : nextTimes(read.success, after)
    this.kept.set(key, { since: after, times }, 1)
    return times
  }
}

/** What is done at a time that has come: a turn, or nothing, with a sentence. `next` is the first time after now, so no time comes twice. */
export interface Due {
  readonly time: Date
  readonly next: Date | null
  readonly runs: boolean
  readonly missed: string | null
}

export const decideDue = (schedule: Schedule, cron: Cron.Cron, time: Date, now: Date, graceMillis: number): Due => {
  const next = nextTime(cron, now)
  if (now.getTime() - time.getTime() <= graceMillis) return { time, next, runs: true, missed: null }
  return schedule.onMissed === "once"
    ? { time, next, runs: true, missed: null }
    : { time, next, runs: false, missed: "No process was running at this time, and missed times are skipped." }
}
