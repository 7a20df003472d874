/**
 * Moves everything of an owner from one database to another, while all other owners are served in both. First no new work of the owner begins,
 * and its running work ends. Then all its writes are refused, and its rows are copied in one transaction. Then the host sends the owner to
 * the other database. A move that was cut off at any step is repeated, and goes on from there. The old rows are deleted later, because requests
 * that began before may still look for them.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { OwnerId, type StoreUnavailable } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { isDistributed } from "./Citus.ts"
import { quote } from "./Names.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { fenceFunction, fenceTrigger, moveLock, movesTable } from "./schema/OwnerMoves.ts"
import { tablesOfThreads } from "./schema/Owners.ts"
import { guard, inTransaction } from "./StoreFault.ts"
import { toText } from "./StoredText.ts"

/** Nothing was moved, and the first database serves the owner as before. */
export class OwnerNotMoved extends Schema.TaggedError<OwnerNotMoved>()("OwnerNotMoved", {
  ownerId: OwnerId,
  reason: Schema.Literals(["busy", "moving", "erasing", "exists", "distributed", "schema"]),
  /** What is busy, or exists, or is missing. */
  names: Schema.Array(Schema.String)
}) {
  override get message() {
    const names = this.names.length === 0 ? "" : ` (${this.names.join(", ")})`
    return `The owner "${this.ownerId}" was not moved: ${advice[this.reason]}${names}.`
  }
}

const advice: Readonly<Record<OwnerNotMoved["reason"], string>> = {
  busy: "its work did not end in time; try again later, or with more patience",
  moving: "another process is moving it",
  erasing: "everything of it is being erased; try again afterwards",
  exists: "the other database has rows of it; erase them there first, or delete what it left there (removeMoved)",
  distributed: "the database that it is in is distributed by Citus; move its shard instead",
  schema: "the other database lacks tables or columns; open it once with this version and the same extensions"
}

/** One of the two databases of a move. The client has one connection. */
export interface MoveSide {
  readonly client: PgClient
  readonly schema: string
}

export interface OwnerMove<E, R> {
  readonly ownerId: OwnerId
  readonly from: MoveSide
  readonly to: MoveSide
  readonly arrived: Effect.Effect<void, E, R>
  readonly patience: Duration.Duration
}

/** Tables that are not copied, each with the reason. */
export const uncopiedTables: Readonly<Record<string, string>> = {
  active_runs: "empty, because no run of the owner is in progress",
  owner_moves: "the states of moves",
  realtime_sessions: "no voice session of the owner is open",
  realtime_tickets: "valid for a minute",
  run_changes: "numbered by the database; who follows begins anew",
  run_followers: "who follows begins anew",
  secrets: "of the service, and of no owner"
}

/** Tables whose rows stay. A key is looked up before its owner is known, so requests may still look for it in the first database. */
const stayingTables = ["keys", "realtime_tickets", "owner_moves", "secrets"]

const runsOfOwner = "hashtextextended(owner, 0) = hashtextextended($1, 0) and owner = $1"
const threadsOfOwner =
  "select id from {schema}.threads where owner = $1 union all select id from {schema}.thread_drafts where owner = $1"

/** How the rows of an owner are found in tables without an index by owner. */
export const conditions: Readonly<Record<string, string>> = {
  assistant_versions: "owner = $1 and assistant_id in (select id from {schema}.assistants where owner = $1)",
  messages: `owner = $1 and thread_id in (${threadsOfOwner})`,
  realtime_messages: `owner = $1 and thread_id in (${threadsOfOwner})`,
  run_log: `owner = $1 and run_id in (select id from {schema}.runs where ${runsOfOwner})`,
  runs: runsOfOwner
}

const rowsOfOwner = ({ schema }: MoveSide, table: string): string =>
  `${quote(schema)}.${table} where ${(conditions[table] ?? "owner = $1").replaceAll("{schema}", quote(schema))}`

export const moveOwner = <E, R>(
  move: OwnerMove<E, R>
): Effect.Effect<void, OwnerNotMoved | StoreUnavailable | E, R> => {
  const { from, to } = move
  const owner = toText(move.ownerId)
  const refuse = (reason: OwnerNotMoved["reason"], names: ReadonlyArray<string> = []) =>
    Effect.fail(new OwnerNotMoved({ ownerId: move.ownerId, reason, names }))

  /**
   * Takes the lock of the move, which is held until the connection closes; true also if this connection has it already. The client opens a lost
   * connection again, and another process may have begun meanwhile.
   */
  const mayMove = is(from, "select pg_try_advisory_lock(hashtextextended($1, 1836021350)) as yes", [owner])

  /** The tables in an order in which each follows those that it refers to. */
  const prepare = Effect.gen(function* () {
    if (yield* isDistributed(from.client, from.schema)) return yield* refuse("distributed")
    if (!(yield* mayMove)) return yield* refuse("moving")
    if (
      yield* is(
        from,
        `select exists (select from {schema}.erasures where owner = $1 and status = 'IN_PROGRESS') as yes`,
        [owner]
      )
    )
      return yield* refuse("erasing")
    const tables = yield* readTables(from)
    const known = new Map((yield* readTables(to)).map(({ columns, name }) => [name, new Set(columns)]))
    const missing = tables.flatMap(({ columns, name }) =>
      columns.filter((column) => known.get(name)?.has(column) !== true).map((column) => `${name}.${column}`)
    )
    if (missing.length > 0) return yield* refuse("schema", missing)
    yield* oneAtATime(to, run(to, movesTable))
    yield* oneAtATime(from, Effect.andThen(run(from, movesTable), fence(from, tables)))
    return tables
  })

  /** Until no work of the owner is under way. Then nobody can write for it. */
  const drain = Effect.gen(function* () {
    const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(move.patience)
    const close = inTransaction(from.client)(
      Effect.gen(function* () {
        if (!(yield* mayMove)) return yield* refuse("moving")
        if (!(yield* is(from, `select pg_try_advisory_xact_lock(${moveLock("$1")}) as yes`, [owner]))) return ["writes"]
        const [row] = yield* rows<{ readonly names: ReadonlyArray<string> }>(from, workUnderWay, [owner])
        const names = row?.names ?? []
        if (names.length === 0)
          yield* run(from, `update {schema}.owner_moves set state = 'MOVING' where owner = $1`, [owner])
        return names
      })
    )
    while (true) {
      const names = yield* close
      if (names.length === 0) return
      if ((yield* Clock.currentTimeMillis) >= end) return yield* refuse("busy", names)
      yield* Effect.sleep("50 millis")
    }
  })

  const copy = (id: string, tables: ReadonlyArray<Table>) =>
    inTransaction(to.client)(
      Effect.gen(function* () {
        yield* run(to, copyLock, [owner])
        const existing: Array<string> = []
        for (const { name } of tables.filter((table) => !stayingTables.includes(table.name)))
          if (yield* is(to, `select exists (select from ${rowsOfOwner(to, name)}) as yes`, [owner])) existing.push(name)
        if (existing.length > 0) return yield* refuse("exists", existing)
        yield* run(
          to,
          `insert into {schema}.owner_moves (owner, id, state) values ($1, $2, 'ARRIVED')
           on conflict (owner) do update set id = $2, state = 'ARRIVED'`,
          [owner, id]
        )
        yield* inTransaction(from.client)(
          Effect.andThen(
            run(from, "set transaction isolation level repeatable read, read only"),
            Effect.forEach(tables, (table) => copyTable(move, owner, table), { discard: true })
          )
        )
      })
    )

  /** After a copy that is still under way: the answer to its commit may have been lost. */
  const hasArrived = (id: string) =>
    inTransaction(to.client)(
      Effect.andThen(
        run(to, copyLock, [owner]),
        is(
          to,
          `select exists (select from {schema}.owner_moves where owner = $1 and id = $2 and state = 'ARRIVED') as yes`,
          [owner, id]
        )
      )
    )

  /** The owner is served by the first database again, unless another process goes on with the move. */
  const release = Effect.flatMap(mayMove, (mine) =>
    mine
      ? run(from, `delete from {schema}.owner_moves where owner = $1 and state in ('DRAINING', 'MOVING')`, [owner])
      : Effect.void
  )

  return Effect.gen(function* () {
    const tables = yield* prepare
    const copied = tables.filter(({ name }) => !(name in uncopiedTables))
    const [before] = yield* rows<Moving>(from, stateOfMove, [owner])
    if (before?.state !== "LEFT" && before?.state !== "REMOVED") {
      const id = before?.id ?? randomUUID()
      if (!(yield* hasArrived(id))) {
        yield* run(
          from,
          `insert into {schema}.owner_moves (owner, id, state) values ($1, $2, 'DRAINING')
           on conflict (owner) do update set id = $2, state = 'DRAINING' where owner_moves.state = 'ARRIVED'`,
          [owner, id]
        )
        yield* Effect.onError(drain, () => Effect.ignore(release))
        yield* Effect.onError(copy(id, copied), () =>
          Effect.ignore(Effect.flatMap(hasArrived(id), (arrived) => (arrived ? Effect.void : release)))
        )
      }
      yield* move.arrived
      yield* run(
        from,
        `update {schema}.owner_moves set state = 'LEFT', changed_at = clock_timestamp() where owner = $1`,
        [owner]
      )
    }
  }).pipe(guard("Postgres.moveOwner"))
}

interface Moving {
  readonly id: string
  readonly state: string
}

/** Held while the rows of an owner are copied into a database, or deleted from it. */
export const copyKey = "hashtextextended($1, 1836021351)"
export const copyLock = `select pg_advisory_xact_lock(${copyKey})`

const stateOfMove = `select id::text, state from {schema}.owner_moves where owner = $1 and state <> 'ARRIVED'`

const workUnderWay = `select array_remove(array[
    case when exists (select from {schema}.active_runs where owner = $1) then 'runs' end,
    case when exists (
      select from {schema}.realtime_sessions where owner = $1 and lease_until > clock_timestamp()
    ) then 'voice sessions' end,
    case when exists (
      select from {schema}.follow_ups where owner = $1 and status = 'running' and due_at > clock_timestamp()
    ) then 'follow-ups' end
  ], null) as names`

const rows = <Row extends object>({ client, schema }: MoveSide, text: string, parameters: ReadonlyArray<unknown>) =>
  client.unsafe<Row>(text.replaceAll("{schema}", quote(schema)), parameters).withoutTransform

const run = (side: MoveSide, text: string, parameters: ReadonlyArray<unknown> = []) =>
  Effect.asVoid(rows(side, text, parameters))

const is = (side: MoveSide, text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<boolean, SqlError> =>
  Effect.map(rows<{ readonly yes: boolean }>(side, text, parameters), ([row]) => row?.yes === true)

interface Table {
  readonly name: string
  readonly columns: ReadonlyArray<string>
  /** Columns that the database numbers, each with its sequence. */
  readonly numbered: ReadonlyArray<readonly [column: string, sequence: string]>
  readonly refers_to: ReadonlyArray<string>
}

/** The tables with a column `owner`. */
const readTables = (side: MoveSide): Effect.Effect<ReadonlyArray<Table>, SqlError> =>
  Effect.map(
    rows<Table>(
      side,
      `select t.relname::text as name,
         array(select attname::text from pg_attribute
           where attrelid = t.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns,
         (select coalesce(json_agg(json_build_array(attname, pg_get_serial_sequence('{schema}.' || t.relname, attname))), '[]')
           from pg_attribute where attrelid = t.oid and attidentity <> '') as numbered,
         array(select distinct r.relname::text from pg_constraint c join pg_class r on r.oid = c.confrelid
           where c.conrelid = t.oid and c.contype = 'f' and c.confrelid <> t.oid) as refers_to
       from pg_class t where t.relnamespace = $1::regnamespace and t.relkind = 'r'
         and exists (select from pg_attribute where attrelid = t.oid and attname = 'owner' and not attisdropped)
       order by 1`,
      [quote(side.schema)]
    ),
    (tables) => {
      const ordered: Array<Table> = []
      const add = (table: Table): void => {
        if (ordered.includes(table)) return
        for (const other of tables) if (table.refers_to.includes(other.name)) add(other)
        ordered.push(table)
      }
      for (const table of tables) add(table)
      return ordered
    }
  )

/** Holds a lock of the connection during some statements. */
const locked = <A>(side: MoveSide, key: string, name: string, held: Effect.Effect<A, SqlError>) =>
  Effect.acquireUseRelease(
    run(side, `select pg_advisory_lock(${key})`, [name]),
    () => held,
    () => run(side, `select pg_advisory_unlock(${key})`, [name])
  )

/** Moves of several owners may begin together, and PostgreSQL does not make the same table or function twice at once. */
const oneAtATime = (side: MoveSide, change: Effect.Effect<void, SqlError>) =>
  locked(side, "hashtextextended($1, 1836021352)", side.schema, change)

/** A statement that changes a table waits a moment for its lock and lets others go first, because all writers would wait behind it. */
const fence = Effect.fnUntraced(function* (side: MoveSide, tables: ReadonlyArray<Table>) {
  const fenced = new Set(
    (yield* rows<{ readonly name: string }>(
      side,
      `select c.relname::text as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
       where c.relnamespace = $1::regnamespace and t.tgname = 'a_fence'`,
      [quote(side.schema)]
    )).map(({ name }) => name)
  )
  const unfenced = tables.filter(({ name }) => !fenced.has(name) && !stayingTables.includes(name))
  if (unfenced.length === 0) return
  yield* run(side, fenceFunction)
  for (const { name } of unfenced)
    yield* Effect.andThen(run(side, "set local lock_timeout = '100ms'"), run(side, fenceTrigger(name))).pipe(
      inTransaction(side.client),
      Effect.retry({
        while: ({ reason }: SqlError) => reason._tag === "LockTimeoutError",
        schedule: Schedule.spaced("1 second")
      })
    )
})

/** Rows travel as JSON texts, in which every type of the schema keeps its exact value. */
const copyTable = Effect.fnUntraced(function* <E, R>({ from, to }: OwnerMove<E, R>, owner: string, table: Table) {
  const { columns, name, numbered } = table
  const list = columns.map(quote).join(", ")
  const target = `${quote(to.schema)}.${name}`
  yield* run(
    from,
    `declare moved no scroll cursor for select to_json(one)::text as row from (select ${list} from ${rowsOfOwner(from, name)}) one`,
    [owner]
  )
  while (true) {
    const batch = yield* rows<{ readonly row: string }>(
      from,
      `fetch ${name === "blob_pieces" ? 10 : 100} from moved`,
      []
    )
    if (batch.length === 0) break
    const batchText = `[${batch.map(({ row }) => row).join(",")}]`
    const given = `json_populate_recordset(null::${target}, $1::json)`
    yield* run(
      to,
      `insert into ${target} (${list}) overriding system value select ${list} from ${given}${name === "keys" ? " on conflict do nothing" : ""}`,
      [batchText]
    )
    // A trigger puts new documents of a thread on the shelf to which the thread adds now.
    if (name === "documents")
      yield* run(
        to,
        `update ${target} moved set shelf = given.shelf from ${given} given
         where moved.owner = $2 and given.id = moved.id and given.shelf is distinct from moved.shelf`,
        [batchText, owner]
      )
  }
  yield* run(from, "close moved")
  const sequences = name === "eval_feedback" ? [["ordinal", `${quote(to.schema)}.eval_feedback_ordinals`]] : numbered
  for (const [column, sequence] of sequences) yield* advance(to, owner, name, column, sequence)
})

/**
 * New rows get higher numbers than those that were copied. The jump is wide, because others may take numbers between the look at the sequence
 * and the jump.
 */
const advance = Effect.fnUntraced(function* (
  to: MoveSide,
  owner: string,
  table: string,
  column: string,
  sequence: string
) {
  const [copied] = yield* rows<{ readonly last: string | null }>(
    to,
    `select max(${quote(column)})::text as last from ${rowsOfOwner(to, table)}`,
    [owner]
  )
  yield* run(
    to,
    `select setval($1::regclass, $2::bigint + 1000000) where $2::bigint + 1000 > coalesce(pg_sequence_last_value($1::regclass), 0)`,
    [sequence, copied?.last ?? null]
  )
})

/** Deletes the rows of the owners who left earlier than that. */
export const removeMoved = (side: MoveSide, age: Duration.Duration): Effect.Effect<void, StoreUnavailable> =>
  guard("Postgres.removeMoved")<void, never, never>(
    Effect.gen(function* () {
      yield* oneAtATime(side, run(side, movesTable))
      const tables = yield* readTables(side)
      const left = yield* rows<{ readonly owner: string }>(
        side,
        `select owner from {schema}.owner_moves
         where state = 'LEFT' and changed_at <= clock_timestamp() - $1 * interval '1 millisecond'`,
        [Duration.toMillis(age)]
      )
      for (const { owner } of left) yield* locked(side, copyKey, owner, remove(side, owner, tables))
    })
  )

/** Deletes the rows of an owner, some at a time, those first to which nothing refers. An owner who has come back meanwhile keeps its rows. */
const remove = Effect.fnUntraced(function* (side: MoveSide, owner: string, tables: ReadonlyArray<Table>) {
  const [move] = yield* rows<Moving>(side, stateOfMove, [owner])
  if (move?.state !== "LEFT") return
  for (const name of ["erase_thread", "erase_draft"])
    while (yield* is(side, `select {schema}.${functionName(name)}($1, 300) > 0 as yes`, [owner]));
  const withThreads: ReadonlyArray<string> = tablesOfThreads
  for (const { name } of tables.toReversed()) {
    if (stayingTables.includes(name) || withThreads.includes(name)) continue
    const some = `delete from {schema}.${name} where ctid = any (array(select ctid from ${rowsOfOwner(side, name)} limit 1000))`
    while (yield* is(side, `with gone as (${some} returning 1) select count(*) > 0 as yes from gone`, [owner]));
  }
  yield* run(side, `update {schema}.owner_moves set state = 'REMOVED' where owner = $1`, [owner])
})
