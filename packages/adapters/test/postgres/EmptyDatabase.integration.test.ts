/** The empty database that comes with the package: it is what initdb makes, and where it does not fit, initdb makes one. */
import { PGlite } from "@electric-sql/pglite"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { onEmbedded } from "../../../../test/databases.ts"
import { NewDatabase, readEmptyDatabase } from "../../src/pglite/EmptyDatabase.ts"
import { emptyDatabaseKey } from "../../src/pglite/EmptyDatabaseKey.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"

const scratchFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

/** Path and content of every file, and the folders. */
const filesIn = (folder: string): ReadonlyMap<string, Buffer | null> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true }).map((found) => {
      const path = join(found.parentPath, found.name)
      return [relative(folder, path), found.isDirectory() ? null : readFileSync(path)]
    })
  )

const file = join(import.meta.dirname, "../../src/pglite/EmptyDatabase.tar.br")

/** Initdb takes seconds, and many of them on a busy machine. */
const withInitdb = 180_000

/** A start without the empty database of the package. */
const byInitdb = Layer.succeed(NewDatabase, Effect.succeed(null))

const rows = (query: string) => PgClient.use((client) => client.unsafe<Record<string, unknown>>(query).withoutTransform)

/** Everything about a database that is not drawn at random and does not tell the time. */
const description = Effect.all({
  databases: rows(
    `select oid, datname, datdba, pg_encoding_to_char(encoding) as encoding, datlocprovider, datcollate, datctype, datlocale,
       daticurules, datcollversion, datistemplate, datallowconn, dattablespace, datacl::text from pg_database order by oid`
  ),
  collations: rows(
    "select oid, collname, collprovider, collencoding, collcollate, collctype from pg_collation order by oid"
  ),
  settings: rows("select name, setting, source from pg_settings where name <> 'data_directory' order by name"),
  control: rows("select * from pg_control_init()"),
  versions: rows("select pg_control_version, catalog_version_no, version() from pg_control_system()"),
  migrations: rows("select name, checksum from colloquy.migrations order by name"),
  functions: rows("select proname from pg_proc where pronamespace = 'colloquy'::regnamespace order by proname"),
  relations: rows("select relname, relkind from pg_class order by relname, relkind")
})

const identifier = Effect.map(
  rows("select system_identifier::text as identifier from pg_control_system()"),
  ([row]) => row?.["identifier"]
)

const database = (options: Pglite.DatabaseSettings = {}) =>
  Layer.provideMerge(Postgres.layerFromClient(), Pglite.layerClient(options))

onEmbedded("PGlite", () => {
  it.live(
    "it is byte for byte what initdb makes, but for the control file and the log, which hold times and an identifier",
    () =>
      Effect.gen(function* () {
        const folder = yield* scratchFolder
        yield* Effect.promise(async () => (await PGlite.create({ dataDir: folder })).close())
        const made = filesIn(folder)
        const empty = yield* readEmptyDatabase()
        const shipped = new Map(empty?.entries.map(({ content, isFolder, path }) => [path, isFolder ? null : content]))
        assert.deepStrictEqual([...shipped.keys()].sort(), [...made.keys()].sort())
        const others = [...made].filter(([path, content]) => {
          const other = shipped.get(path) ?? null
          return content === null || other === null ? content !== other : !content.equals(other)
        })
        assert.deepStrictEqual(
          others.map(([path]) => path).sort(),
          ["global/pg_control", "pg_wal/000000010000000000000001"],
          "run `npm run empty-database`"
        )
      }).pipe(Effect.scoped)
  )

  it.live(
    "a database that began with it equals one that initdb made, in memory and in a folder",
    () =>
      Effect.gen(function* () {
        const folder = yield* scratchFolder
        const [begun, byItself] = [{ dataDir: join(folder, "begun") }, { dataDir: join(folder, "by-itself") }]
        const made = yield* Effect.provide(description, Layer.provide(database(byItself), byInitdb))
        assert.deepStrictEqual(yield* Effect.provide(description, database()), made)
        assert.deepStrictEqual(yield* Effect.provide(description, database(begun)), made)
        assert.deepInclude(made.databases[2], { datname: "postgres", encoding: "UTF8", datcollate: "C" })
        assert.isAbove(made.functions.length, 0)
      }).pipe(Effect.scoped),
    withInitdb
  )

  it.live("each database has an identifier of its own, and keeps it", () =>
    Effect.gen(function* () {
      const folder = yield* scratchFolder
      const [one, other] = [{ dataDir: join(folder, "one") }, { dataDir: join(folder, "other") }]
      const first = yield* Effect.provide(identifier, Pglite.layerClient(one))
      assert.match(String(first), /^[1-9]\d*$/)
      assert.notStrictEqual(yield* Effect.provide(identifier, Pglite.layerClient(other)), first)
      assert.strictEqual(yield* Effect.provide(identifier, Pglite.layerClient(one)), first)
    }).pipe(Effect.scoped)
  )

  it.live("one that is damaged, cut off, missing or of another version is not used", () =>
    Effect.gen(function* () {
      const folder = yield* scratchFolder
      const whole = yield* Effect.promise(() => readFile(file))
      const changed = Buffer.from(whole)
      changed.writeUInt8(changed.readUInt8(whole.length / 2) ^ 1, whole.length / 2)
      for (const content of [changed, whole.subarray(0, -1), Buffer.alloc(0)]) {
        const path = join(folder, "Changed.tar.br")
        yield* Effect.promise(() => writeFile(path, content))
        assert.isNull(yield* readEmptyDatabase(emptyDatabaseKey, path))
      }
      assert.isNull(yield* readEmptyDatabase(emptyDatabaseKey, join(folder, "Missing.tar.br")))
      assert.isNull(yield* readEmptyDatabase({ ...emptyDatabaseKey, pglite: "0.5.13" }))
      assert.isNotNull(yield* readEmptyDatabase())
    }).pipe(Effect.scoped)
  )
})
