/** An owner moves from one database to another, while kernels work on both. */
import {
  Kernel,
  OwnerId,
  Principal,
  Providers,
  StoreUnavailable,
  type ThreadId,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import { ErasureId, FollowUpStore, OwnerStore, RunStore, ThreadStore } from "@colloquy/core/adapters"
import { say, scripted } from "@colloquy/testing"
import {
  anHour,
  openThread,
  sampleBegin,
  sampleFollowUp,
  sampleSettlement,
  type StartedTurn,
  startTurn,
  storedMessages
} from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { onCitus, onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import type { Stores } from "../../src/Stores.ts"
import { conditions, copyKey, copyLock, uncopiedTables } from "../../src/postgres/OwnerMove.ts"
import { fillEveryTable } from "./EveryTable.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

const suite = (url: string, isToCitus: boolean) => {
  const ada = OwnerId.make("ada")

  const open = Effect.fnUntraced(function* (isOnCitus: boolean) {
    const schema = yield* scratchSchema(url)
    const options = { url: Redacted.make(url), schema }
    if (isOnCitus) yield* Postgres.distribute(options)
    const stores = yield* Layer.build(Postgres.layer(options))
    /** What an owner does in this database. */
    const as =
      (ownerId: OwnerId) =>
      <A, E>(self: Effect.Effect<A, E, Stores | Principal>) =>
        self.pipe(Effect.provideContext(stores), Principal.provide(ownerId))
    return { schema, options, as, here: as(ada) }
  })
  const openTwo = Effect.gen(function* () {
    const [from, to] = [yield* open(false), yield* open(isToCitus)]
    const move = (more: Partial<Postgres.MoveOptions<unknown, never>> = {}) =>
      Postgres.moveOwner({ owner: ada, from: from.options, to: to.options, arrived: Effect.void, ...more })
    return { from, to, move }
  })

  const allRows = (schema: string, table: string, owner: string) =>
    Effect.map(
      PgClient.use((client) =>
        client.unsafe<{ readonly row: string }>(
          `select to_json(one)::text as row from ${schema}.${table} one where owner = $1 order by 1`,
          [owner]
        )
      ),
      (rows) => rows.map(({ row }) => row)
    )

  const untilState = (schema: string, state: string) =>
    PgClient.use((client) => client.unsafe<{ readonly state: string }>(`select state from ${schema}.owner_moves`)).pipe(
      Effect.orElseSucceed(() => []),
      Effect.repeat({ until: ([row]) => row?.state === state })
    )
  const begin = (threadId: ThreadId) =>
    Effect.flatMap(sampleBegin(threadId), (one) => RunStore.use((runs) => runs.begin(one)))
  const settle = (turn: StartedTurn) =>
    Effect.flatMap(sampleSettlement(turn), (one) => RunStore.use((runs) => runs.settle(turn.lease, one)))
  const wholeTurn = (threadId: ThreadId) => Effect.flatMap(startTurn(threadId), settle)
  const isAway = <A, R>(self: Effect.Effect<A, unknown, R>) =>
    Effect.map(Effect.flip(self), (error) => assert.instanceOf(error, StoreUnavailable))

  it.live("every row of the owner is in the other database, unchanged, and nothing of it is left", () =>
    Effect.gen(function* () {
      const { from, move, to } = yield* openTwo
      const client = yield* PgClient
      const tables = yield* fillEveryTable(from.schema, ["ada", "bob"])
      yield* client.unsafe(`update ${from.schema}.follow_ups set status = 'pending'`)
      yield* client.unsafe(`update ${from.schema}.documents set shelf = gen_random_uuid()`)
      yield* client.unsafe(`delete from ${from.schema}.active_runs`)
      yield* client.unsafe(`delete from ${from.schema}.realtime_sessions`)
      yield* client.unsafe(`update ${from.schema}.erasures set status = 'COMPLETED'`)
      yield* client.unsafe(`do $$ declare one record; begin
        for one in select conrelid::regclass as tab, conname from pg_constraint
          where connamespace = '${to.schema}'::regnamespace and contype = 'f'
        loop execute format('alter table %s drop constraint %I', one.tab, one.conname); end loop;
      end $$`)
      const rows = (schema: string, owner: string) =>
        Effect.forEach(tables, (table) => Effect.map(allRows(schema, table, owner), (found) => [table, found] as const))
      const before = { ada: yield* rows(from.schema, "ada"), bob: yield* rows(from.schema, "bob") }
      yield* move()
      assert.deepStrictEqual(
        yield* rows(to.schema, "ada"),
        before.ada.map(([table, found]) => [table, table in uncopiedTables ? [] : found])
      )
      yield* Postgres.removeMoved(from.options)
      assert.lengthOf(yield* allRows(from.schema, "threads", "ada"), 1)
      yield* Postgres.removeMoved({ ...from.options, age: 0 })
      assert.deepStrictEqual(yield* rows(from.schema, "bob"), before.bob)
      assert.deepStrictEqual(
        (yield* rows(from.schema, "ada")).filter(([, found]) => found.length > 0).map(([table]) => table),
        ["keys", "realtime_tickets", "secrets"]
      )
      yield* move()
      assert.lengthOf(yield* allRows(to.schema, "usage_days", "ada"), 1)
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  it.live("every table that is copied is searched by an index", () =>
    Effect.gen(function* () {
      const { from } = yield* openTwo
      const tables = yield* PgClient.use((client) =>
        client.unsafe<{ readonly name: string }>(
          `select t.relname::text as name from pg_class t join pg_attribute o on o.attrelid = t.oid and o.attname = 'owner'
           where t.relnamespace = $1::regnamespace and t.relkind = 'r'
             and not exists (select from pg_index i where i.indrelid = t.oid and i.indkey[0] = o.attnum)`,
          [from.schema]
        )
      )
      const unsearched = tables.map(({ name }) => name).filter((name) => !(name in uncopiedTables))
      assert.sameMembers(unsearched, Object.keys(conditions))
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  it.live("running work ends, new work waits, and the other database goes on with the thread", () =>
    Effect.gen(function* () {
      const { from, move, to } = yield* openTwo
      const [thread, other] = yield* from.here(Effect.all([openThread, openThread]))
      const turn = yield* from.here(startTurn(thread.id))
      yield* from.here(Effect.flatMap(sampleFollowUp("kind"), (one) => FollowUpStore.use((store) => store.add([one]))))
      const claim = FollowUpStore.use((store) => store.claim(["kind"], 10, anHour))
      const moving = yield* Effect.forkChild(move())
      yield* untilState(from.schema, "DRAINING")
      yield* isAway(from.here(begin(other.id)))
      assert.lengthOf(yield* from.here(claim), 0)
      assert.isTrue(yield* from.here(settle(turn)))
      yield* Fiber.join(moving)
      yield* isAway(from.here(begin(thread.id)))
      yield* isAway(from.here(openThread))
      assert.lengthOf(yield* to.here(claim), 1)
      assert.isTrue(yield* to.here(wholeTurn(thread.id)))
      assert.lengthOf(yield* to.here(storedMessages(thread.id)), 4)
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  it.live("a run that goes on too long keeps the owner where it is", () =>
    Effect.gen(function* () {
      const { from, move } = yield* openTwo
      const [thread, other] = yield* from.here(Effect.all([openThread, openThread]))
      const turn = yield* from.here(startTurn(thread.id))
      const refusal = yield* Effect.flip(move({ patience: 0 }))
      assert.instanceOf(refusal, Postgres.OwnerNotMoved)
      assert.deepInclude(refusal, { reason: "busy", names: ["runs"] })
      assert.include(refusal.message, '"ada" was not moved: its work did not end in time')
      assert.isTrue(yield* from.here(wholeTurn(other.id)))
      assert.isTrue(yield* from.here(settle(turn)))
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  it.live("an owner who cannot be moved is served as before", () =>
    Effect.gen(function* () {
      const { from, move, to } = yield* openTwo
      const thread = yield* from.here(openThread)
      yield* to.here(openThread)
      const exists = yield* Effect.flip(move())
      assert.deepInclude(exists, { reason: "exists", names: ["assistants", "threads"] })
      yield* PgClient.use((client) => client.unsafe(`alter table ${to.schema}.threads rename column tokens to other`))
      assert.deepInclude(yield* Effect.flip(move()), { reason: "schema", names: ["threads.tokens"] })
      assert.isTrue(yield* from.here(wholeTurn(thread.id)))
      const erasure = ErasureId.make(globalThis.crypto.randomUUID())
      yield* from.here(OwnerStore.use((store) => store.beginErasure(erasure, new Date(0))))
      assert.deepInclude(yield* Effect.flip(move()), { reason: "erasing" })
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  it.live("a move that was cut off is repeated, and what the other database wrote meanwhile stays", () =>
    Effect.gen(function* () {
      const { from, move, to } = yield* openTwo
      const thread = yield* from.here(openThread)
      yield* from.here(wholeTurn(thread.id))
      const failure = new Error("The routes cannot be written.")
      assert.strictEqual(yield* Effect.flip(move({ arrived: Effect.fail(failure) })), failure)
      yield* isAway(from.here(begin(thread.id)))
      assert.isTrue(yield* to.here(wholeTurn(thread.id)))
      yield* move()
      assert.lengthOf(yield* to.here(storedMessages(thread.id)), 4)
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  it.live("two processes do not move the same owner", () =>
    Effect.gen(function* () {
      const { from, move } = yield* openTwo
      yield* from.here(openThread)
      const copied = yield* Deferred.make<void>()
      const told = yield* Deferred.make<void>()
      const arrived = Effect.andThen(Deferred.succeed(copied, undefined), Deferred.await(told))
      const first = yield* Effect.forkChild(move({ arrived }))
      yield* Deferred.await(copied)
      assert.deepInclude(yield* Effect.flip(move()), { reason: "moving" })
      yield* Deferred.succeed(told, undefined)
      yield* Fiber.join(first)
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  const isLeft = (error: unknown) =>
    error instanceof StoreUnavailable || (error instanceof Postgres.OwnerNotMoved && error.reason === "moving")

  it.live("a process that has lost its connection leaves the move to the one that goes on with it", () =>
    Effect.gen(function* () {
      const { from, move } = yield* openTwo
      const thread = yield* from.here(openThread)
      yield* from.here(startTurn(thread.id))
      const first = yield* Effect.forkChild(Effect.flip(move()))
      yield* untilState(from.schema, "DRAINING")
      yield* Effect.gen(function* () {
        const other = yield* PgClient
        const next = yield* Effect.forkChild(
          other.unsafe("select pg_advisory_lock(hashtextextended($1, 1836021350))", [ada])
        )
        const holder = PgClient.use((client) =>
          client.unsafe<{ readonly pid: number }>(
            `select h.pid from pg_locks w
             cross join lateral unnest(pg_blocking_pids(w.pid)) h (pid) where w.locktype = 'advisory' and not w.granted
               and w.pid in (select pid from pg_stat_activity where application_name = $1)`,
            [from.schema]
          )
        ).pipe(Effect.repeat({ until: (rows) => rows.length > 0 }), Effect.provide(hostClient(url)))
        const [held] = yield* holder
        yield* PgClient.use((client) => client.unsafe("select pg_terminate_backend($1::integer)", [held?.pid])).pipe(
          Effect.provide(hostClient(url))
        )
        yield* Fiber.join(next)
        // A statement of its own fails, or none was under way.
        assert.isTrue(isLeft(yield* Fiber.join(first)))
      }).pipe(Effect.provide(hostClient(url, { maxConnections: 1, applicationName: from.schema })))
      assert.deepStrictEqual(
        yield* PgClient.use((client) => client.unsafe(`select state from ${from.schema}.owner_moves`)),
        [{ state: "DRAINING" }]
      )
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  const kernel = (options: Postgres.PostgresOptions) => {
    const providers = Providers.layer({
      providers: [scripted([], { otherwise: say("Yes.") })],
      defaults: { provider: "scripted", model: "scripted-model" }
    })
    return Layer.build(Kernel.layer.pipe(Layer.provide([providers, Postgres.layer(options)])))
  }

  it.live("each message is answered once while its owner moves to the other kernel", () =>
    Effect.gen(function* () {
      const { from, to } = yield* openTwo
      const kernels = [yield* kernel(from.options), yield* kernel(to.options)] as const
      const owners = ["ada", "bob", "eve"].map((name) => OwnerId.make(name))
      const routes = new Map(owners.map((owner) => [owner, kernels[0]]))
      const send = (ownerId: OwnerId, request: TurnRequest) =>
        Effect.suspend(() =>
          Turns.use((turns) => turns.send(request)).pipe(
            Effect.provideContext(routes.get(ownerId) ?? kernels[0]),
            Principal.provide(ownerId)
          )
        ).pipe(
          Effect.retry({ while: (error) => error._tag === "StoreUnavailable", schedule: Schedule.spaced("10 millis") })
        )
      const hasEnded = yield* Deferred.make<void>()
      const client = Effect.fnUntraced(function* (ownerId: OwnerId) {
        const { threadId } = yield* send(ownerId, { content: "question 0" })
        let asked = 1
        while (!(yield* Deferred.isDone(hasEnded))) yield* send(ownerId, { content: `question ${asked++}`, threadId })
        return { ownerId, threadId, asked }
      })
      const clients = yield* Effect.forEach([...owners, ...owners], (owner) => Effect.forkChild(client(owner)))
      const moveAll = owners.map((owner) => {
        const arrived = Effect.sync(() => routes.set(owner, kernels[1]))
        return Postgres.moveOwner({ owner, from: from.options, to: to.options, arrived })
      })
      yield* Effect.all(moveAll, { concurrency: "unbounded" })
      yield* Deferred.succeed(hasEnded, undefined)
      for (const { asked, ownerId, threadId } of yield* Effect.forEach(clients, Fiber.join)) {
        const messages = yield* to.as(ownerId)(storedMessages(threadId))
        assert.deepStrictEqual(
          messages.map(({ content }) => content),
          Array.from({ length: asked }, (_, n) => [`question ${n}`, "Yes."]).flat()
        )
      }
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  if (isToCitus) {
    it.live("an owner of a distributed database is not moved", () =>
      Effect.gen(function* () {
        const { from, move, to } = yield* openTwo
        assert.deepInclude(yield* Effect.flip(move({ from: to.options, to: from.options })), { reason: "distributed" })
      }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
    )
    return
  }

  it.live("an owner who comes back while its old rows are to be removed keeps them", () =>
    Effect.gen(function* () {
      const { from, move } = yield* openTwo
      yield* from.here(openThread)
      yield* move()
      const client = yield* PgClient
      const [isHeld, ends] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      // As a copy back does while it writes.
      const copy = client
        .unsafe(copyLock, [ada])
        .pipe(
          Effect.andThen(Deferred.succeed(isHeld, undefined)),
          Effect.andThen(Deferred.await(ends)),
          client.withTransaction
        )
      const copying = yield* Effect.forkChild(copy)
      yield* Deferred.await(isHeld)
      const removing = yield* Effect.forkChild(Postgres.removeMoved({ ...from.options, age: 0 }))
      yield* client
        .unsafe<{ readonly waiting: bigint }>(
          `select count(*) as waiting from pg_locks l join pg_stat_activity a on a.pid = l.pid
           where l.locktype = 'advisory' and not l.granted and position($1 in a.query) > 0`,
          [copyKey]
        )
        .pipe(Effect.repeat({ until: ([row]) => Number(row?.waiting) > 0 }))
      yield* client.unsafe(`update ${from.schema}.owner_moves set state = 'ARRIVED'`)
      yield* Deferred.succeed(ends, undefined)
      yield* Effect.andThen(Fiber.join(copying), Fiber.join(removing))
      assert.lengthOf(yield* allRows(from.schema, "threads", "ada"), 1)
      assert.lengthOf(yield* from.here(ThreadStore.use((store) => store.list({ skip: 0, limit: 10 }))), 1)
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )

  it.live("an owner moves back, and its numbers go on", () =>
    Effect.gen(function* () {
      const { from, move, to } = yield* openTwo
      const thread = yield* from.here(openThread)
      yield* from.here(wholeTurn(thread.id))
      yield* move()
      yield* to.here(wholeTurn(thread.id))
      const back = move({ from: to.options, to: from.options })
      assert.deepInclude(yield* Effect.flip(back), { reason: "exists" })
      yield* Postgres.removeMoved({ ...from.options, age: 0 })
      const failure = new Error("The routes cannot be written.")
      const cutOff = move({ from: to.options, to: from.options, arrived: Effect.fail(failure) })
      assert.strictEqual(yield* Effect.flip(cutOff), failure)
      yield* isAway(to.here(openThread))
      yield* back
      const next = yield* from.here(openThread)
      assert.isTrue(yield* from.here(wholeTurn(thread.id)))
      assert.lengthOf(yield* from.here(storedMessages(thread.id)), 6)
      const listed = yield* from.here(ThreadStore.use((store) => store.list({ skip: 0, limit: 10 })))
      assert.deepStrictEqual(
        listed.map(({ id }) => id),
        [thread.id, next.id]
      )
      yield* isAway(to.here(openThread))
    }).pipe(Effect.scoped, Effect.provide(hostClient(url)))
  )
}

onPostgres((url) => suite(url, false))
onCitus((url) => suite(url, true))
