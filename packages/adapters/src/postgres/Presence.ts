/**
 * Finds out whether the processes that hold leases are still alive. Each process has a number, and holds an advisory lock of that number on
 * the connection on which it listens. PostgreSQL releases the lock when the connection ends, which is at once when a process is killed.
 * Other processes look for numbers without a lock, and let the leases of such a process expire. Where there is no lock (no connection that
 * listens, or a pooler in between), leases expire in their time.
 */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import type { RunId, StoreUnavailable, ThreadId } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomInt } from "node:crypto"
import type { Database } from "./Database.ts"
import type { RunHints } from "./RunHints.ts"
import { functionName } from "./schema/FunctionNames.ts"

export interface Presence {
  /** The number under which this process holds leases now. Null: the process has no lock. */
  readonly holder: () => number | null
  /** Takes the lock on a connection that is open as long as the scope. */
  readonly lockOn: (session: PgConnection.PgConnection) => Effect.Effect<void, never, Scope.Scope>
  /** Whether this process may say now that another one is dead. */
  readonly mayJudge: (now: number) => boolean
}

/** A process whose leases expire in their time. */
export const noPresence: Presence = { holder: () => null, lockOn: () => Effect.void, mayJudge: () => false }

/** The first key of all these advisory locks. */
const lockClass = 1_668_246_895

const mostTries = 10

const endHolder = `select pg_terminate_backend(pid) from pg_locks
  where locktype = 'advisory' and classid = $1 and objid = $2 and pid <> pg_backend_pid()
    and database = (select oid from pg_database where datname = current_database())`

/** In milliseconds. In this time every living process opens a lost connection again (`RunHints`). */
const reopened = 7000

export const makePresence = (): Presence => {
  const number = randomInt(1, 2 ** 31 - 1)
  let isLocked = false
  let wasLocked = false
  let judgesFrom = 0
  return {
    holder: () => (isLocked ? number : null),
    mayJudge: (now) => isLocked && now >= judgesFrom,
    lockOn: Effect.fnUntraced(
      function* (session) {
        // A pooler has given its own process number, and may give the next statement to another connection.
        const attempt = session.query(
          "select case when pg_backend_pid() = $1 then pg_try_advisory_lock($2, $3) end as held",
          [session.processId, lockClass, number]
        )
        for (let tries = 0; tries < mostTries; tries++) {
          const { rows } = yield* attempt
          isLocked = rows[0]?.["held"] === true
          if (rows[0]?.["held"] !== false) break
          // The server has not noticed yet that the earlier connection of this process is lost. No other process has this number.
          yield* session.query(endHolder, [lockClass, number])
          yield* Effect.sleep("100 millis")
        }
        // If this process has lost its connection, all other processes may have lost theirs.
        if (wasLocked) judgesFrom = (yield* Clock.currentTimeMillis) + reopened
        wasLocked = true
        yield* Effect.addFinalizer(() => Effect.sync(() => (isLocked = false)))
      },
      (locking) => Effect.ignore(locking)
    )
  }
}

/** How often a process looks for others that have died. */
const pause = Duration.seconds(1)

/** For how long a number must be without its lock: a process that has lost its connection opens the next one much sooner. */
const grace = 1500

/** The numbers without a lock, and since when each of them was seen so without a break. */
export type Missing = ReadonlyMap<number, number>

/** Pure: the numbers without a lock after one more look. */
export const stillMissing = (before: Missing, found: ReadonlyArray<number>, now: number): Missing =>
  new Map(found.map((number) => [number, before.get(number) ?? now]))

/** Pure: the numbers whose processes are dead. */
export const deadAmong = (missing: Missing, now: number): ReadonlyArray<number> =>
  [...missing].flatMap(([number, since]) => (now - since >= grace ? [number] : []))

interface Expired {
  readonly id: RunId
  readonly thread_id: ThreadId
}

/**
 * Lets the leases of processes that have died expire, as long as the scope is open. Soon after a restart of the database or a lost
 * connection no process counts as dead, because all processes are without a lock for a moment.
 */
export const watchPresence = (
  { query, schema }: Database,
  { holder, mayJudge }: Presence,
  { echo }: RunHints
): Effect.Effect<void, never, Scope.Scope> => {
  let missing: Missing = new Map()
  const look: Effect.Effect<void, StoreUnavailable> = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (!mayJudge(now)) return void (missing = new Map())
    const found = yield* query<{ readonly holder: number }>(
      "RunStore.absent",
      `select h.holder from (
         select holder from ${schema}.active_runs where holder <> $1
         union select holder from ${schema}.follow_ups where status = 'running' and holder is not null and holder <> $1
         union select holder from ${schema}.realtime_sessions where holder <> $1 and lease_until > clock_timestamp()
         offset 0
       ) h where pg_postmaster_start_time() < clock_timestamp() - interval '10 seconds'
         and pg_try_advisory_xact_lock_shared($2, h.holder)`,
      [holder(), lockClass]
    )
    const numbers = found.map((row) => row.holder)
    missing = stillMissing(missing, numbers, now)
    const dead = deadAmong(missing, now)
    if (dead.length === 0) return
    const expired = yield* query<Expired>(
      "RunStore.expire",
      `update ${schema}.runs r set lease_until = clock_timestamp() from ${schema}.active_runs a
       where a.holder = any($1::integer[]) and r.id = a.run_id and r.owner = a.owner and r.lease_until > clock_timestamp()
       returning r.id, r.thread_id`,
      [dead]
    )
    if (expired.length > 0) {
      const ids = [expired.map(({ id }) => id), expired.map(({ thread_id }) => thread_id)]
      yield* query(
        "RunStore.expire",
        `select ${schema}.${functionName("notify_change")}(id, thread_id, false)::text from unnest($1::uuid[], $2::uuid[]) run (id, thread_id)`,
        ids
      )
    }
    yield* Effect.forEach(expired, (run) => echo(run.id, run.thread_id, false), { discard: true })
    yield* query(
      "FollowUpStore.expire",
      `update ${schema}.follow_ups set due_at = least(due_at, clock_timestamp()), holder = null
       where status = 'running' and holder = any($1::integer[])`,
      [dead]
    )
    yield* query(
      "SessionStore.expire",
      `update ${schema}.realtime_sessions set lease_until = least(lease_until, clock_timestamp()), holder = null where holder = any($1::integer[])`,
      [dead]
    )
  })
  return look.pipe(
    Effect.catchCause(() => Effect.sync(() => void (missing = new Map()))),
    Effect.andThen(Effect.sleep(pause)),
    Effect.forever,
    Effect.forkScoped,
    Effect.asVoid
  )
}
