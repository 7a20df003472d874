/** `ScheduleStore` on PostgreSQL. A schedule is one JSON text; values that statements compare have columns. */
import { OwnerId } from "@colloquy/core"
import { type LastTime, Schedule, type ScheduleStored, ScheduleStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Database } from "./Database.ts"
import { onceArguments } from "./PostgresBranches.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromJsonOrNull, fromText } from "./StoredText.ts"

interface ScheduleRow {
  readonly owner: string
  readonly next_at: Date | null
  readonly revision: number
  readonly body: string
  readonly last: string | null
}

const columns = "s.owner, s.next_at, s.revision, s.body, s.last"

export const scheduleStore = (database: Database): typeof ScheduleStore.Service => {
  const { query, schema } = database
  const own = ownedStatements(database, "ScheduleStore")
  const schedules = `${schema}.schedules`

  const get = (id: Schedule["id"]) =>
    own.first("get", `select ${columns} from ${schedules} s where owner = $1 and id = $2`, [knownId(id)], decode)

  return ScheduleStore.of({
    insert: (schedule, most, once) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<ScheduleStored>("insert", "insert_schedule", {
            id: newRowId(schedule.id),
            assistant: knownId(schedule.assistantId),
            next: schedule.next,
            revision: schedule.revision,
            body: encodeBody(schedule),
            most,
            ...onceArguments(once)
          }),
          (outcome) => outcome ?? "assistant_missing"
        )
      ),

    get,

    list: ({ after, assistantId, limit }) =>
      Effect.map(
        own.rows<ScheduleRow>(
          "list",
          `select ${columns} from ${schedules} s where owner = $1 and assistant_id = $2 and ($4 or ordinal < (
               select ordinal from ${schedules} where owner = $1 and id = $3 and assistant_id = $2
             )) order by ordinal desc limit $5`,
          [knownId(assistantId), after === undefined ? null : knownId(after), after === undefined, limit]
        ),
        (rows) => rows.map(decode)
      ),

    // The assistant and the time of the creation never change, so nothing can happen to them between the two statements.
    replace: (schedule) =>
      Effect.flatMap(get(schedule.id), (found) => {
        if (Option.isNone(found)) return Effect.succeed(false)
        const { assistantId, createdAt } = found.value
        return own.finds(
          "replace",
          `update ${schedules} set next_at = $3, body = $4, revision = $5
             where owner = $1 and id = $2 and revision = $5 - 1 returning id`,
          [knownId(schedule.id), schedule.next, encodeBody({ ...schedule, assistantId, createdAt }), schedule.revision]
        )
      }),

    remove: (id) =>
      own.finds("remove", `delete from ${schedules} where owner = $1 and id = $2 returning id`, [knownId(id)]),

    due: (now, limit) =>
      Effect.map(
        query<ScheduleRow>(
          "ScheduleStore.due",
          `select ${columns} from ${schedules} s where next_at <= $1 order by next_at limit $2`,
          [now, limit]
        ),
        (rows) => rows.map((row) => ({ ownerId: OwnerId.make(fromText(row.owner)), schedule: decode(row) }))
      ),

    advance: ({ due, followUp, id, last, next, revision }) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<boolean>("advance", "advance_schedule", {
            id: knownId(id),
            revision,
            due,
            next,
            follow_ups: followUpsArgument(followUp === null ? [] : [followUp]),
            last_at: last?.time ?? null,
            last: last === null ? null : encodeLast(last)
          }),
          (taken) => taken === true
        )
      ),

    note: (id, last) =>
      Effect.asVoid(
        own.rows(
          "note",
          `update ${schedules} set last_at = $3, last = $4
             where owner = $1 and id = $2 and (last_at is null or last_at <= $3)`,
          [knownId(id), last.time, encodeLast(last)]
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

const decode = ({ body, last, next_at, revision }: ScheduleRow): Schedule => {
  const known = fromJsonOrNull<StoredLast>(last)
  return {
    ...decodeSync(fromJson(body)),
    next: next_at,
    revision,
    last: known === null ? null : { ...known, time: new Date(known.time) }
  }
}
