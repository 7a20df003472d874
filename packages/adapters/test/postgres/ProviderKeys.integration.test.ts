/** Customers' own keys for providers: found by their owner alone, and unreadable in the database. */
import { OwnerId, Principal, ProviderKeys } from "@colloquy/core"
import { providerKeysSuite, type PutKey } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

const keysUnder = (secret: string) => Postgres.layerProviderKeys({ secret: Redacted.make(secret) })
const as = (owner: string) => Effect.provideService(Principal, { ownerId: OwnerId.make(owner) })
const found = Effect.flatMap(ProviderKeys, ({ find }) => find("openai"))

const put: PutKey<Postgres.ProviderKeyVault> = (provider, key) =>
  Postgres.ProviderKeyVault.use((vault) => vault.put(provider, key))

onPostgres((url) => {
  providerKeysSuite(
    "Postgres: ProviderKeys",
    onScratchSchema(url, (schema) =>
      Postgres.layerProviderKeys({ secret: Redacted.make("a secret"), schema }).pipe(Layer.provide(hostClient(url)))
    ),
    put
  )
})

onEmbedded("PGlite", () => {
  providerKeysSuite("PGlite: ProviderKeys", Layer.provideMerge(keysUnder("a secret"), Pglite.layerClient()), put)

  it.live("a key is its owner's, encrypted, and bound to its place", () =>
    Effect.gen(function* () {
      const vault = yield* Postgres.ProviderKeyVault
      assert.isNull(yield* as("ada")(found))
      yield* as("ada")(vault.put("openai", Redacted.make("first")))
      yield* as("ada")(vault.put("openai", Redacted.make("second")))
      const key = yield* as("ada")(found)
      assert.strictEqual(key === null ? null : Redacted.value(key), "second")
      assert.isNull(yield* as("bob")(found))
      assert.deepStrictEqual(yield* as("ada")(vault.list), ["openai"])

      yield* as("ada")(vault.put("mcp:files", Redacted.make("tokens")))
      const other = yield* as("ada")(vault.find("mcp:files"))
      assert.strictEqual(other === null ? null : Redacted.value(other), "tokens")
      assert.isNull(yield* as("bob")(vault.find("mcp:files")))
      assert.deepStrictEqual(yield* as("ada")(vault.list), ["openai"], "other secrets are no keys of providers")
      assert.isTrue(yield* as("ada")(vault.remove("mcp:files")))

      const client = yield* PgClient
      const rows = yield* client<{ readonly sealed: Uint8Array }>`select sealed from colloquy.provider_keys`
      assert.notInclude(Buffer.from(rows[0]?.sealed ?? []).toString("latin1"), "second")
      yield* client`insert into colloquy.provider_keys select 'bob', provider, sealed from colloquy.provider_keys`
      assert.isTrue(Exit.isFailure(yield* Effect.exit(as("bob")(found))), "copied to another owner, it does not open")
      assert.isTrue(
        Exit.isFailure(yield* Effect.exit(as("ada")(found).pipe(Effect.provide(keysUnder("another secret")))))
      )

      assert.isTrue(yield* as("ada")(vault.remove("openai")))
      assert.isFalse(yield* as("ada")(vault.remove("openai")))
      assert.isNull(yield* as("ada")(found))
    }).pipe(Effect.provide(Layer.provideMerge(keysUnder("a secret"), Pglite.layerClient())))
  )

  it.live("keys of an earlier secret are read, and sealed again under the present one", () =>
    Effect.gen(function* () {
      const secrets = { first: Redacted.make("the first"), second: Redacted.make("the second") }
      const old = Postgres.layerProviderKeys({ secret: secrets.first })
      const both = Postgres.layerProviderKeys({ secret: secrets.second, earlierSecrets: [secrets.first] })
      const present = Postgres.layerProviderKeys({ secret: secrets.second })
      const reseal = Postgres.ProviderKeyVault.use((vault) => vault.reseal)
      const keyText = (owner: string) =>
        Effect.map(as(owner)(found), (key) => (key === null ? null : Redacted.value(key)))
      const owners = Array.from({ length: 120 }, (_, index) => `owner ${index}`)
      for (const owner of owners) {
        yield* as(owner)(put("openai", Redacted.make(`key of ${owner}`))).pipe(Effect.provide(old))
      }
      yield* as("late")(put("openai", Redacted.make("key of late"))).pipe(Effect.provide(present))
      assert.strictEqual(yield* Effect.provide(keyText("owner 7"), both), "key of owner 7")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.provide(keyText("owner 7"), present))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.provide(reseal, present))))
      assert.strictEqual(yield* Effect.provide(reseal, both), 120)
      assert.strictEqual(yield* Effect.provide(reseal, both), 0)
      for (const owner of ["owner 0", "owner 119", "late"]) {
        assert.strictEqual(yield* Effect.provide(keyText(owner), present), `key of ${owner}`)
      }
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.provide(keyText("owner 7"), old))))
    }).pipe(Effect.provide(Pglite.layerClient()))
  )
})
