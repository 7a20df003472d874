/** A length of time: `"30 seconds"`, or a number of milliseconds. */
type Unit = "nano" | "micro" | "milli" | "second" | "minute" | "hour" | "day" | "week"

export interface Duration {
  readonly "~effect/Duration": "~effect/Duration"
}

interface DurationObject {
  readonly weeks?: number | undefined
  readonly days?: number | undefined
  readonly hours?: number | undefined
  readonly minutes?: number | undefined
  readonly seconds?: number | undefined
  readonly milliseconds?: number | undefined
  readonly microseconds?: number | undefined
  readonly nanoseconds?: number | undefined
}

type DurationInput =
  | Duration
  | number
  | bigint
  | readonly [seconds: number, nanos: number]
  | `${number} ${Unit | `${Unit}s`}`
  | "Infinity"
  | "-Infinity"
  | DurationObject

export type { DurationInput as Input }
