/** PGlite on a folder: what a kill leaves behind, and who may open it. */
import { Principal, StoreUnavailable } from "@colloquy/core"
import { ThreadStore } from "@colloquy/core/adapters"
import { openThread, storedMessages } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { onEmbedded } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { startWorker } from "./Worker.ts"

const owner = "embedded"

const scratchFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

const using = <A, E>(dataDir: string, effect: Effect.Effect<A, E, Pglite.Stores | Principal>) =>
  effect.pipe(Principal.provide(owner), Effect.provide(Pglite.layer({ dataDir })))

const canBeUsed = (dataDir: string) =>
  using(
    dataDir,
    Effect.flatMap(openThread, ({ id }) => ThreadStore.use((store) => store.get(id)))
  ).pipe(Effect.map((found) => assert.isTrue(Option.isSome(found))))

/** Initdb takes seconds, and many of them on a busy machine. */
const withInitdb = 180_000

onEmbedded("PGlite", () => {
  it.live("a folder survives a kill, and is refused to a second process until then", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* scratchFolder, "data", "base")
      const thread = yield* using(dataDir, openThread)
      const worker = yield* startWorker({ database: "pglite", dataDir })
      assert.strictEqual(yield* worker.ask("race", { owner, threadId: thread.id, times: 5 }), 5)

      const refused = yield* Effect.flip(using(dataDir, ThreadStore))
      assert.instanceOf(refused, Pglite.FolderInUse)
      assert.include(refused.message, "can be opened only once")

      worker.signal("SIGKILL")
      yield* worker.ended
      const messages = yield* using(dataDir, storedMessages(thread.id))
      assert.deepStrictEqual(
        messages.map(({ sequence }) => sequence),
        Array.from({ length: 10 }, (_, index) => index + 1)
      )
    })
  )

  it.live("a database takes little memory for its buffers", () =>
    Effect.gen(function* () {
      const client = yield* PgClient
      const [row] = yield* client<{ readonly megabytes: string }>`select current_setting('shared_buffers') as megabytes`
      assert.strictEqual(row?.megabytes, "8MB")
    }).pipe(Effect.provide(Pglite.layerClient()))
  )

  it.live("a first start with what V8 compiles once takes a third of the memory that it takes otherwise", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* scratchFolder, "base")
      const script = join(import.meta.dirname, "PgliteStartProcess.ts")
      const run = promisify(execFile)
      const { stdout } = yield* Effect.promise(() =>
        run(process.execPath, ["--conditions=colloquy-source", script, dataDir])
      )
      assert.isBelow(
        Number(stdout) / 1024,
        520,
        "MB; it is 260 to 460, the more the busier the machine; with initdb 600, compiled twice 800"
      )
    })
  )

  it.live("a first start that was killed leaves nothing that a second one would trip over", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* scratchFolder, "base")
      const worker = yield* startWorker({ database: "pglite", dataDir })
      yield* Effect.forkChild(worker.ask("open"))
      // Half of it, or all of it when this process comes late.
      yield* until(() => ["database.unfinished", "database"].some((name) => existsSync(join(dataDir, name))))
      worker.signal("SIGKILL")
      yield* worker.ended
      yield* canBeUsed(dataDir)
    })
  )

  it.live("half of a database, as a kill leaves it, is made anew", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* scratchFolder, "base")
      const unfinished = join(dataDir, "database.unfinished")
      yield* Effect.promise(() => mkdir(join(unfinished, "base"), { recursive: true }))
      yield* Effect.promise(() => writeFile(join(unfinished, "PG_VERSION"), "18\n"))
      yield* canBeUsed(dataDir)
      assert.isFalse(existsSync(unfinished))
    })
  )

  it.live(
    "a snapshot begins a database",
    () =>
      Effect.gen(function* () {
        const dataDir = join(yield* scratchFolder, "base")
        const snapshot = yield* Pglite.snapshot()
        const layer = Pglite.layer({ dataDir, snapshot })
        const { id } = yield* openThread.pipe(Principal.provide(owner), Effect.provide(layer))
        assert.isTrue(
          Option.isSome(
            yield* using(
              dataDir,
              ThreadStore.use((store) => store.get(id))
            )
          )
        )
      }),
    withInitdb
  )

  it.live("a statement waits while the host's transaction is open, but not for ever", () =>
    Effect.gen(function* () {
      const host = yield* PgClient
      const threads = yield* ThreadStore
      const { id } = yield* openThread
      const [open, close] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const inTransaction = Effect.gen(function* () {
        assert.isTrue(yield* threads.remove(id))
        yield* Deferred.succeed(open, undefined)
        yield* Deferred.await(close)
        return yield* Effect.fail("no")
      })
      const transaction = yield* Effect.forkChild(Effect.flip(host.withTransaction(inTransaction)))
      yield* Deferred.await(open)
      assert.instanceOf(yield* Effect.flip(threads.get(id)), StoreUnavailable)
      yield* Deferred.succeed(close, undefined)
      assert.strictEqual(yield* Fiber.join(transaction), "no")
      assert.isTrue(Option.isSome(yield* threads.get(id)))
    }).pipe(
      Principal.provide(owner),
      Effect.provide(Layer.provideMerge(Postgres.layerFromClient({ timeout: "300 millis" }), Pglite.layerClient()))
    )
  )
})

/** Asks again with every turn of the event loop. */
const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    condition()
      ? Effect.void
      : Effect.andThen(
          Effect.promise(() => new Promise(setImmediate)),
          until(condition)
        )
  )
