/** The use cases of schedules as a service; `SchedulesLayer` implements them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantId, ScheduleId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import type { Metadata, ThreadNotFound } from "../threads/Thread.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import type { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import type { StartError } from "../turns/TurnUseCases.ts"
import type { OnMissed, Schedule, ScheduleNotFound, ScheduleRefused, TooManySchedules } from "./Schedule.ts"

/** When an assistant is sent which message. */
export interface NewSchedule {
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  readonly cron: string
  /** A name such as `Europe/Berlin`. */
  readonly timezone: string
  readonly content: string
  /** A thread of the assistant; null or absent: each turn has a new one. */
  readonly threadId?: ThreadId | null
  /** Of the messages. */
  readonly metadata?: Metadata | null
  readonly paused?: boolean
  /** Default `once`. */
  readonly onMissed?: OnMissed
}

/** A schedule with its next times, at most five. */
export interface ScheduleWithTimes {
  readonly schedule: Schedule
  readonly times: ReadonlyArray<Date>
}

/** Schedules, and where the next page begins. */
export interface ScheduleList {
  readonly schedules: ReadonlyArray<ScheduleWithTimes>
  /** `after` of the next page; null: there is none. */
  readonly next: ScheduleId | null
}

type Missing = ScheduleNotFound | StoreUnavailable

export class Schedules extends Context.Service<
  Schedules,
  {
    /** What is wrong with these fields; `create` and `update` refuse it. For transports that list it beside problems of their own. */
    readonly problems: (
      assistantId: AssistantId,
      fields: Partial<NewSchedule>
    ) => Effect.Effect<ScheduleRefused["problems"], StoreUnavailable, Principal>
    readonly create: (
      assistantId: AssistantId,
      schedule: NewSchedule,
      idempotency?: IdempotencyKey
    ) => Effect.Effect<
      ScheduleWithTimes,
      AssistantNotFound | IdempotencyConflict | ScheduleRefused | ThreadNotFound | TooManySchedules | StoreUnavailable,
      Principal
    >
    readonly get: (assistantId: AssistantId, id: ScheduleId) => Effect.Effect<ScheduleWithTimes, Missing, Principal>
    /** Newest first. */
    readonly list: (
      assistantId: AssistantId,
      page: { readonly limit: number; readonly after?: ScheduleId }
    ) => Effect.Effect<ScheduleList, AssistantNotFound | StoreUnavailable, Principal>
    /** Changes the given fields. New times, and the end of a pause, count from now: times that have passed are not made up for. */
    readonly update: (
      assistantId: AssistantId,
      id: ScheduleId,
      change: Partial<NewSchedule>
    ) => Effect.Effect<ScheduleWithTimes, ScheduleRefused | ThreadNotFound | Missing, Principal>
    readonly remove: (assistantId: AssistantId, id: ScheduleId) => Effect.Effect<void, Missing, Principal>
    /** Begins a turn of the schedule now, also while it is paused. Its times stay as they are. */
    readonly run: (
      assistantId: AssistantId,
      id: ScheduleId,
      idempotency?: IdempotencyKey
    ) => Effect.Effect<StartedTurn, ScheduleNotFound | StartError, Principal>
  }
>()("@colloquy/core/schedules/Schedules") {}
