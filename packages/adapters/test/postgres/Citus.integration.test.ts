/** The contract of every storage port on Citus: the tables of each schema are distributed by owner over the workers of a coordinator. */
import {
  auditStoreSuite,
  blobStoreSuite,
  chunkIndexSuite,
  documentStoreSuite,
  evalStoreSuite,
  followUpStoreSuite,
  memoryStoreSuite,
  outcomeStoreSuite,
  providerKeysSuite,
  rateLimiterSuite,
  realtimeSuite,
  retentionStoreSuite,
  scheduleStoreSuite,
  storageSuite,
  webhookStoreSuite
} from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onCitus } from "../../../../test/databases.ts"
import { changeInOrder, distributeTables } from "../../src/postgres/Citus.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { migrate } from "../../src/postgres/Migrations.ts"
import { schemaOfThisVersion } from "../../src/postgres/schema/Schema.ts"
import { longTextSuite } from "./LongTexts.ts"
import { hostClient, onScratchSchema, scratchSchema } from "./Scratch.ts"

/** What docs/scale.md tells to set. */
const settings = ["citus.enable_unsafe_triggers = on", "citus.allow_nested_distributed_execution = on"]

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
