/**
 * Every storage port on PostgreSQL. `layer` opens a pool of its own; `layerFromClient` works with the client that the host has already,
 * inside the host's transactions too, and leaves it open; `layerFromPool` does so with a `pg.Pool`. All bring the schema up to date unless told not to.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { RateLimiter, type StoreUnavailable } from "@colloquy/core"
import * as Ports from "@colloquy/core/adapters"
import {
  BlobStore,
  ChunkIndex,
  DocumentStore,
  MemoryStore,
  OutcomeStore,
  RetentionStore,
  SessionStore,
  TicketStore
} from "@colloquy/core/wings"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { randomBytes } from "node:crypto"
import type { Stores } from "../Stores.ts"
import { makeConnections } from "./Connections.ts"
import { hasJoined, type HostPool, layerClientOfPool, poolDriver } from "./PoolClient.ts"
import type { Pool } from "./PoolTypes.ts"
import { type Database, databaseOfClient, databaseOver } from "./Database.ts"
import { KnownHistories } from "./KnownHistories.ts"
import { checkSchema, migrate as migrateSchema } from "./Migrations.ts"
import { channelOf, checkSchemaName } from "./Names.ts"
import { assistantStore } from "./PostgresAssistantStore.ts"
import { followUpStore } from "./PostgresFollowUpStore.ts"
import { blobStore } from "./PostgresBlobStore.ts"
import { documentStore } from "./PostgresDocumentStore.ts"
import { keyStore } from "./PostgresKeyStore.ts"
import { outcomeStore } from "./PostgresOutcomeStore.ts"
import { chunkIndex, openVectors, withoutExtension } from "./PostgresChunkIndex.ts"
import { memoryStore } from "./PostgresMemoryStore.ts"
import { providerKeys, type ProviderKeyVault } from "./PostgresProviderKeys.ts"
import { rateLimiter } from "./PostgresRateLimiter.ts"
import { retentionStore } from "./PostgresRetentionStore.ts"
import { runStore } from "./PostgresRunStore.ts"
import { sessionStore } from "./PostgresSessionStore.ts"
import { ticketStore } from "./PostgresTicketStore.ts"
import { threadStore } from "./PostgresThreadStore.ts"
import { usageLedger } from "./PostgresUsageLedger.ts"
import { type HintOptions, type Listen, makeRunHints } from "./RunHints.ts"
import type { SchemaRefused } from "./SchemaHistory.ts"
import { buildVectorIndexes } from "./VectorIndexes.ts"

export type { Stores }
export { HostPool, joinTransaction, layerClientOfPool } from "./PoolClient.ts"
export type { Pool, PoolConnection } from "./PoolTypes.ts"
export { ProviderKeyVault } from "./PostgresProviderKeys.ts"
export { SchemaRefused } from "./SchemaHistory.ts"

export interface StoreOptions {
  /** The schema that holds the tables; it is made when it is missing. Default `colloquy`. */
  readonly schema?: string
  /** Bring the schema up to date at the start (default), or refuse to start when it is not. */
  readonly migrate?: boolean
  /** Listen for changes made by other processes, over one connection more. Default true; without it the kernel polls. */
  readonly notifications?: boolean
  /** How long a statement may take, the wait for a free connection included. Default ten seconds. */
  readonly timeout?: Duration.Input
}

/** Where the database is, and how many connections may be open (`maxConnections`, default 10). */
export interface PostgresOptions extends StoreOptions, PgClient.PgPoolConfig {
  /**
   * Histories of threads that stay in the memory of the process, so that the next turn of a thread need not read its history again; in
   * characters. Default 8 million, which take some 20 MB when so many are there; 0 keeps none.
   */
  readonly keptHistories?: number
}

/** The stores, over connections of their own. They are closed with the layer. */
export const layer = (options: PostgresOptions): Layer.Layer<Stores, SchemaRefused | StoreUnavailable> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const schema = nameOf(options)
      const keepsVectors = yield* Effect.provide(
        PgClient.PgClient.use((client) => Effect.flatMap(openSchema(client, options), keepVectors(options))),
        migrationClient(options)
      )
      const connections = yield* makeConnections(options, timeoutOf(options))
      const histories = new KnownHistories(options.keptHistories ?? 8_000_000)
      const hints: HintOptions = { listen: listenOver(options, schema), whenWritten: (effect) => effect }
      return yield* makeStores(databaseOver(connections, schema), keepsVectors, hints, histories)
    })
  )

/** The stores, over the host's client. */
export const layerFromClient = (
  options: StoreOptions = {}
): Layer.Layer<Stores, SchemaRefused | StoreUnavailable, PgClient.PgClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const client = yield* PgClient.PgClient
      const database = yield* openSchema(client, options)
      const hints: HintOptions = {
        listen: listenBeside(client, options),
        // Of a transaction that only the host ends, the database tells when it is committed.
        whenWritten: (effect) =>
          Effect.flatMap(hasJoined(client), (joined) => (joined ? Effect.void : client.afterCommit(effect)))
      }
      // What was written in the host's transaction may be undone: nothing is kept of it.
      return yield* makeStores(database, yield* keepVectors(options)(database), hints, new KnownHistories(0))
    })
  )

/**
 * The stores, over the host's `pg.Pool`, and what else works on it: `joinTransaction`, and as a client the other layers of this module. One
 * connection of the pool listens, unless the pool has no second one.
 */
export const layerFromPool = (
  pool: Pool,
  options: StoreOptions = {}
): Layer.Layer<Stores | PgClient.PgClient | HostPool, SchemaRefused | StoreUnavailable> =>
  Layer.provideMerge(
    layerFromClient(pool.options.max === 1 ? { ...options, notifications: false } : options),
    layerClientOfPool(pool)
  )

/**
 * Customers' own keys for providers, for the kernel (`ProviderKeys`) and for the host's page that manages them (`ProviderKeyVault`). They are
 * encrypted with the host's secret; without that secret they are lost.
 */
export const layerProviderKeys = (
  options: StoreOptions & { readonly secret: Redacted.Redacted<string> }
): Layer.Layer<ProviderKeyVault, SchemaRefused | StoreUnavailable, PgClient.PgClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const database = yield* openSchema(yield* PgClient.PgClient, options)
      return yield* providerKeys(database, options.secret)
    })
  )

/** A `RateLimiter` that counts for all processes on this database together. */
export const layerRateLimiter = (
  options: StoreOptions = {}
): Layer.Layer<RateLimiter, SchemaRefused | StoreUnavailable, PgClient.PgClient> =>
  Layer.effect(
    RateLimiter,
    Effect.map(
      Effect.flatMap(PgClient.PgClient, (client) => openSchema(client, options)),
      rateLimiter
    )
  )

/** The index of chunks alone, for a host without the other stores. A warning is logged where the database keeps no vectors. */
export const layerChunkIndex = (
  options: StoreOptions = {}
): Layer.Layer<ChunkIndex, SchemaRefused | StoreUnavailable, PgClient.PgClient> =>
  Layer.effect(
    ChunkIndex,
    Effect.gen(function* () {
      const database = yield* openSchema(yield* PgClient.PgClient, options)
      const keepsVectors = yield* keepVectors(options)(database)
      if (!keepsVectors) yield* Effect.logWarning(withoutExtension)
      return chunkIndex(database, keepsVectors)
    })
  )

/** Vectors need the extension pgvector: it is made at the start when that is allowed. Without it a search is lexical. */
const keepVectors = (options: StoreOptions) => (database: Database) => openVectors(database, options.migrate !== false)

/**
 * Builds indexes of vectors where scopes have more than 10,000 chunks, and answers for which lengths. It takes minutes and blocks no statement; a
 * host runs it now and then, beside the service. Without it such scopes are searched exactly, which is slower.
 */
export const indexVectors = (options: PostgresOptions): Effect.Effect<ReadonlyArray<number>, StoreUnavailable> =>
  PgClient.PgClient.use((client) => buildVectorIndexes(client, nameOf(options))).pipe(
    Effect.provide(migrationClient(options))
  )

/**
 * Brings a schema up to date and ends, with room for vectors where the extension is there: for a deployment that migrates before it starts.
 * Needs no kernel.
 */
export const migrate = (options: PostgresOptions): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  PgClient.PgClient.use((client) =>
    Effect.flatMap(openSchema(client, { ...options, migrate: true }), (database) => openVectors(database, true))
  ).pipe(Effect.asVoid, Effect.provide(migrationClient(options)))

/**
 * A key that is made once and kept in the schema, so that all processes of a service sign with the same one: the `signingKey` of the HTTP
 * handler, for a host that has no place of its own for secrets. Whatever can read the database can sign.
 */
export const signingKey = (
  options: PostgresOptions
): Effect.Effect<Redacted.Redacted<string>, SchemaRefused | StoreUnavailable> =>
  PgClient.PgClient.use((client) =>
    Effect.flatMap(openSchema(client, options), ({ query, schema }) =>
      Effect.gen(function* () {
        const made = randomBytes(32).toString("base64url")
        yield* query(
          "signingKey.make",
          `insert into ${schema}.secrets (owner, name, value) values ('', 'signing', $1) on conflict do nothing`,
          [made]
        )
        const [kept] = yield* query<{ readonly value: string }>(
          "signingKey.read",
          `select value from ${schema}.secrets where owner = '' and name = 'signing'`,
          []
        )
        return Redacted.make(kept?.value ?? made)
      })
    )
  ).pipe(Effect.provide(migrationClient(options)))

const makeStores = (
  database: Database,
  keepsVectors: boolean,
  hintOptions: HintOptions,
  histories: KnownHistories
): Effect.Effect<Context.Context<Stores>, never, Scope.Scope> =>
  Effect.map(makeRunHints(hintOptions), (hints) =>
    Context.make(Ports.AssistantStore, assistantStore(database)).pipe(
      Context.add(Ports.FollowUpStore, followUpStore(database)),
      Context.add(BlobStore, blobStore(database)),
      Context.add(ChunkIndex, chunkIndex(database, keepsVectors)),
      Context.add(DocumentStore, documentStore(database)),
      Context.add(Ports.KeyStore, keyStore(database)),
      Context.add(MemoryStore, memoryStore(database, keepsVectors)),
      Context.add(OutcomeStore, outcomeStore(database)),
      Context.add(RetentionStore, retentionStore(database)),
      Context.add(Ports.RunStore, runStore(database, hints, histories)),
      Context.add(SessionStore, sessionStore(database)),
      Context.add(Ports.ThreadStore, threadStore(database, histories)),
      Context.add(TicketStore, ticketStore(database)),
      Context.add(Ports.UsageLedger, usageLedger(database))
    )
  )

/** The schema on the host's client, once it is as this version needs it. */
const openSchema = (
  client: PgClient.PgClient,
  options: StoreOptions
): Effect.Effect<Database, SchemaRefused | StoreUnavailable> =>
  Effect.map(prepareSchema(client, options), () => databaseOfClient(client, nameOf(options), timeoutOf(options)))

const prepareSchema = (
  client: PgClient.PgClient,
  options: StoreOptions
): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.suspend(() =>
    options.migrate === false ? checkSchema(client, nameOf(options)) : migrateSchema(client, nameOf(options))
  )

const nameOf = ({ schema = "colloquy" }: StoreOptions): string => checkSchemaName(schema)

const timeoutOf = ({ timeout = "10 seconds" }: StoreOptions): Duration.Input => timeout

/** One connection, opened with the first statement, so that the client cannot fail to be made. */
const migrationClient = (options: PgClient.PgPoolConfig): Layer.Layer<PgClient.PgClient> =>
  PgClient.layerFrom(
    Effect.orDie(PgClient.make({ ...options, minConnections: 0, maxConnections: 1, multiplex: false }))
  )

/** A session apart from the pool, because listening holds it as long as the layer lives. */
const listenOver = (options: StoreOptions & PgConnection.Config, schema: string): Listen | null =>
  options.notifications === false
    ? null
    : Effect.flatMap(PgConnection.make({ ...options, multiplex: false }), (session) =>
        session.listen(channelOf(schema))
      )

/** A client over a stream or a pool of its own knows better how to listen. */
const listenBeside = (client: PgClient.PgClient, options: StoreOptions): Listen | null =>
  options.notifications !== false && (client.config.stream !== undefined || client.driver === poolDriver)
    ? client.listen(channelOf(nameOf(options)))
    : listenOver({ ...client.config, ...options }, nameOf(options))
