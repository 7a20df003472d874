/** The contract of every storage port on Citus: the tables of each schema are distributed by owner over the workers of a coordinator. */
import {
  auditStoreSuite,
  blobStoreSuite,
  chunkIndexSuite,
  documentStoreSuite,
  evalStoreSuite,
  expectTag,
  followUpStoreSuite,
  memoryStoreSuite,
  openThread,
  outcomeStoreSuite,
  providerKeysSuite,
  rateLimiterSuite,
  realtimeSuite,
  retentionStoreSuite,
  sampleBegin,
  sampleEvent,
  sampleSettlement,
  scheduleStoreSuite,
  storageSuite,
  storedMessages,
  webhookStoreSuite
} from "@colloquy/testing/contracts"
import { Principal, type RunId, StoreUnavailable } from "@colloquy/core"
import { RunStore } from "@colloquy/core/adapters"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import { readFile } from "node:fs/promises"
import { onCitus } from "../../../../test/databases.ts"
import { changeInOrder, distributeTables } from "../../src/postgres/Citus.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { migrate } from "../../src/postgres/Migrations.ts"
import { channelName } from "../../src/postgres/Names.ts"
import { schemaOfThisVersion } from "../../src/postgres/schema/Schema.ts"
import { longTextSuite } from "./LongTexts.ts"
import { type Observed, observedClient, observing } from "./ObservedClient.ts"
import { hostClient, onScratchSchema, scratchSchema } from "./Scratch.ts"

/** What docs/scale.md tells to set. */
const settings = ["citus.enable_unsafe_triggers = on", "citus.allow_nested_distributed_execution = on"]

class SchemaName extends Context.Service<SchemaName, string>()("test/SchemaName") {}

onCitus((url) => {
  const capabilities = { testClock: false, signals: true }
  const distributed = <A, E, R>(make: (schema: string) => Layer.Layer<A, E, R>) =>
    onScratchSchema(url, (schema) =>
      Layer.unwrap(Effect.as(Postgres.distribute({ url: Redacted.make(url), schema }), make(schema)))
    )
  const stores = distributed((schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  const onHostsClient = <A, E>(make: (schema: string) => Layer.Layer<A, E, PgClient>) =>
    Layer.provide(distributed(make), hostClient(url))

  it.live("has the settings of the guide", () =>
    Effect.gen(function* () {
      const client = yield* PgClient
      for (const line of settings) {
        const [name = "", value] = line.split(" = ")
        const [row] = yield* client.unsafe<{ readonly value: string }>(`select current_setting($1) as value`, [name])
        assert.strictEqual(row?.value, value, name)
      }
    }).pipe(Effect.provide(hostClient(url)))
  )

  it.live("a later version finds the schema distributed, and distributes the tables that it adds", () =>
    Effect.gen(function* () {
      const schema = yield* scratchSchema(url)
      const client = yield* PgClient
      const { functions, migrations } = schemaOfThisVersion
      const upTo = migrations.findIndex(({ tables }) => tables.includes("eval_online_scores"))
      yield* migrate(client, schema, { functions, migrations: migrations.slice(0, upTo) })
      yield* client.withTransaction(Effect.andThen(changeInOrder(client), distributeTables(client, schema)))
      const count = Effect.map(
        client.unsafe<{ readonly name: string }>(
          `select relname::text as name from pg_class c join pg_dist_partition p on p.logicalrelid = c.oid
           where c.relnamespace = $1::regnamespace`,
          [schema]
        ),
        (rows) => rows.map(({ name }) => name)
      )
      assert.notInclude(yield* count, "eval_online_scores")
      yield* Postgres.migrate({ url: Redacted.make(url), schema })
      assert.include(yield* count, "eval_online_scores")
    }).pipe(Effect.provide(hostClient(url)))
  )

  const observed: Observed = { roundTrips: 0, plans: [] }
  layer(
    distributed((schema) =>
      Layer.merge(Postgres.layerFromClient({ schema, notifications: false }), Layer.succeed(SchemaName, schema))
    ).pipe(Layer.provide(observedClient(url, observed, "sent"))),
    { excludeTestServices: true }
  )("the node of the owner", ({ effect }) => {
    /** Every statement that the coordinator sends for a run has the run's id; those of its background work do not. */
    const sentFor = <A, E, R>(runId: RunId, operation: Effect.Effect<A, E, R>) =>
      Effect.map(observing(observed, operation), ({ plans, value }) => ({
        value,
        functions: plans
          .filter((sent) => sent.includes(runId))
          .map((sent) => /\.([a-z_]+)_[0-9a-f]{10}\(/u.exec(sent)?.[1])
      }))

    effect("runs the functions of a turn: each is one statement that the coordinator sends, also a prepared one", () =>
      Effect.gen(function* () {
        const runs = yield* RunStore
        const thread = yield* openThread
        for (let turn = 0; turn < 8; turn++) {
          const begin = yield* sampleBegin(thread.id)
          const runId = begin.run.id
          const begun = yield* sentFor(runId, runs.begin(begin))
          assert.deepStrictEqual(begun.functions, ["read_begin_run"])
          const { lease } = expectTag(begun.value, "Started")
          const appended = yield* sentFor(runId, runs.append([{ lease, events: [sampleEvent(2)] }]))
          assert.deepStrictEqual(appended.functions, ["append_many"])
          assert.deepStrictEqual(appended.value, { lost: [], later: [] })
          const read = yield* sentFor(runId, runs.read(runId, 0))
          assert.deepStrictEqual(read.functions, ["read_log"])
          const leg = { runId, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
          const settled = yield* sentFor(
            runId,
            Effect.flatMap(sampleSettlement(leg), (end) => runs.settle(lease, end))
          )
          assert.deepStrictEqual(settled.functions, ["settle_run"])
        }
      }).pipe(Principal.provide("somebody"))
    )

    effect("lets those who listen on the coordinator know of changes", () =>
      Effect.gen(function* () {
        const runs = yield* RunStore
        const thread = yield* openThread
        const listener = Context.get(yield* Layer.build(hostClient(url)), PgClient)
        const heard = yield* listener.listen(channelName(yield* SchemaName))
        const next = Effect.map(Queue.take(heard), ({ payload }) => JSON.parse(payload))
        const begin = yield* sampleBegin(thread.id)
        const runId = begin.run.id
        const { lease } = expectTag(yield* runs.begin(begin), "Started")
        yield* runs.append([{ lease, events: [sampleEvent(2)] }])
        yield* runs.read(runId, 0)
        yield* runs.append([{ lease, events: [sampleEvent(3)] }])
        assert.deepStrictEqual(yield* next, { runId, threadId: thread.id, cancel: false }, "after it was read")
        yield* runs.requestCancel(runId, new Date(0))
        assert.deepStrictEqual(yield* next, { runId, threadId: thread.id, cancel: true })
        const leg = { runId, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
        yield* runs.settle(lease, yield* sampleSettlement(leg))
        assert.deepStrictEqual(yield* next, { runId, threadId: thread.id, cancel: false }, "at its end")
        assert.strictEqual(yield* Queue.size(heard), 0)
      }).pipe(Principal.provide("somebody"))
    )
  })

  /** The statement of the guide that gives an owner a shard of its own on another node. */
  const splitting = Effect.map(
    Effect.promise(() => readFile(new URL("../../../../docs/scale.md", import.meta.url), "utf8")),
    (guide) =>
      /```sql\n(with place as [^]*?)```/u.exec(guide)?.[1] ?? assert.fail("docs/scale.md has no such statement")
  )

  it.live(
    "an owner gets a shard of its own, and the shard moves, while the owner talks",
    () =>
      Effect.gen(function* () {
        const schema = yield* SchemaName
        const runs = yield* RunStore
        const client = yield* PgClient
        const placed = Effect.map(
          client.unsafe<{ readonly id: string; readonly owners: string; readonly port: number }>(
            `select s.shardid as id, (s.shardmaxvalue::bigint - s.shardminvalue::bigint + 1)::text as owners, n.nodeport as port
             from pg_dist_shard s join pg_dist_placement using (shardid) join pg_dist_node n using (groupid)
             where s.shardid = get_shard_id_for_distribution_column('${schema}.assistants', 'ada'::text)`
          ),
          ([row]) => row ?? assert.fail("no shard")
        )
        const thread = yield* openThread
        let turns = 0
        let isOver = false
        const again = Effect.retry({ while: (error: unknown) => error instanceof StoreUnavailable, times: 20 })
        const turn = Effect.gen(function* () {
          const begin = yield* sampleBegin(thread.id)
          const { lease } = expectTag(yield* again(runs.begin(begin)), "Started")
          const leg = { runId: begin.run.id, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
          assert.isTrue(yield* again(runs.settle(lease, yield* sampleSettlement(leg))))
          turns++
        })
        const talking = yield* Effect.forkScoped(Effect.repeat(turn, { until: () => isOver }))
        const beside = <A, E>(change: Effect.Effect<A, E>) => Effect.raceFirst(change, Fiber.join(talking))
        const before = yield* placed
        yield* beside(client.unsafe((yield* splitting).replaceAll("colloquy.", `${schema}.`)).unprepared)
        const own = yield* placed
        assert.strictEqual(own.owners, "1")
        assert.notStrictEqual(own.port, before.port)
        yield* beside(
          client.unsafe("select citus_move_shard_placement($1, '127.0.0.1', $2, '127.0.0.1', $3, 'force_logical')", [
            own.id,
            own.port,
            before.port
          ])
        )
        assert.strictEqual((yield* placed).port, before.port)
        isOver = true
        yield* Fiber.join(talking)
        const messages = yield* storedMessages(thread.id)
        assert.deepStrictEqual(
          messages.map(({ sequence }) => sequence),
          Array.from({ length: turns * 2 }, (_, index) => index + 1)
        )
      }).pipe(
        Effect.scoped,
        Principal.provide("ada"),
        Effect.provide(
          Layer.merge(
            distributed((schema) =>
              Layer.merge(Postgres.layer({ url: Redacted.make(url), schema }), Layer.succeed(SchemaName, schema))
            ),
            hostClient(url)
          )
        )
      ),
    300_000
  )

  storageSuite("Citus", stores, capabilities)
  followUpStoreSuite("Citus", stores, capabilities)
  longTextSuite("Citus, long texts", stores)
  retentionStoreSuite("Citus: RetentionStore", stores, capabilities)
  outcomeStoreSuite("Citus: OutcomeStore", stores)
  evalStoreSuite("Citus: EvalStore", stores)
  scheduleStoreSuite("Citus: ScheduleStore", stores)
  webhookStoreSuite("Citus: WebhookStore", stores)
  blobStoreSuite("Citus: BlobStore", stores)
  documentStoreSuite("Citus: DocumentStore", stores)
  memoryStoreSuite("Citus: MemoryStore", stores, { keepsVectors: true })
  realtimeSuite("Citus: voice sessions", stores, { testClock: false, signals: false })
  auditStoreSuite("Citus: AuditStore", stores)
  chunkIndexSuite(
    "Citus: ChunkIndex",
    onHostsClient((schema) => Postgres.layerChunkIndex({ schema })),
    { keepsVectors: true }
  )
  rateLimiterSuite(
    "Citus: RateLimiter",
    onHostsClient((schema) => Postgres.layerRateLimiter({ schema }))
  )
  providerKeysSuite(
    "Citus: ProviderKeys",
    onHostsClient((schema) => Postgres.layerProviderKeys({ secret: Redacted.make("a secret"), schema })),
    (provider, key) => Postgres.ProviderKeyVault.use((vault) => vault.put(provider, key))
  )
})
