/**
 * Every storage port on PGlite: Postgres inside the process, in memory or in a folder. The client, the statements and the migrations are
 * those of `Postgres`; only the socket is replaced. One session serves all callers, so a statement waits while a transaction is open.
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

export interface DatabaseSettings {
  /** A folder for the database alone, made at the first start. Without it everything is in memory. */
  readonly dataDir?: string
  /** A new database begins as a copy of this: what `snapshot` gave. Without it, it begins as the empty one that comes with this package. */
  readonly snapshot?: Blob
  /** PGlite extensions, for instance pgvector. */
  readonly extensions?: NonNullable<DatabaseOptions["extensions"]>
}

/**
 * V8 compiles WebAssembly quickly at first, and what runs much a second time, better, while the program runs. Of PGlite's 9 MB that second
 * time takes 550 MB more and two fifths of a first start's CPU; after some thousand turns it may have paid for itself. This turns it off,
 * for all WebAssembly of the process: so the program decides, before it opens a database. Node's flag `--liftoff-only` does the same.
 */
export const compileOnce = (): void => {
  for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag)
}

export interface PgliteOptions extends StoreOptions, DatabaseSettings {}

/** The stores, over a database of their own. It is closed with the layer. */
export const layer = (
  options: PgliteOptions = {}
): Layer.Layer<Stores, FolderInUse | SchemaRefused | StoreUnavailable> =>
  Layer.provide(layerFromClient(options), layerClient(options))

/** The database as a client, for a host that keeps tables of its own in it: `Postgres.layerFromClient` puts the stores beside them. */
export const layerClient = (
  options: DatabaseSettings = {}
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, FolderInUse> =>
  PgClient.layerFrom(
    Effect.gen(function* () {
      const backend = new Backend(yield* openDatabase(options))
      // One session that is never given up: another one would have to wait for it to end.
      const client = yield* Effect.orDie(
        PgClient.make({
          username: "postgres",
          database: "postgres",
          minConnections: 1,
          maxConnections: 1,
          stream: () => new SessionStream(backend)
        })
      )
      return Object.assign(client, { listen: listenOn(backend) })
    })
  )

/** An empty database in one file, to begin others with: for a version of PGlite that this package has none for. */
export const snapshot = (extensions?: DatabaseSettings["extensions"]): Effect.Effect<Blob> =>
  Effect.scoped(
    Effect.flatMap(open(extensions === undefined ? {} : { extensions }), (database) =>
      Effect.promise(() => database.dumpDataDir("gzip"))
    )
  )

const openDatabase = (settings: DatabaseSettings): Effect.Effect<PGlite, FolderInUse, Scope.Scope> =>
  Effect.gen(function* () {
    const { dataDir, snapshot: _, ...rest } = settings
    if (dataDir === undefined) return yield* openInMemory(settings)
    yield* Effect.promise(() => mkdir(dataDir, { recursive: true }))
    const folder = yield* Effect.promise(() => realpath(dataDir))
    yield* holdFolder(folder)
    const database = join(folder, "database")
    if (!existsSync(database)) yield* makeDatabase(database, settings)
    return yield* open({ ...rest, dataDir: database })
  })

const openInMemory = (settings: DatabaseSettings): Effect.Effect<PGlite, never, Scope.Scope> =>
  Effect.gen(function* () {
    const empty = yield* emptyFor(settings)
    return yield* open(empty === null ? settings : { ...settings, snapshot: new Blob([empty.archive]) })
  })

/** Made aside and renamed when it is whole, so that a process killed meanwhile leaves no half of a database. */
const makeDatabase = (database: string, settings: DatabaseSettings): Effect.Effect<void> =>
  Effect.gen(function* () {
    const unfinished = `${database}.unfinished`
    yield* Effect.promise(() => rm(unfinished, { recursive: true, force: true }))
    const empty = yield* emptyFor(settings)
    // PGlite fills a folder only by opening it, and an open database cannot be renamed.
    yield* empty === null
      ? Effect.scoped(open({ ...settings, dataDir: unfinished }))
      : Effect.sync(() => writeEmptyDatabase(unfinished, empty))
    yield* Effect.promise(() => rename(unfinished, database))
  })

const emptyFor = ({ snapshot: own }: DatabaseSettings): Effect.Effect<EmptyDatabase | null> =>
  own === undefined ? Effect.flatten(NewDatabase) : Effect.succeed(null)

/** Its own default is 128 MB of shared buffers, all of which it touches when it starts; the files are in the system's cache anyway. */
const startParams = [...PGlite.defaultStartParams, "-c", "shared_buffers=8MB"]

/** Without a look at the types of arrays, which takes a twentieth of a start: only PGlite's own decoder needs them, and the client has another. */
class Database extends PGlite {
  override async _initArrayTypes(): Promise<void> {}
}

const open = ({ dataDir, extensions, snapshot: copy }: DatabaseSettings): Effect.Effect<PGlite, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
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

/** Beside the client's one session, which goes on serving statements. */
const listenOn =
  (backend: Backend) =>
  (channel: string): Effect.Effect<Queue.Dequeue<Notification, SqlError>, never, Scope.Scope> =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<Notification, SqlError>()
      yield* Effect.acquireRelease(
        Effect.promise(() => backend.listen(channel, (notification) => Queue.offerUnsafe(queue, notification))),
        (unlisten) => Effect.promise(unlisten)
      )
      return queue
    })
