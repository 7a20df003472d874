/**
 * Every storage port on PostgreSQL. `layer` opens a pool of its own. `layerFromClient` uses a client that the host has opened, also inside
 * the host's transactions, and does not close it; `layerFromPool` does the same with a `pg.Pool`. Each of them brings the schema up to
 * date when it starts, unless `migrate` is false.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { type OwnerId, RateLimiter, type StoreUnavailable } from "@colloquy/core"
import * as Ports from "@colloquy/core/adapters"
import {
  BlobStore,
  ChunkIndex,
  DocumentStore,
  EvalStore,
  MemoryStore,
  OutcomeStore,
  RetentionStore,
  ScheduleStore,
  SealedSecretStore,
  SessionStore,
  TicketStore,
  WebhookStore
} from "@colloquy/core/wings"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { randomBytes } from "node:crypto"
import type { Stores } from "../Stores.ts"
import { isDistributed, overCitus } from "./Citus.ts"
import { makeConnections } from "./Connections.ts"
import { hasJoined, type HostPool, layerClientOfPool, poolDriver } from "./PoolClient.ts"
import type { Pool } from "./PoolTypes.ts"
import { type Database, databaseOfClient, databaseOver } from "./Database.ts"
import { KnownHistories } from "./KnownHistories.ts"
import { checkSchema, distribute as distributeSchema, migrate as migrateSchema } from "./Migrations.ts"
import { channelName, checkSchemaName } from "./Names.ts"
import * as OwnerMove from "./OwnerMove.ts"
import { assistantStore } from "./PostgresAssistantStore.ts"
import { auditStore } from "./PostgresAuditStore.ts"
import { followUpStore } from "./PostgresFollowUpStore.ts"
import { blobStore } from "./PostgresBlobStore.ts"
import { documentStore } from "./PostgresDocumentStore.ts"
import { inboxStore } from "./PostgresInboxStore.ts"
import { keyStore } from "./PostgresKeyStore.ts"
import { outcomeStore } from "./PostgresOutcomeStore.ts"
import { chunkIndex, openVectors, withoutExtension } from "./PostgresChunkIndex.ts"
import { memoryStore } from "./PostgresMemoryStore.ts"
import { makeProviderKeys, type ProviderKeyVault } from "./PostgresProviderKeys.ts"
import { ownerStore } from "./PostgresOwnerStore.ts"
import { quotaStore } from "./PostgresQuotaStore.ts"
import { rateLimiter } from "./PostgresRateLimiter.ts"
import { retentionStore } from "./PostgresRetentionStore.ts"
import { runStore } from "./PostgresRunStore.ts"
import { evalStore } from "./PostgresEvalStore.ts"
import { scheduleStore } from "./PostgresScheduleStore.ts"
import { sealedSecretStore } from "./PostgresSealedSecretStore.ts"
import { sessionStore } from "./PostgresSessionStore.ts"
import { ticketStore } from "./PostgresTicketStore.ts"
import { threadStore } from "./PostgresThreadStore.ts"
import { webhookStore } from "./PostgresWebhookStore.ts"
import { usageLedger } from "./PostgresUsageLedger.ts"
import { makePresence, noPresence, type Presence, watchPresence } from "./Presence.ts"
import { quietSockets } from "./QuietSocket.ts"
import { type HintOptions, type Listen, makeRunHints } from "./RunHints.ts"
import { watchLeftovers } from "./Removals.ts"
import type { SchemaRefused } from "./SchemaHistory.ts"
import { guard } from "./StoreFault.ts"
import { buildVectorIndexes } from "./VectorIndexes.ts"

export type { Stores }
export { HostPool, joinTransaction, layerClientOfPool } from "./PoolClient.ts"
export type { Pool, PoolConnection } from "./PoolTypes.ts"
export { ProviderKeyVault } from "./PostgresProviderKeys.ts"
export { OwnerNotMoved } from "./OwnerMove.ts"
export { SchemaRefused } from "./SchemaHistory.ts"

/** The schema of the tables, and whether the stores migrate it and listen for notifications. */
export interface StoreOptions {
  /** The schema that holds the tables. It is created if it does not exist. Default `colloquy`. */
  readonly schema?: string
  /** True (default): the start brings the schema up to date. False: the start fails when the schema is not up to date. */
  readonly migrate?: boolean
  /** Listen for changes that other processes make, on one more connection. Default true. Without it the kernel polls the database. */
  readonly notifications?: boolean
  /** How long a statement may take, including the wait for a free connection. Default ten seconds. */
  readonly timeout?: Duration.Input
}

/** The address of the database, and how many connections may be open (`maxConnections`, default 10). */
export interface PostgresOptions extends StoreOptions, PgClient.PgPoolConfig {
  /**
   * The size, in characters, of a cache for the histories of threads. With a cached history the next turn of the thread does not read it from
   * the database. Default 8 million, which need about 20 MB of memory when the cache is full; 0 turns the cache off.
   */
  readonly keptHistories?: number
  /** False: open connections do not keep the process alive. `colloquy` sets this, and keeps it alive while something is under way. */
  readonly keepsProcess?: boolean
}

/** The stores, on connections that this layer opens and closes. */
export const layer = (given: PostgresOptions): Layer.Layer<Stores, SchemaRefused | StoreUnavailable> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const options =
        given.keepsProcess === false && given.stream === undefined ? { ...given, ...quietSockets(given) } : given
      const schema = schemaName(options)
      const { distributed, keepsVectors } = yield* Effect.provide(
        PgClient.PgClient.use((client) =>
          Effect.flatMap(openSchema(client, options), (database) =>
            Effect.map(keepVectors(options)(database), (keeps) => ({
              distributed: database.distributed,
              keepsVectors: keeps
            }))
          )
        ),
        migrationClient(options)
      )
      const connections = yield* makeConnections(options, storeTimeout(options))
      const histories = new KnownHistories(options.keptHistories ?? 8_000_000)
      const presence = makePresence()
      const listen = listenOver(options, schema, presence)
      const hints: HintOptions = { listen, whenWritten: (effect) => effect }
      const database = onNodes(databaseOver(connections, schema), distributed)
      return yield* makeStores(database, keepsVectors, hints, histories, presence)
    })
  )

/** The stores, on the host's client. */
export const layerFromClient = (
  options: StoreOptions = {}
): Layer.Layer<Stores, SchemaRefused | StoreUnavailable, PgClient.PgClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const client = yield* PgClient.PgClient
      const database = yield* openSchema(client, options)
      const hints: HintOptions = {
        listen: listenBeside(client, options),
        // In a transaction that only the host ends, no local hint is given: the database notifies this process after the commit.
        whenWritten: (effect) =>
          Effect.flatMap(hasJoined(client), (joined) => (joined ? Effect.void : client.afterCommit(effect)))
      }
      // The host may roll back what was written in its transaction, so no history is cached.
      return yield* makeStores(database, yield* keepVectors(options)(database), hints, new KnownHistories(0))
    })
  )

/**
 * The stores, on the host's `pg.Pool`. The layer also provides what `joinTransaction` needs (`HostPool`) and the client that the other layers
 * of this module need. One connection of the pool listens for notifications, unless the pool has only one connection.
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
 * The keys for providers that customers bring themselves. The kernel reads them (`ProviderKeys`), and the host's settings page manages them
 * (`ProviderKeyVault`). They are encrypted with the host's secret; if the host loses the secret, nobody can read them any more.
 */
export const layerProviderKeys = (
  options: StoreOptions & {
    readonly secret: Redacted.Redacted<string>
    /** Secrets that were used before, for keys that are still encrypted under them (`ProviderKeyVault.reseal`). */
    readonly earlierSecrets?: ReadonlyArray<Redacted.Redacted<string>>
  }
): Layer.Layer<ProviderKeyVault, SchemaRefused | StoreUnavailable, PgClient.PgClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const database = yield* openSchema(yield* PgClient.PgClient, options)
      return yield* makeProviderKeys(database, options.secret, options.earlierSecrets ?? [])
    })
  )

/** A `RateLimiter` whose limits hold for all processes on this database together. */
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

/** Only the index of chunks, for a host that does not use the other stores. It logs a warning when the database cannot store vectors. */
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

/** Vectors need the extension pgvector. The start creates it, unless `migrate` is false. Without the extension, search is by words only. */
const keepVectors = (options: StoreOptions) => (database: Database) => openVectors(database, options.migrate !== false)

/**
 * Builds an index of vectors for each vector length of which a scope has more than 10,000 chunks, and returns these lengths. Building takes
 * minutes and blocks no other statement; a host calls this from time to time while the service runs. Without an index such scopes are
 * searched exactly, which is slower.
 */
export const indexVectors = (options: PostgresOptions): Effect.Effect<ReadonlyArray<number>, StoreUnavailable> =>
  PgClient.PgClient.use((client) => buildVectorIndexes(client, schemaName(options))).pipe(
    Effect.provide(migrationClient(options))
  )

/**
 * Brings the schema up to date, including the table for vectors if the extension pgvector is available, and then ends. It is for deployments
 * that migrate before they start the service. It needs no kernel.
 */
export const migrate = (options: PostgresOptions): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  PgClient.PgClient.use((client) =>
    Effect.flatMap(openSchema(client, { ...options, migrate: true }), (database) => openVectors(database, true))
  ).pipe(Effect.asVoid, Effect.provide(migrationClient(options)))

/**
 * Distributes the tables of the schema over the nodes of Citus, by owner; it brings the schema up to date first. Existing rows are moved;
 * nobody can write meanwhile. Every kernel that opens the schema afterwards finds it distributed. A repeated call changes nothing.
 */
export const distribute = (options: PostgresOptions): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.andThen(
    migrate(options),
    Effect.provide(
      PgClient.PgClient.use((client) => distributeSchema(client, schemaName(options))),
      migrationClient(options)
    )
  )

/** A move of an owner, see `moveOwner`. */
export interface MoveOptions<E, R> {
  readonly owner: OwnerId
  readonly from: PostgresOptions
  readonly to: PostgresOptions
  /** Runs when the other database has everything: tell all processes to send the requests of this owner there. */
  readonly arrived: Effect.Effect<void, E, R>
  /** How long the owner's running work may take to end; the owner stays if it takes longer. Default one minute. */
  readonly patience?: Duration.Input
}

/**
 * Moves everything of an owner to another database, while kernels work on both. From its beginning on new runs of this owner are refused as
 * `StoreUnavailable`, and from the end of its running work on all its writes, until `arrived` has ended. A move that was cut off is repeated.
 * `removeMoved` deletes the old rows. See docs/scale.md.
 */
export const moveOwner = <E, R>({
  arrived,
  from,
  owner,
  patience = "1 minute",
  to
}: MoveOptions<E, R>): Effect.Effect<void, OwnerMove.OwnerNotMoved | SchemaRefused | StoreUnavailable | E, R> =>
  Effect.scoped(
    Effect.flatMap(Effect.all({ from: openSide(from), to: openSide(to) }), (sides) =>
      OwnerMove.moveOwner({ ownerId: owner, ...sides, arrived, patience: Duration.fromInputUnsafe(patience) })
    )
  )

/**
 * Deletes the rows of owners who have moved to another database more than `age` ago. Default five minutes: requests that began before the move
 * may still look for them.
 */
export const removeMoved = (
  options: PostgresOptions & { readonly age?: Duration.Input }
): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.scoped(
    Effect.flatMap(openSide(options), (side) =>
      OwnerMove.removeMoved(side, Duration.fromInputUnsafe(options.age ?? "5 minutes"))
    )
  )

const openSide = (
  options: PostgresOptions
): Effect.Effect<OwnerMove.MoveSide, SchemaRefused | StoreUnavailable, Scope.Scope> =>
  Effect.flatMap(Layer.build(migrationClient(options)), (context) => {
    const client = Context.get(context, PgClient.PgClient)
    return Effect.as(prepareSchema(client, options), { client, schema: schemaName(options) })
  })

/**
 * A random key that is created once and stored in the schema, so that all processes of a service sign links with the same key. A host that
 * has no other place for secrets passes it to the HTTP handler as `signingKey`. Everyone who can read the database can sign with it.
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
  histories: KnownHistories,
  presence: Presence = noPresence
): Effect.Effect<Context.Context<Stores>, never, Scope.Scope> =>
  Effect.map(
    Effect.tap(makeRunHints(hintOptions), (hints) =>
      Effect.andThen(
        watchLeftovers(database),
        presence === noPresence ? Effect.void : watchPresence(database, presence, hints)
      )
    ),
    (hints) =>
      Context.add(
        Context.make(Ports.AssistantStore, assistantStore(database)),
        Ports.AuditStore,
        auditStore(database)
      ).pipe(
        Context.add(Ports.FollowUpStore, followUpStore(database, presence)),
        Context.add(BlobStore, blobStore(database)),
        Context.add(ChunkIndex, chunkIndex(database, keepsVectors)),
        Context.add(DocumentStore, documentStore(database)),
        Context.add(Ports.InboxStore, inboxStore(database)),
        Context.add(Ports.KeyStore, keyStore(database)),
        Context.add(MemoryStore, memoryStore(database, keepsVectors)),
        Context.add(OutcomeStore, outcomeStore(database)),
        Context.add(RetentionStore, retentionStore(database)),
        Context.add(Ports.OwnerStore, ownerStore(database)),
        Context.add(Ports.QuotaStore, quotaStore(database)),
        Context.add(Ports.RunStore, runStore(database, hints, histories, presence)),
        Context.add(EvalStore, evalStore(database)),
        Context.add(ScheduleStore, scheduleStore(database)),
        Context.add(SealedSecretStore, sealedSecretStore(database)),
        Context.add(SessionStore, sessionStore(database, presence)),
        Context.add(Ports.ThreadStore, threadStore(database, histories)),
        Context.add(TicketStore, ticketStore(database)),
        Context.add(WebhookStore, webhookStore(database)),
        Context.add(Ports.UsageLedger, usageLedger(database))
      )
  )

/** Prepares the schema, and returns it as a `Database` on the client. */
const openSchema = (
  client: PgClient.PgClient,
  options: StoreOptions
): Effect.Effect<Database, SchemaRefused | StoreUnavailable> =>
  Effect.map(
    Effect.andThen(
      prepareSchema(client, options),
      guard("Postgres.open")<boolean, never, never>(isDistributed(client, schemaName(options)))
    ),
    (distributed) => onNodes(databaseOfClient(client, schemaName(options), storeTimeout(options)), distributed)
  )

const onNodes = (database: Database, distributed: boolean): Database => (distributed ? overCitus(database) : database)

const prepareSchema = (
  client: PgClient.PgClient,
  options: StoreOptions
): Effect.Effect<void, SchemaRefused | StoreUnavailable> =>
  Effect.suspend(() =>
    options.migrate === false ? checkSchema(client, schemaName(options)) : migrateSchema(client, schemaName(options))
  )

const schemaName = ({ schema = "colloquy" }: StoreOptions): string => checkSchemaName(schema)

const storeTimeout = ({ timeout = "10 seconds" }: StoreOptions): Duration.Input => timeout

/** A client with one connection. The first statement opens the connection, so making the client cannot fail. */
const migrationClient = (options: PgClient.PgPoolConfig): Layer.Layer<PgClient.PgClient> =>
  PgClient.layerFrom(
    Effect.orDie(PgClient.make({ ...options, minConnections: 0, maxConnections: 1, multiplex: false }))
  )

/** Opens a connection outside of the pool, because listening needs it as long as the layer is open. */
const listenOver = (
  options: StoreOptions & PgConnection.Config,
  schema: string,
  { lockOn }: Presence = noPresence
): Listen | null =>
  options.notifications === false
    ? null
    : Effect.flatMap(
        Effect.tap(PgConnection.make({ keepAlive: "15 seconds", ...options, multiplex: false }), lockOn),
        (session) => session.listen(channelName(schema))
      )

/** A client on a custom stream or on the host's pool cannot be connected to by its configuration, so its own `listen` is used. */
const listenBeside = (client: PgClient.PgClient, options: StoreOptions): Listen | null =>
  options.notifications !== false && (client.config.stream !== undefined || client.driver === poolDriver)
    ? client.listen(channelName(schemaName(options)))
    : listenOver({ ...client.config, ...options }, schemaName(options))
