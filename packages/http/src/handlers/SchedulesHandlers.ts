/** Schedules over HTTP. A host that has not installed `Schedules.layer()` answers 501. */
import { AssistantId, ThreadId } from "@colloquy/core"
import { ScheduleId } from "@colloquy/core/adapters"
import { type NewSchedule, scheduleRecord, Schedules } from "@colloquy/core/wings"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import { Api } from "../Api.ts"
import { writePage } from "../encoding/EncodeList.ts"
import { scheduleBodies } from "../endpoints/SchedulesApi.ts"
import { checkedBodyReader } from "../wings/BodyReader.ts"
import { NotImplemented } from "../wire/Errors.ts"
import { scheduleProblem, toWireError } from "../wire/ErrorStatus.ts"
import { compact, given } from "../wire/Fields.ts"
import type { ScheduleUpdate } from "../wire/ScheduleRecords.ts"
import { acceptance } from "./Delivery.ts"
import { readIdempotency } from "./Idempotency.ts"
import { sha256 } from "./Hash.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "schedules",
  Effect.fnUntraced(function* (handlers) {
    const read = yield* checkedBodyReader
    const accept = yield* acceptance
    const schedules = Option.match(yield* Effect.serviceOption(Schedules), {
      onNone: () => Effect.fail(new NotImplemented({ detail })),
      onSome: (service) => Effect.succeed(service)
    })

    const problems = (assistantId: AssistantId) =>
      Effect.map(
        schedules,
        (service) => (body: ScheduleUpdate) =>
          service.problems(assistantId, toChange(body)).pipe(
            Effect.map((found) => found.map(scheduleProblem)),
            Effect.mapError(toWireError)
          )
      )

    return handlers
      .handleRaw(
        "create",
        Effect.fnUntraced(function* (raw) {
          const { create } = yield* schedules
          const assistantId = AssistantId.make(raw.params.assistant_id)
          const value = yield* read(scheduleBodies.create, scheduleBodies.update, raw, yield* problems(assistantId))
          const { content, cron, timezone } = value
          const { idempotency } = yield* readIdempotency(raw, () => value)
          const schedule = { content, cron, timezone, ...toFields(value) }
          const made = create(assistantId, schedule, idempotency)
          const record = scheduleRecord(yield* Effect.mapError(made, toWireError))
          return HttpServerResponse.jsonUnsafe(record, { status: 201 })
        })
      )
      .handle(
        "list",
        Effect.fnUntraced(function* ({ params, query: { cursor, limit = 20 } }) {
          const { list } = yield* schedules
          const page = { limit, ...compact({ after: cursor === undefined ? undefined : ScheduleId.make(cursor) }) }
          const found = yield* Effect.mapError(list(AssistantId.make(params.assistant_id), page), toWireError)
          return yield* writePage("schedules", found.schedules.map(scheduleRecord), { next_cursor: found.next })
        })
      )
      .handle(
        "get",
        Effect.fnUntraced(function* ({ params }) {
          const { get } = yield* schedules
          return scheduleRecord(yield* Effect.mapError(get(...toIds(params)), toWireError))
        })
      )
      .handleRaw(
        "update",
        Effect.fnUntraced(function* (raw) {
          const { update } = yield* schedules
          const ids = toIds(raw.params)
          const value = yield* read(scheduleBodies.update, scheduleBodies.update, raw, yield* problems(ids[0]))
          const changed = update(...ids, toChange(value))
          return HttpServerResponse.jsonUnsafe(scheduleRecord(yield* Effect.mapError(changed, toWireError)))
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function* ({ params }) {
          const { remove } = yield* schedules
          yield* Effect.mapError(remove(...toIds(params)), toWireError)
          const deleted_at = new Date(yield* Clock.currentTimeMillis).toISOString()
          return { message: "The schedule was deleted.", schedule_id: params.schedule_id, deleted_at }
        })
      )
      .handle(
        "run",
        Effect.fnUntraced(function* ({ headers, params }) {
          const { run } = yield* schedules
          const key = headers["idempotency-key"]
          const fingerprint = yield* sha256(`schedule ${params.schedule_id}`)
          return yield* accept(run(...toIds(params), key === undefined ? undefined : { key, fingerprint }))
        })
      )
  })
)

const detail = "Schedules are not available on this server: its host has not installed them."

const toIds = (params: { readonly assistant_id: string; readonly schedule_id: string }) =>
  [AssistantId.make(params.assistant_id), ScheduleId.make(params.schedule_id)] as const

const toChange = (body: ScheduleUpdate): Partial<NewSchedule> => ({
  ...compact({ content: given(body.content), cron: given(body.cron), timezone: given(body.timezone) }),
  ...toFields(body)
})

const toFields = (body: ScheduleUpdate): Partial<NewSchedule> =>
  compact({
    paused: given(body.paused),
    metadata: body.metadata,
    onMissed: given(body.on_missed),
    threadId:
      body.thread === undefined || body.thread === null
        ? undefined
        : body.thread === "new"
          ? null
          : ThreadId.make(body.thread.thread_id)
  })
