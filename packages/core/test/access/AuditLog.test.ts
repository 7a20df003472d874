import { Assistants, AuditLog, KeyId, Keys, Principal, StoreUnavailable } from "@colloquy/core"
import { AuditStore, KeyStore } from "@colloquy/core/adapters"
import { InMemory } from "@colloquy/adapters/in-memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { failureFrom, story } from "../support/Story.ts"

const acts = Effect.map(
  AuditLog.use((log) => log.list({ limit: 100 })),
  (entries) => entries.map(({ action, fields, subject }) => [action, subject, fields.join()]).toReversed()
)

describe("the audit log", () => {
  story(
    "tells which keys were made and revoked, and which assistants were changed, without what was written into them",
    [],
    Effect.gen(function* () {
      const [keys, assistants] = [yield* Keys, yield* Assistants]
      const { summary } = yield* keys.make("laptop")
      const made = yield* assistants.create({ name: "Guide", systemPrompt: "The word is mango." })
      yield* assistants.update(made.id, { systemPrompt: "The word is papaya." })
      const { assistant: copy } = yield* assistants.clone(made.id, {})
      yield* assistants.remove(copy.id)
      yield* keys.revoke(summary.id)
      assert.deepStrictEqual(yield* acts, [
        ["key_made", summary.id, ""],
        ["assistant_created", made.id, ""],
        ["assistant_updated", made.id, "description,systemPrompt"],
        ["assistant_created", copy.id, ""],
        ["assistant_deleted", copy.id, ""],
        ["key_revoked", summary.id, ""]
      ])
      const all = JSON.stringify(yield* (yield* AuditLog).list({ limit: 100 }))
      for (const content of ["mango", "papaya", "Guide", "laptop"]) assert.notInclude(all, content)
      assert.deepStrictEqual(yield* Principal.provide("bob")(acts), [])
    })
  )

  story(
    "has no entry for what was refused",
    [],
    Effect.gen(function* () {
      const [keys, assistants] = [yield* Keys, yield* Assistants]
      const made = yield* assistants.create({ name: "Guide" })
      const before = yield* acts
      const bob = Principal.provide("bob")
      assert.strictEqual((yield* failureFrom(keys.revoke(KeyId.make("nobody's"))))._tag, "KeyNotFound")
      assert.strictEqual((yield* failureFrom(bob(assistants.remove(made.id))))._tag, "AssistantNotFound")
      assert.strictEqual((yield* failureFrom(bob(assistants.update(made.id, { name: "x" }))))._tag, "AssistantNotFound")
      const other = assistants.update(made.id, { embedding: { model: "another" } })
      assert.strictEqual((yield* failureFrom(other))._tag, "EmbeddingModelFixed")
      assert.deepStrictEqual([yield* acts, yield* bob(acts)], [before, []])
    })
  )

  it.effect("names the key with which the request came", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { key, summary } = yield* Principal.provide("ada")(keys.make("laptop"))
      const principal = yield* keys.authenticate(key)
      yield* Effect.provideService(keys.make("second"), Principal, principal)
      const entries = yield* Effect.provideService((yield* AuditStore).list({ limit: 10 }), Principal, principal)
      assert.deepStrictEqual(
        entries.map(({ keyId }) => keyId),
        [summary.id, null]
      )
    }).pipe(Effect.provide(Layer.provideMerge(Keys.layer, InMemory.layer)))
  )

  it.effect("comes first: when it cannot be written, nothing is done", () => {
    const broken = new StoreUnavailable({ operation: "AuditStore.append", cause: "down" })
    const log = Layer.succeed(AuditStore, { append: () => Effect.fail(broken), list: () => Effect.fail(broken) })
    return Effect.gen(function* () {
      const keys = yield* Keys
      assert.strictEqual((yield* failureFrom(keys.make("laptop")))._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* (yield* KeyStore).list, [])
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(Keys.layer.pipe(Layer.provideMerge(Layer.merge(InMemory.layer, log))))
    )
  })
})
