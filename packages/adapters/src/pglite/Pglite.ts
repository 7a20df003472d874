/**
 * Every storage port on PGlite, which is PostgreSQL inside of the process, in memory or in a folder. The client, the statements and the
 * migrations are those of `Postgres`; only the socket is replaced. One session serves all callers, so statements wait for an open transaction.
 */
import { PGlite, type PGliteOptions as DatabaseOptions } from "@electric-sql/pglite"
import * as PgClient from "@effect/sql-pg/PgClient"
import type { Notification } from "@effect/sql-pg/PgConnection"
import type { StoreUnavailable } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { existsSync } from "node:fs"
import { mkdir, realpath, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { layerFromClient, type SchemaRefused, type StoreOptions, type Stores } from "../postgres/Postgres.ts"
import { Backend } from "./Backend.ts"
import { type EmptyDatabase, NewDatabase, writeEmptyDatabase } from "./EmptyDatabase.ts"
import { type FolderInUse, holdFolder } from "./FolderLock.ts"
import { SessionStream } from "./SessionStream.ts"

export { FolderInUse } from "./FolderLock.ts"
export type { Stores } from "../postgres/Postgres.ts"

/** The folder of PGlite's database, its initial content, and its extensions. */
export interface DatabaseSettings {
  /** A folder for this database only. The first start creates it. Without a folder, everything is in memory. */
  readonly dataDir?: string
  /** The result of `snapshot`, with which a new database begins. Without it, a new database begins with the empty one of this package. */
  readonly snapshot?: Blob
  /** PGlite extensions, for example pgvector. */
  readonly extensions?: NonNullable<DatabaseOptions["extensions"]>
  /**
   * How V8 compiles PGlite's 9 MB of WebAssembly. `once` (the default) leaves out the second, optimizing compilation, which takes 550 MB of
   * memory and two fifths of the CPU time of a first start; V8 then leaves it out for all WebAssembly of the process. `optimized` changes
   * nothing in V8: statements are faster after some thousand turns.
   */
  readonly compilation?: "once" | "optimized"
}

/** The settings of the database and of the stores in it. */
export interface PgliteOptions extends StoreOptions, DatabaseSettings {}

/** The stores, on a database that this layer opens and closes. */
export const layer = (
  options: PgliteOptions = {}
): Layer.Layer<Stores, FolderInUse | SchemaRefused | StoreUnavailable> =>
  Layer.provide(layerFromClient(options), layerClient(options))

/** The database as a client, for a host with its own tables in it. `Postgres.layerFromClient` adds the stores to the same database. */
export const layerClient = (
  options: DatabaseSettings = {}
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, FolderInUse> =>
  PgClient.layerFrom(
    Effect.gen(function* () {
      const backend = new Backend(yield* openDatabase(options))
      // Exactly one session, which is never closed: a second session could begin only after the first has ended.
      const client = yield* Effect.orDie(
        PgClient.make({
          username: "postgres",
          database: "postgres",
          minConnections: 1,
          maxConnections: 1,
          stream: () => new SessionStream(backend)
        })
      )
      return Object.assign(client, { listen: makeListen(backend) })
    })
  )

/**
 * An empty database in one file, with which other databases can begin. Useful if the installed version of PGlite is not the one of the
 * shipped empty database.
 */
export const snapshot = (extensions?: DatabaseSettings["extensions"]): Effect.Effect<Blob> =>
  Effect.scoped(
    Effect.flatMap(open(extensions === undefined ? {} : { extensions }), (database) =>
      Effect.promise(() => database.dumpDataDir("gzip"))
    )
  )

const openDatabase = Effect.fnUntraced(function* (
  settings: DatabaseSettings
): Effect.fn.Return<PGlite, FolderInUse, Scope.Scope> {
  const { dataDir, snapshot: _, ...rest } = settings
  if (dataDir === undefined) return yield* openInMemory(settings)
  yield* Effect.promise(() => mkdir(dataDir, { recursive: true }))
  const folder = yield* Effect.promise(() => realpath(dataDir))
  yield* holdFolder(folder)
  const database = join(folder, "database")
  if (!existsSync(database)) yield* makeDatabase(database, settings)
  return yield* open({ ...rest, dataDir: database })
})

const openInMemory = Effect.fnUntraced(function* (
  settings: DatabaseSettings
): Effect.fn.Return<PGlite, never, Scope.Scope> {
  const empty = yield* emptyFor(settings)
  return yield* open(empty === null ? settings : { ...settings, snapshot: new Blob([empty.archive]) })
})

/** Creates the database under another name and renames it when it is complete, so that a killed process leaves no incomplete database. */
const makeDatabase = (database: string, settings: DatabaseSettings): Effect.Effect<void> =>
  Effect.gen(function* () {
    const unfinished = `${database}.unfinished`
    yield* Effect.promise(() => rm(unfinished, { recursive: true, force: true }))
    const empty = yield* emptyFor(settings)
    // PGlite creates a database only by opening it, and an open database cannot be renamed, so it is closed first.
    yield* empty === null
      ? Effect.scoped(open({ ...settings, dataDir: unfinished }))
      : Effect.sync(() => writeEmptyDatabase(unfinished, empty))
    yield* Effect.promise(() => rename(unfinished, database))
  })

const emptyFor = ({ snapshot: own }: DatabaseSettings): Effect.Effect<EmptyDatabase | null> =>
  own === undefined ? Effect.flatten(NewDatabase) : Effect.succeed(null)

/**
 * PGlite's default is 128 MB of shared buffers, which it fills when it starts. Fewer are enough, because the system caches the files anyway.
 * A new file of the write-ahead log is not filled with 16 MB of zeros: that held the thread for 80 ms.
 */
const startParams = [...PGlite.defaultStartParams, "-c", "shared_buffers=8MB", "-c", "wal_init_zero=off"]

/** Skips reading the types of arrays, which takes a twentieth of a start. Only PGlite's own decoder needs them; the client has another one. */
class Database extends PGlite {
  override async _initArrayTypes(): Promise<void> {}
}

const open = ({
  compilation = "once",
  dataDir,
  extensions,
  snapshot: copy
}: DatabaseSettings): Effect.Effect<PGlite, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      if (compilation === "once") compileOnce()
      const database = new Database({
        startParams,
        ...(dataDir === undefined ? {} : { dataDir }),
        ...(extensions === undefined ? {} : { extensions }),
        ...(copy === undefined ? {} : { loadDataDir: copy })
      })
      await database.waitReady
      return database
    }),
    (database) => Effect.promise(() => database.close())
  )

/** V8 compiles a module for the second time while it runs, so these settings, which are those of the process, must stay. */
const compileOnce = (): void => {
  for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag)
}

/** Listens directly on the backend, so that the client's only session stays free for statements. */
const makeListen = (backend: Backend) =>
  Effect.fnUntraced(function* (
    channel: string
  ): Effect.fn.Return<Queue.Dequeue<Notification, SqlError>, never, Scope.Scope> {
    const queue = yield* Queue.unbounded<Notification, SqlError>()
    yield* Effect.acquireRelease(
      Effect.promise(() => backend.listen(channel, (notification) => Queue.offerUnsafe(queue, notification))),
      (unlisten) => Effect.promise(unlisten)
    )
    return queue
  })
