/** The leases of runs on PostgreSQL. They expire by the database's clock. Each method sends one statement. */
import { OwnerId, Principal, type RunId } from "@colloquy/core"
import { type RunStore } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { allArguments, callWithLockTimeout, type Database } from "./Database.ts"
import type { Presence } from "./Presence.ts"
import { decodeGranted } from "./RunOutcomes.ts"
import { limitsArgument } from "./RunStarts.ts"
import { decodeRun, runColumns, type RunRow } from "./RunRecord.ts"
import { isStoredId, knownId } from "./StoredId.ts"
import { fromText, toText } from "./StoredText.ts"

type Leases = Pick<typeof RunStore.Service, "reserve" | "renew" | "expired" | "takeOver">

const lasting = (parameter: string): string => `clock_timestamp() + ${parameter} * interval '1 millisecond'`
const active = "r.status in ('IN_PROGRESS', 'QUEUED')"

export const runLeases = (database: Database, presence: Presence): Leases => ({
  ...reserving(database),
  ...leasing(database, presence)
})

const reserving = (database: Database): Pick<Leases, "reserve"> => ({
  reserve: ({ runId, threadId, token }, request) =>
    Principal.use(({ ownerId }) => {
      const { names, values } = allArguments({
        owner: toText(ownerId),
        thread: knownId(threadId),
        run: knownId(runId),
        token,
        request: limitsArgument(request)
      })
      return Effect.map(
        database.lockingWrite<{ readonly granted: string | null }>(
          "RunStore.reserve",
          `select ${callWithLockTimeout(database, "reserve_more", names)} as granted`,
          values
        ),
        ([row]) => Option.map(Option.fromNullishOr(row?.granted), decodeGranted)
      )
    })
})

const leasing = ({ query, schema }: Database, { holder }: Presence): Omit<Leases, "reserve"> => ({
  renew: (leases, duration) => {
    const held = leases.filter(({ runId }) => isStoredId(runId))
    return Effect.map(
      query<{ readonly id: RunId; readonly cancel_requested: boolean }>(
        "RunStore.renew",
        // Rows are locked in the order of their ids, so that two processes that renew the same leases cannot deadlock.
        `with held as (
           select held.id from (
             select * from unnest($1::uuid[], $2::text[], $3::bigint[]) lease (run_id, owner, token) order by run_id
           ) lease cross join lateral (
             select r.id from ${schema}.runs r
             where r.id = lease.run_id and r.owner = lease.owner and r.token = lease.token and ${active} for no key update
           ) held
         )
         update ${schema}.runs r set lease_until = ${lasting("$4")} from held where r.id = held.id
         returning r.id, r.cancel_requested`,
        [
          held.map(({ runId }) => runId),
          held.map(({ ownerId }) => toText(ownerId)),
          held.map(({ token }) => String(token)),
          Duration.toMillis(duration)
        ]
      ),
      (kept) => {
        const keptIds = new Set(kept.map(({ id }) => id))
        return {
          lost: leases.map(({ runId }) => runId).filter((id) => !keptIds.has(id)),
          cancelRequested: kept.filter((row) => row.cancel_requested).map(({ id }) => id)
        }
      }
    )
  },

  expired: (limit) =>
    Effect.map(
      query<{ readonly id: RunId; readonly owner: string }>(
        "RunStore.expired",
        // `offset 0` prevents a join that reads all runs: the server has no useful statistics of `active_runs`, whose rows change constantly.
        `select r.id, r.owner from ${schema}.active_runs a cross join lateral (
           select r.id, r.owner, r.lease_until from ${schema}.runs r
           where r.id = a.run_id and r.owner = a.owner and r.lease_until <= clock_timestamp() offset 0
         ) r order by r.lease_until limit $1`,
        [limit]
      ),
      (rows) => rows.map(({ id, owner }) => ({ runId: id, ownerId: OwnerId.make(fromText(owner)) }))
    ),

  takeOver: (runId, duration, { onlyExpired }) =>
    Principal.use(({ ownerId }) =>
      Effect.map(
        query<RunRow & { readonly token: bigint }>(
          "RunStore.takeOver",
          `with r as (
             update ${schema}.runs r set token = r.token + 1, lease_until = ${lasting("$3")}
             where r.id = $1 and r.owner = $2 and ${active} and (not $4 or r.lease_until <= clock_timestamp()) returning r.*
           ), held as (
             update ${schema}.active_runs a set holder = $5 from r
             where a.thread_id = r.thread_id and a.owner = r.owner and a.run_id = r.id
           )
           select r.token, ${runColumns} from r`,
          [knownId(runId), toText(ownerId), Duration.toMillis(duration), onlyExpired, holder()]
        ),
        ([row]) =>
          Option.map(Option.fromNullishOr(row), (found) => ({
            lease: { runId: found.id, threadId: found.thread_id, ownerId, token: Number(found.token) },
            run: decodeRun(found)
          }))
      )
    )
})
