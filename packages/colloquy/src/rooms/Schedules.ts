/** The room of schedules: `schedules()`. It adds `colloquy.schedules`: messages that are sent at the times of a cron expression. */
import { AssistantId, ThreadId } from "@colloquy/core"
import { type DeepPartial, type IdempotencyKey, ScheduleId } from "@colloquy/core/adapters"
import {
  type CallOptions,
  readCount,
  readId,
  type Room,
  room,
  type RoomTypes,
  type RunCall
} from "@colloquy/core/promises"
import {
  type NewSchedule,
  type ScheduleList,
  Schedules,
  type ScheduleSettings,
  type ScheduleWithTimes
} from "@colloquy/core/schedules"
import * as Effect from "effect/Effect"
import type { RoomNeeds } from "../Store.ts"

export type { NewSchedule, ScheduleList, ScheduleWithTimes } from "@colloquy/core/schedules"

/** `NewSchedule` with the thread's id as plain text. */
export interface ScheduleFields extends Omit<NewSchedule, "threadId"> {
  readonly threadId?: string | null
}

/** The ids by which a schedule is read, changed or removed. */
export interface ScheduleIds {
  readonly assistantId: string
  readonly scheduleId: string
}

/** What `colloquy.schedules` can do. */
export interface ScheduleCalls {
  /** With `idempotency`, a repeat within a day gives the first answer. */
  readonly create: (
    schedule: ScheduleFields & { readonly assistantId: string; readonly idempotency?: IdempotencyKey },
    options?: CallOptions
  ) => Promise<ScheduleWithTimes>
  readonly get: (schedule: ScheduleIds, options?: CallOptions) => Promise<ScheduleWithTimes>
  /** Newest first. */
  readonly list: (
    page: { readonly assistantId: string; readonly limit?: number; readonly after?: string },
    options?: CallOptions
  ) => Promise<ScheduleList>
  readonly update: (change: ScheduleIds & Partial<ScheduleFields>, options?: CallOptions) => Promise<ScheduleWithTimes>
  readonly remove: (schedule: ScheduleIds, options?: CallOptions) => Promise<void>
  /** Begins a turn now, also while the schedule is paused. */
  readonly run: (
    schedule: ScheduleIds & { readonly idempotency?: IdempotencyKey },
    options?: CallOptions
  ) => Promise<{ readonly threadId: string; readonly runId: string }>
}

interface SchedulesTypes extends RoomTypes {
  readonly calls: { readonly schedules: ScheduleCalls }
  readonly event: never
}

/** What `schedules()` gives. */
export type SchedulesRoom = Room<SchedulesTypes, RoomNeeds>

export const schedules = (given: DeepPartial<ScheduleSettings> = {}): SchedulesRoom =>
  room<SchedulesTypes>()(Schedules.layer(given), functions)

const withIds = <Fields extends { readonly threadId?: string | null }>({ threadId, ...fields }: Fields) => ({
  ...fields,
  ...(threadId === undefined ? {} : { threadId: threadId === null ? null : readId(ThreadId, threadId) })
})

const readIds = ({ assistantId, scheduleId }: ScheduleIds) =>
  [readId(AssistantId, assistantId), readId(ScheduleId, scheduleId)] as const

const functions = Effect.gen(function* () {
  const service = yield* Schedules
  const calls = (run: RunCall): ScheduleCalls => ({
    create: ({ assistantId, idempotency, ...schedule }, options) =>
      run(() => service.create(readId(AssistantId, assistantId), withIds(schedule), idempotency), options),
    get: (schedule, options) => run(() => service.get(...readIds(schedule)), options),
    list: ({ after, assistantId, limit = 20 }, options) =>
      run(
        () =>
          service.list(readId(AssistantId, assistantId), {
            limit: readCount("limit", limit),
            ...(after === undefined ? {} : { after: readId(ScheduleId, after) })
          }),
        options
      ),
    update: ({ assistantId, scheduleId, ...change }, options) =>
      run(() => service.update(...readIds({ assistantId, scheduleId }), withIds(change)), options),
    remove: (schedule, options) => run(() => service.remove(...readIds(schedule)), options),
    run: ({ idempotency, ...schedule }, options) =>
      run(
        () =>
          Effect.map(service.run(...readIds(schedule), idempotency), ({ runId, threadId }) => ({ runId, threadId })),
        options
      )
  })
  return { name: "schedules", calls: (run: RunCall) => ({ schedules: calls(run) }) }
})
