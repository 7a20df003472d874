/**
 * Behind PgBouncer in transaction mode, where every transaction may run on another connection of the server: the contract of the stores, over
 * connections of their own and over a host's `pg.Pool`, and turns of two kernels that must not hear of each other by notifications.
 */
import { Kernel, Principal, Providers, Threads, Turns } from "@colloquy/core"
import { scripted, say } from "@colloquy/testing"
import {
  blobStoreSuite,
  documentStoreSuite,
  followUpStoreSuite,
  memoryStoreSuite,
  outcomeStoreSuite,
  realtimeSuite,
  retentionStoreSuite,
  storageSuite
} from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import pg from "pg"
import { oneDatabase, onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { bouncer, noBouncer } from "./Bouncer.ts"
import { onScratchSchema } from "./Scratch.ts"

const capabilities = { testClock: false, signals: false }

onPostgres((url) => {
  if (noBouncer !== null) {
    it.skipIf(true)(`behind PgBouncer (${noBouncer})`, () => {})
    return
  }

  /** As `docs/storage.md` says. */
  const ownConnections = (address: string) =>
    onScratchSchema(url, (schema) =>
      Postgres.layer({ url: Redacted.make(address), schema, prepare: false, notifications: false })
    )

  const hostPool = (address: string) =>
    Layer.unwrap(
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => new pg.Pool({ connectionString: address, max: 8 })),
          (pool) => Effect.promise(() => pool.end())
        ),
        (pool) => onScratchSchema(url, (schema) => Postgres.layerFromPool(pool, { schema, notifications: false }))
      )
    )

  const behind = <A, E, R>(stores: (address: string) => Layer.Layer<A, E, R>) =>
    Layer.unwrap(Effect.map(bouncer(url), stores))

  describe("behind PgBouncer in transaction mode", () => {
    const own = oneDatabase(behind(ownConnections))
    storageSuite("its own connections", own, capabilities)
    followUpStoreSuite("its own connections", own, capabilities)
    retentionStoreSuite("its own connections", own, capabilities)
    outcomeStoreSuite("its own connections: OutcomeStore", own)
    blobStoreSuite("its own connections: BlobStore", own)
    documentStoreSuite("its own connections: DocumentStore", own)
    memoryStoreSuite("its own connections: MemoryStore", own, { keepsVectors: true })
    realtimeSuite("its own connections: voice sessions", own, capabilities)

    // What a pool of the host does in another way, connections and their transactions, is met by this one already.
    storageSuite("pg.Pool", behind(hostPool), capabilities)

    it.live("forty turns at once of one kernel share three connections, and all are kept", () =>
      Effect.gen(function* () {
        const threads = yield* Threads
        const replies = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          (index) => Turns.use(({ send }) => send({ content: `Message ${index}` })),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          replies.map(({ content, status }) => [status, content]),
          replies.map(() => ["COMPLETED", "Yes."])
        )
        const listed = yield* threads.list({ page: { limit: 100, skip: 0 }, includeMessages: true })
        assert.lengthOf(listed, 40)
        assert.isTrue(listed.every(({ messages }) => messages.length === 2))
      }).pipe(Principal.provide("ada"), Effect.provide(kernel))
    )

    it.live("a message waits for its thread without notifications", () =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const first = yield* turns.start({ content: "One" })
        const both = yield* Effect.all(
          [first.reply, turns.send({ content: "Two", threadId: first.threadId, busy: "enqueue" })],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          both.map(({ status }) => status),
          ["COMPLETED", "COMPLETED"]
        )
      }).pipe(Principal.provide("ada"), Effect.provide(kernel))
    )
  })

  const kernel = Kernel.layer.pipe(
    Layer.provide(
      Providers.layer({
        providers: [scripted([], { otherwise: say("Yes.") })],
        defaults: { provider: "scripted", model: "scripted" }
      })
    ),
    Layer.provideMerge(behind(ownConnections))
  )
})
