/**
 * `FollowUpStore` on PostgreSQL. Each method sends one statement. Owners take turns: each process goes on after the owner whose work it
 * claimed last. A claim skips rows that another process is claiming at the same time.
 * Claims expire by the database's clock.
 */
import { FollowUpStore } from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { SqlError } from "effect/sql/SqlError"
import { call, type Database } from "./Database.ts"
import { decodeFollowUp, followUpColumns, type FollowUpRow, followUpsArgument } from "./FollowUpRecord.ts"
import type { Presence } from "./Presence.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { readSqlState } from "./StoreFault.ts"
import { knownId } from "./StoredId.ts"
import { toText } from "./StoredText.ts"

/** More follow-ups than any process works on. */
const many = 1_000_000
const free = { limit: many, held: [] }

/** The index of open follow-ups has one of this owner, kind and key already. */
const isTakenKey = (defect: unknown): boolean =>
  defect instanceof SqlError && readSqlState(defect.reason.cause) === "23505"

const isOpen = (row: string): string => `${row}.status in ('pending', 'running')`
const after = (parameter: string): string => `clock_timestamp() + ${parameter} * interval '1 millisecond'`
const sameHash = (column: string, other: string): string =>
  `hashtextextended(${column}, 0) = hashtextextended(${other}, 0) and ${column} = ${other}`

export const followUpStore = (database: Database, { holder }: Presence): typeof FollowUpStore.Service => {
  const { query, schema } = database
  const own = ownedStatements(database, "FollowUpStore")
  const table = `${schema}.follow_ups`

  const changed = (operation: string, statement: string, parameters: Parameters<Database["query"]>[2]) =>
    Effect.map(query(operation, statement, parameters), (rows) => rows.length > 0)

  /** The owners whose urgent and whose other follow-up this process claimed last. Empty at first, because no owner has an empty name. */
  const served = { urgent: "", other: "" }

  return FollowUpStore.of({
    add: (followUps) =>
      Effect.suspend(() => {
        const follow_ups = followUpsArgument(followUps)
        return follow_ups === null ? Effect.void : Effect.asVoid(own.call("add", "add_follow_ups", { follow_ups }))
      }),

    claim: (kinds, limit, duration, rules) =>
      Effect.suspend(() => {
        const { other, share, suspects, urgent } = rules ?? { urgent: free, other: free, share: many, suspects: many }
        const args = {
          kinds: kinds.map(toText),
          limit,
          urgent: urgent.limit,
          other: other.limit,
          share,
          suspects,
          held_urgent: urgent.held.map(toText),
          held_other: other.held.map(toText),
          after_urgent: served.urgent,
          after_other: served.other,
          millis: Duration.toMillis(duration),
          holder: holder()
        }
        return Effect.map(
          query<FollowUpRow & { readonly is_retaken: boolean }>(
            "FollowUpStore.claim",
            `select * from ${call(database, "claim_follow_ups", args)}`,
            Object.values(args)
          ),
          (rows) =>
            rows.map((row) => {
              served[row.is_urgent ? "urgent" : "other"] = row.owner
              return { followUp: decodeFollowUp(row), token: Number(row.token), isRetaken: row.is_retaken }
            })
        )
      }),

    renew: (claims, duration) =>
      Effect.map(
        query<Pick<FollowUpRow, "id">>(
          "FollowUpStore.renew",
          `with held as (
             select f.owner, f.id from ${table} f
             join unnest($1::text[], $2::uuid[], $3::bigint[]) claim (owner, id, token)
               on f.owner = claim.owner and f.id = claim.id and f.token = claim.token
             where f.status = 'running' order by f.owner, f.id for no key update of f
           )
           update ${table} f set due_at = ${after("$4")} from held where f.owner = held.owner and f.id = held.id returning f.id`,
          [
            claims.map(({ followUp }) => toText(followUp.ownerId)),
            claims.map(({ followUp }) => followUp.id),
            claims.map(({ token }) => String(token)),
            Duration.toMillis(duration)
          ]
        ),
        (rows) => {
          const held = new Set(rows.map(({ id }) => id))
          return claims.map(({ followUp }) => followUp.id).filter((id) => !held.has(id))
        }
      ),

    complete: ({ followUp, token }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        changed(
          "FollowUpStore.complete",
          `update ${table} f set status = 'done', last_error = null, ended_at = coalesce(f.ended_at, $4)
           where f.owner = $1 and f.id = $2 and f.token = $3 and f.status in ('running', 'done') returning f.id`,
          [toText(followUp.ownerId), knownId(followUp.id), token, new Date(now)]
        )
      ),

    fail: ({ followUp, token }, { error, isCounted, pause }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        changed(
          "FollowUpStore.fail",
          `update ${table} f set status = $4, holder = null, attempts = f.attempts - $5, last_error = $6, due_at = ${after("$7")}, ended_at = $8
           where f.owner = $1 and f.id = $2 and f.token = $3 and f.status = 'running' returning f.id`,
          [
            toText(followUp.ownerId),
            knownId(followUp.id),
            token,
            pause === null ? "dead" : "pending",
            isCounted ? 0 : 1,
            toText(error),
            pause === null ? 0 : Duration.toMillis(pause),
            pause === null ? new Date(now) : null
          ]
        )
      ),

    find: (kind, key) =>
      own.first(
        "find",
        `select ${followUpColumns} from ${table} f where f.owner = $1 and f.kind = $2 and ${sameHash("f.key", "$3::text")}
             order by f.ordinal desc limit 1`,
        [toText(kind), toText(key)],
        decodeFollowUp
      ),

    list: (kind, { limit, skip }) =>
      Effect.map(
        own.rows<FollowUpRow>(
          "list",
          `select ${followUpColumns} from ${table} f where f.owner = $1 and f.kind = $2 order by f.ordinal desc offset $3 limit $4`,
          [toText(kind), skip, limit]
        ),
        (rows) => rows.map(decodeFollowUp)
      ),

    cancel: (kind, key) =>
      own.finds(
        "cancel",
        `delete from ${table} f where f.owner = $1 and f.kind = $2 and ${sameHash("f.key", "$3::text")} and ${isOpen("f")}
         returning f.id`,
        [toText(kind), toText(key)]
      ),

    dead: ({ limit, skip }) =>
      Effect.map(
        query<FollowUpRow>(
          "FollowUpStore.dead",
          `select ${followUpColumns} from ${table} f where f.status = 'dead' order by f.ordinal desc offset $1 limit $2`,
          [skip, limit]
        ),
        (rows) => rows.map(decodeFollowUp)
      ),

    // If a follow-up of the same kind and key is open under another id, the work will be done anyway, so the dead one stays dead.
    revive: (id) =>
      changed(
        "FollowUpStore.revive",
        `update ${table} f set status = 'pending', attempts = 0, due_at = clock_timestamp(), ended_at = null
         where f.id = $1 and f.status = 'dead' and not exists (
           select from ${table} open where open.owner = f.owner and open.kind = f.kind
             and ${sameHash("open.key", "f.key")} and ${isOpen("open")}
         ) returning f.id`,
        [knownId(id)]
      ).pipe(
        // The other one became open at the same moment, which only the index sees.
        Effect.catchDefect((defect) => (isTakenKey(defect) ? Effect.succeed(false) : Effect.die(defect)))
      ),

    prune: (before, limit) =>
      Effect.map(
        query(
          "FollowUpStore.prune",
          `delete from ${table} f using (
             select old.owner, old.id from ${table} old where old.status = 'done' and old.ended_at < $1
             order by old.ended_at limit $2 for update skip locked
           ) old where f.owner = old.owner and f.id = old.id returning f.id`,
          [before, limit]
        ),
        (rows) => rows.length
      )
  })
}
