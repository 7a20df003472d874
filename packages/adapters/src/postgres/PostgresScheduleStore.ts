/** `ScheduleStore` on PostgreSQL. A schedule is one JSON text; what statements compare has columns. */
import { OwnerId, Principal } from "@colloquy/core"
import { type LastTime, Schedule, type ScheduleStored, ScheduleStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { call, type Database } from "./Database.ts"
import { onceArguments } from "./PostgresBranches.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromJsonOrNull, fromText, toText } from "./StoredText.ts"

interface ScheduleRow {
  readonly owner: string
  readonly next_at: Date | null
  readonly body: string
  readonly last: string | null
}

const columns = "s.owner, s.next_at, s.body, s.last"

export const scheduleStore = (database: Database): typeof ScheduleStore.Service => {
  const { query, schema } = database
  const schedules = `${schema}.schedules`

  return ScheduleStore.of({
    insert: (schedule, most, once) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const args = {
          owner: toText(ownerId),
          id: newRowId(schedule.id),
          assistant: knownId(schedule.assistantId),
          next: schedule.next,
          body: encodeBody(schedule),
          most,
          ...onceArguments(once)
        }
        const [row] = yield* query<{ readonly outcome: ScheduleStored }>(
          "ScheduleStore.insert",
          `select ${call(database, "insert_schedule", args)} as outcome`,
          Object.values(args)
        )
        return row?.outcome ?? "assistant_missing"
      }),

    get: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<ScheduleRow>(
            "ScheduleStore.get",
            `select ${columns} from ${schedules} s where owner = $1 and id = $2`,
            [toText(ownerId), knownId(id)]
          ),
          ([row]) => Option.map(Option.fromNullishOr(row), decode)
        )
      ),

    list: ({ after, assistantId, limit }) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<ScheduleRow>(
            "ScheduleStore.list",
            `select ${columns} from ${schedules} s where owner = $1 and assistant_id = $2 and ($4 or ordinal < (
               select ordinal from ${schedules} where owner = $1 and id = $3
             )) order by ordinal desc limit $5`,
            [
              toText(ownerId),
              knownId(assistantId),
              after === undefined ? null : knownId(after),
              after === undefined,
              limit
            ]
          ),
          (rows) => rows.map(decode)
        )
      ),

    replace: (schedule) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query(
            "ScheduleStore.replace",
            `update ${schedules} set next_at = $3, body = $4 where owner = $1 and id = $2 returning id`,
            [toText(ownerId), knownId(schedule.id), schedule.next, encodeBody(schedule)]
          ),
          (rows) => rows.length > 0
        )
      ),

    remove: (id) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query("ScheduleStore.remove", `delete from ${schedules} where owner = $1 and id = $2 returning id`, [
            toText(ownerId),
            knownId(id)
          ]),
          (rows) => rows.length > 0
        )
      ),

    due: (now, limit) =>
      Effect.map(
        query<ScheduleRow>(
          "ScheduleStore.due",
          `select ${columns} from ${schedules} s where next_at <= $1 order by next_at limit $2`,
          [now, limit]
        ),
        (rows) => rows.map((row) => ({ ownerId: OwnerId.make(fromText(row.owner)), schedule: decode(row) }))
      ),

    advance: ({ due, followUp, id, last, next }) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const args = {
          owner: toText(ownerId),
          id: knownId(id),
          due,
          next,
          follow_ups: followUpsArgument(followUp === null ? [] : [followUp]),
          last_at: last?.time ?? null,
          last: last === null ? null : encodeLast(last)
        }
        const [row] = yield* query<{ readonly taken: boolean }>(
          "ScheduleStore.advance",
          `select ${call(database, "advance_schedule", args)} as taken`,
          Object.values(args)
        )
        return row?.taken === true
      }),

    note: (id, last) =>
      Principal.use(({ ownerId }) =>
        Effect.asVoid(
          query(
            "ScheduleStore.note",
            `update ${schedules} set last_at = $3, last = $4
             where owner = $1 and id = $2 and (last_at is null or last_at <= $3)`,
            [toText(ownerId), knownId(id), last.time, encodeLast(last)]
          )
        )
      )
  })
}

const codec = Schema.toCodecJson(Schedule)
const encodeSync = Schema.encodeSync(codec)
const decodeSync = Schema.decodeUnknownSync(codec)

const encodeBody = (schedule: Schedule): string => JSON.stringify(encodeSync({ ...schedule, next: null, last: null }))

const encodeLast = ({ error, runId, time }: LastTime): string => JSON.stringify({ time: time.getTime(), runId, error })

interface StoredLast extends Pick<LastTime, "error" | "runId"> {
  readonly time: number
}

const decode = ({ body, last, next_at }: ScheduleRow): Schedule => {
  const known = fromJsonOrNull<StoredLast>(last)
  return {
    ...decodeSync(fromJson(body)),
    next: next_at,
    last: known === null ? null : { ...known, time: new Date(known.time) }
  }
}
