/**
 * Port: keeps schedules and their next times. A time is taken by one process only: `advance` compares the time that it expects, and stores
 * the work of that time in the same step.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, OwnerId, ScheduleId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AnsweredOnce } from "../runs/Branches.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { LastTime, Schedule } from "./Schedule.ts"

/** Which schedules of an assistant to read. */
export interface SchedulePage {
  readonly assistantId: AssistantId
  readonly limit: number
  /** The last schedule of the page before. */
  readonly after?: ScheduleId
}

/** A schedule whose time has come, with its owner. */
export interface DueSchedule {
  readonly ownerId: OwnerId
  readonly schedule: Schedule
}

/** Whether the schedule was stored, or why not. */
export type ScheduleStored = "stored" | "assistant_missing" | "too_many" | "repeated"

/** A time of a schedule that one process takes. */
export interface Advance {
  readonly id: ScheduleId
  /** The schedule has this revision, and the next one afterwards. */
  readonly revision: number
  /** The time that the schedule has as its next one. */
  readonly due: Date
  readonly next: Date | null
  /** The work of the time; null: there is none. */
  readonly followUp: NewFollowUp | null
  /** What is known of the time already; null: nothing changes. */
  readonly last: LastTime | null
}

export class ScheduleStore extends Context.Service<
  ScheduleStore,
  {
    /**
     * MUST store the schedule, unless its assistant is not one of the principal's, or the principal has `most` schedules already; then MUST
     * store nothing. With `once`, MUST store the answer for `RunStore.findAnswered` in the same step; when the key was used within the last
     * 24 hours, MUST store nothing and return "repeated".
     */
    readonly insert: (
      schedule: Schedule,
      most: number,
      once: AnsweredOnce | null
    ) => Effect.Effect<ScheduleStored, StoreUnavailable, Principal>

    /** MUST return none both for an unknown id and for another owner's id. */
    readonly get: (id: ScheduleId) => Effect.Effect<Option.Option<Schedule>, StoreUnavailable, Principal>

    /** MUST return the schedules of an assistant, newest first, at most `limit`. With `after`, MUST return those that come after it. */
    readonly list: (page: SchedulePage) => Effect.Effect<ReadonlyArray<Schedule>, StoreUnavailable, Principal>

    /**
     * MUST replace everything of the schedule but `last`, its assistant and its creation, if its revision is one below the given one; false, and
     * nothing changes, if the principal has none such. Of concurrent callers one MUST succeed.
     */
    readonly replace: (schedule: Schedule) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST delete the schedule; false if the principal has none with this id. */
    readonly remove: (id: ScheduleId) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** For all owners: MUST return schedules whose next time is not after `now`, the earliest first, at most `limit`. */
    readonly due: (now: Date, limit: number) => Effect.Effect<ReadonlyArray<DueSchedule>, StoreUnavailable>

    /**
     * Moves the schedule on to its next time and stores the follow-up, as by `FollowUpStore.add`, in one step. When the schedule is gone, or
     * its next time or its revision is another one, MUST change nothing and return false. Of concurrent callers one MUST succeed.
     */
    readonly advance: (advance: Advance) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST store what came of a time, unless that of a later time is stored already. */
    readonly note: (id: ScheduleId, last: LastTime) => Effect.Effect<void, StoreUnavailable, Principal>
  }
>()("@colloquy/core/schedules/ScheduleStore") {}
