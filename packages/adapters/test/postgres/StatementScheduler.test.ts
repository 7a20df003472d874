/** Which connection a statement takes, on a pool without a server behind it. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import { Principal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { setImmediate as nextTurn } from "node:timers/promises"
import { StatementScheduler } from "../../src/postgres/StatementScheduler.ts"

/** A statement that was sent, and by which connection. */
interface Sent {
  readonly text: string
  readonly connection: number
  readonly answer: Deferred.Deferred<PgConnection.Result, SqlError>
}

const nothing: PgConnection.Result = { command: "SELECT", rowCount: 0, oid: null, rows: [], fields: [] }

const lost = new SqlError({ reason: new ConnectionError({ cause: new Error("gone"), operation: "query" }) })

/** Connections open at once, are numbered from one, and answer when they are told to. */
const makeServer = () => {
  const sent: Array<Sent> = []
  const dead = new Set<number>()
  const invalidated: Array<number> = []
  let opened = 0

  const connect = (processId: number): PgConnection.PgConnection => ({
    [PgConnection.TypeId]: PgConnection.TypeId,
    config: {},
    processId,
    pin: Effect.suspend(() => Effect.succeed(connect(processId))),
    query: (text) =>
      Effect.suspend(() => {
        if (dead.has(processId)) return Effect.fail(lost)
        const answer = Deferred.makeUnsafe<PgConnection.Result, SqlError>()
        sent.push({ text, connection: processId, answer })
        return Deferred.await(answer)
      }),
    queryValues: () => Effect.succeed([]),
    stream: () => Stream.empty,
    listen: () => Effect.never,
    interrupt: Effect.void
  })

  const pool: PgPool.PgPool = {
    [PgPool.TypeId]: PgPool.TypeId,
    config: {},
    get: Effect.never,
    reserve: Effect.never,
    use: (f) => Effect.suspend(() => f(connect(++opened))),
    invalidate: ({ processId }) => Effect.sync(() => void invalidated.push(processId))
  }
  const answerAll = Effect.suspend(() =>
    Effect.forEach(sent.splice(0), ({ answer }) => Deferred.succeed(answer, nothing), { discard: true })
  )
  return { pool, sent, dead, invalidated, answerAll }
}

/** Behind it, sessions have opened and what waited has been sent. */
const turn = Effect.promise(() => nextTurn())

const open = (options: { readonly capacity?: number; readonly size?: number } = {}) =>
  Effect.gen(function* () {
    const server = makeServer()
    const sessions = new StatementScheduler({
      pool: server.pool,
      capacity: options.capacity ?? 16,
      size: options.size ?? 10,
      timeout: 10_000,
      lifetime: Infinity,
      clock: yield* Clock.Clock,
      fork: Effect.runForkWith(yield* Effect.context<never>())
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => sessions.close()))
    yield* Effect.forkScoped(sessions.watch, { startImmediately: true })
    const begin = (text: string, exclusive: boolean) =>
      Effect.forkDetach(sessions.run({ text, parameters: [], exclusive }), { startImmediately: true })
    const send = (text: string, exclusive = false) => Effect.tap(begin(text, exclusive), turn)
    const sendMany = (count: number, exclusive = false) =>
      Effect.tap(
        Effect.forEach(Array.from({ length: count }), (_, index) =>
          begin(`${exclusive ? "exclusive" : "brief"} ${index}`, exclusive)
        ),
        turn
      )
    const answerAll = Effect.andThen(server.answerAll, turn)
    return { ...server, answerAll, sessions, send, sendMany }
  })

const usedConnections = (sent: ReadonlyArray<Sent>) => sent.map(({ connection }) => connection)

describe("results that come together", () => {
  it.effect("let the event loop go on when their fibers have computed for some milliseconds", () =>
    Effect.gen(function* () {
      const { sent, sessions } = yield* open()
      let done = 0
      const compute = Effect.sync(() => {
        const end = performance.now() + 5
        while (performance.now() < end);
        done++
      })
      const ask = Effect.andThen(sessions.run({ text: "ask", parameters: [], exclusive: false }), compute)
      const fibers = yield* Effect.forEach(Array.from({ length: 12 }), () =>
        Effect.forkDetach(ask, { startImmediately: true })
      )
      yield* turn
      assert.strictEqual(sent.length, 12)
      for (const { answer } of sent) Deferred.doneUnsafe(answer, Effect.succeed(nothing))
      assert.isAtMost(done, 3)
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(done, 12)
    })
  )
})

describe("sessions", () => {
  it.effect("send each statement once, in order", () =>
    Effect.gen(function* () {
      const { answerAll, sendMany, sent } = yield* open({ capacity: 4, size: 3 })
      const fibers = yield* sendMany(30)
      const texts: Array<string> = []
      while (sent.length > 0) {
        texts.push(...sent.map(({ text }) => text))
        yield* answerAll
        yield* Effect.yieldNow
      }
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(
        texts,
        Array.from({ length: 30 }, (_, index) => `brief ${index}`)
      )
    })
  )

  it.effect("carry as many statements as may share a connection, and then open another", () =>
    Effect.gen(function* () {
      const { sendMany, sent } = yield* open()
      yield* sendMany(17)
      assert.deepStrictEqual(usedConnections(sent), [...Array.from({ length: 16 }, () => 1), 2])
    })
  )

  it.effect("send together what comes together, when much is under way", () =>
    Effect.gen(function* () {
      const { sessions, sendMany, sent } = yield* open({ capacity: 4, size: 2 })
      yield* sendMany(4)
      yield* sendMany(1)
      assert.deepStrictEqual(usedConnections(sent), [1, 1, 1, 1, 2])
      const two = { text: "two", parameters: [], exclusive: false }
      yield* Effect.forkDetach(sessions.run(two), { startImmediately: true })
      yield* Effect.forkDetach(sessions.run(two), { startImmediately: true })
      assert.strictEqual(sent.length, 5)
      yield* turn
      assert.deepStrictEqual(usedConnections(sent.slice(5)), [2, 2])
    })
  )

  it.effect("are given to the owners of waiting statements in turns", () =>
    Effect.gen(function* () {
      const { answerAll, sendMany, sent, send } = yield* open({ capacity: 4, size: 2 })
      yield* sendMany(20, true).pipe(Principal.provide("ada"))
      yield* send("of bob", true).pipe(Principal.provide("bob"))
      yield* send("of carl", true).pipe(Principal.provide("carl"))
      const texts: Array<string> = []
      while (sent.length > 0) {
        texts.push(...sent.map(({ text }) => text))
        yield* answerAll
        yield* Effect.yieldNow
      }
      assert.strictEqual(texts.length, 22)
      assert.deepStrictEqual(texts.slice(1, 5).toSorted(), ["exclusive 1", "exclusive 2", "of bob", "of carl"])
    })
  )

  it.effect("are passed over while they are stuck", () =>
    Effect.gen(function* () {
      const { answerAll, send, sent } = yield* open()
      yield* send("slow")
      yield* send("behind it")
      yield* TestClock.adjust("20 millis")
      yield* send("elsewhere")
      assert.deepStrictEqual(usedConnections(sent), [1, 1, 2])
      yield* answerAll
      yield* Effect.yieldNow
      yield* send("as before")
      assert.deepStrictEqual(usedConnections(sent), [1])
    })
  )

  it.effect("keep one for those that share", () =>
    Effect.gen(function* () {
      const { answerAll, send, sendMany, sent } = yield* open({ size: 3 })
      yield* sendMany(4, true)
      yield* send("brief")
      assert.deepStrictEqual(
        sent.map(({ connection, text }) => [connection, text]),
        [
          [1, "exclusive 0"],
          [2, "exclusive 1"],
          [3, "brief"]
        ]
      )
      yield* answerAll
      yield* Effect.yieldNow
      assert.deepStrictEqual(
        sent.map(({ text }) => text),
        ["exclusive 2", "exclusive 3"]
      )
    })
  )

  it.effect("send elsewhere what could not be sent on a lost connection", () =>
    Effect.gen(function* () {
      const { answerAll, dead, send, sent } = yield* open()
      const first = yield* send("first")
      yield* answerAll
      yield* Fiber.join(first)
      dead.add(1)
      yield* send("second")
      assert.deepStrictEqual(usedConnections(sent), [2])
    })
  )

  it.effect("give up a statement in time, and end the session that is stuck", () =>
    Effect.gen(function* () {
      const { answerAll, invalidated, send, sent } = yield* open()
      const hung = yield* send("hung")
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(hung.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      yield* turn
      const failure = yield* Effect.flip(Fiber.join(hung))
      assert.strictEqual(failure.reason._tag, "StatementTimeoutError")
      assert.deepStrictEqual(invalidated, [1])
      assert.deepStrictEqual(
        sent.map(({ connection, text }) => [connection, text]),
        [
          [1, "hung"],
          [2, "select pg_terminate_backend($1)"]
        ]
      )
      yield* answerAll
    })
  )

  it.effect("give up a statement that never gets a session, and forget it", () =>
    Effect.gen(function* () {
      const { answerAll, send, sent } = yield* open({ capacity: 1, size: 1 })
      yield* send("first")
      yield* TestClock.adjust("5 seconds")
      const second = yield* send("second")
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.interrupt(second)
      yield* answerAll
      yield* Effect.yieldNow
      assert.deepStrictEqual(sent, [])
    })
  )

  it.effect("go back to the pool when nobody uses them", () =>
    Effect.gen(function* () {
      const { answerAll, send, sent } = yield* open()
      const first = yield* send("first")
      yield* answerAll
      yield* Fiber.join(first)
      yield* TestClock.adjust("3 seconds")
      yield* send("second")
      assert.deepStrictEqual(usedConnections(sent), [2])
    })
  )
})
