/** A database that goes away and comes back: what callers hear meanwhile, and that everything works afterwards. */
import { type MessageId, Principal, StoreUnavailable, type ThreadId } from "@colloquy/core"
import { type Lease, RunStore } from "@colloquy/core/adapters"
import {
  runChanges,
  anHour,
  openThread,
  sampleBegin,
  sampleSettlement,
  startTurn,
  storedMessages
} from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { functionName } from "../../src/postgres/schema/FunctionNames.ts"
import { canStartServer, privateServer } from "./PrivateServer.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

type Ended = "settled" | "lost" | "unavailable"

/**
 * One turn. It either happens, or its caller hears that the store is away: nothing else may come out. A run that was left behind by a
 * turn whose end could not be stored is ended by the next one.
 */
const turnOn = (threadId: ThreadId): Effect.Effect<Ended, unknown, RunStore | Principal> =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const begin = yield* sampleBegin(threadId, { mode: "reject" })
    const begun = yield* runs.begin(begin)
    if (begun._tag === "Started") return yield* end(begun.lease, begin.run.answerId)
    if (begun._tag !== "Busy") return yield* Effect.die(begun)
    const left = yield* runs.takeOver(begun.runId, anHour, { onlyExpired: false })
    return Option.isSome(left) ? yield* end(left.value.lease, left.value.run.answerId) : "lost"
  }).pipe(
    Effect.catch((error): Effect.Effect<Ended, unknown> =>
      error instanceof StoreUnavailable ? Effect.succeed("unavailable") : Effect.fail(error)
    )
  )

const end = (lease: Lease, answerId: MessageId): Effect.Effect<Ended, StoreUnavailable, RunStore | Principal> =>
  Effect.gen(function* () {
    const settlement = yield* sampleSettlement({ ...lease, answerId, leg: 0 })
    return (yield* (yield* RunStore).settle(lease, settlement)) ? "settled" : "lost"
  })

/** Turns without an end on some threads; every outcome goes to the queue. */
const underLoad = Effect.gen(function* () {
  const threads = yield* Effect.forEach(Array.from({ length: 8 }), () => openThread)
  const outcomes = yield* Queue.unbounded<Ended>()
  const turns = threads.map(({ id }) =>
    Effect.forever(Effect.flatMap(turnOn(id), (ended) => Queue.offer(outcomes, ended)))
  )
  const load = yield* Effect.forkScoped(Effect.all(turns, { concurrency: "unbounded" }))
  const seen = (wanted: Ended) =>
    Queue.take(outcomes).pipe(
      Effect.repeat({ until: (ended) => ended === wanted }),
      Effect.raceFirst(Fiber.join(load)),
      Effect.asVoid
    )
  return { seen, threads }
})

/** Completes when a wish to cancel is heard over the database, and not by the echo of this process: another client makes it. */
const hearsAgain = (schema: string) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const { runId } = yield* startTurn(id)
    const heard = yield* Effect.forkChild(
      Stream.runHead(Stream.filter(runChanges(runs), (signal) => signal.cancel && signal.runId === runId)),
      { startImmediately: true }
    )
    const ask = PgClient.use((client) =>
      client.unsafe(`select ${schema}.${functionName("notify_change")}($1, $2, true)`, [runId, id])
    )
    const asking = yield* Effect.forkChild(Effect.repeat(ask, Schedule.spaced("20 millis")))
    assert.isTrue(Option.isSome(yield* Fiber.join(heard)))
    yield* Fiber.interrupt(asking)
  })

/** A read may meet a connection that has just been ended: it says so, and is asked again. */
const whenAnswered = Effect.retry({ while: (error: unknown) => error instanceof StoreUnavailable, times: 20 })

const noGaps = (threads: ReadonlyArray<{ readonly id: ThreadId }>) =>
  Effect.forEach(threads, ({ id }) =>
    Effect.map(whenAnswered(storedMessages(id)), (messages) => {
      const sequences = messages.map(({ sequence }) => sequence)
      assert.deepStrictEqual(
        sequences,
        Array.from({ length: messages.length }, (_, index) => index + 1)
      )
    })
  )

const storesAt = (url: string, schema: string) => Postgres.layer({ url: Redacted.make(url), schema, maxConnections: 4 })

onPostgres((url) => {
  it.live("connections that the server ends, under load", () =>
    Effect.gen(function* () {
      const { seen, threads } = yield* underLoad
      yield* seen("settled")
      const cut = PgClient.use(
        (client) =>
          client`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'outage test'`
      )
      for (let round = 0; round < 5; round++) {
        yield* cut
        yield* seen("settled")
      }
      yield* noGaps(threads)
    }).pipe(
      Effect.scoped,
      Principal.provide("outage"),
      Effect.provide(
        Layer.merge(
          onScratchSchema(url, (schema) =>
            Postgres.layer({ url: Redacted.make(url), schema, applicationName: "outage test" })
          ),
          hostClient(url)
        )
      )
    )
  )

  it.live.runIf(canStartServer)("a server that is stopped under load and started again", () =>
    Effect.gen(function* () {
      const server = yield* privateServer
      yield* Effect.gen(function* () {
        const { seen, threads } = yield* underLoad
        yield* seen("settled")
        yield* server.stop
        yield* seen("unavailable")
        yield* server.start
        yield* seen("settled")
        yield* hearsAgain("colloquy")
        yield* noGaps(threads)
      }).pipe(
        Effect.scoped,
        Principal.provide("outage"),
        Effect.provide(Layer.merge(storesAt(server.url, "colloquy"), hostClient(server.url)))
      )
    })
  )
})
