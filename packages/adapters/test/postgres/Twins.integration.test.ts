/** Cases in which the stores in memory and those on PostgreSQL must answer alike. */
import type { Principal } from "@colloquy/core"
import { AssistantStore, QuotaStore, ThreadStore } from "@colloquy/core/adapters"
import { asNewOwner, openThread, sampleAssistant, settleTurn, startTurn } from "@colloquy/testing/contracts"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onEmbedded, oneDatabase, onPostgres } from "../../../../test/databases.ts"
import { InMemory } from "../../src/in-memory/index.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import type { Stores } from "../../src/Stores.ts"
import { onScratchSchema } from "./Scratch.ts"

const suite = (stores: Layer.Layer<Stores, unknown>) => {
  const opened = oneDatabase(stores)
  const same = <A, E>(name: string, story: () => Effect.Effect<A, E, Stores | Principal>) =>
    it.live(name, () => story().pipe(asNewOwner, Effect.provide(opened)))

  same("as many messages of a thread as there are, however many were wanted", () =>
    Effect.gen(function* () {
      const thread = yield* openThread
      yield* Effect.flatMap(startTurn(thread.id), (turn) => settleTurn(turn))
      const store = yield* ThreadStore
      for (const many of [2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])
        assert.lengthOf(yield* store.messagesBefore(thread.id, many, many), 2)
    })
  )

  same("a run that was deleted while another assistant had the thread is charged to the thread's own assistant", () =>
    Effect.gen(function* () {
      const thread = yield* openThread
      const acting = yield* sampleAssistant()
      yield* (yield* AssistantStore).insert(acting)
      yield* (yield* ThreadStore).handOver(thread.id, acting.id)
      const turn = yield* startTurn(thread.id)
      yield* (yield* ThreadStore).remove(thread.id)
      const usage = {
        inputTokens: 3,
        outputTokens: 4,
        cachedInputTokens: 0,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
        costUsd: 1,
        estimated: false
      }
      const charges = [{ provider: "p", model: "m", purpose: "turn", usage }]
      assert.strictEqual(yield* settleTurn(turn, { usage, charges }), "deleted")
      const quotas = yield* QuotaStore
      const used = (assistantId: typeof acting.id) =>
        Effect.map(
          quotas.used({
            assistantId,
            assumedPrices: null,
            day: new Date().toISOString().slice(0, 10),
            requestsPerMinute: null,
            turnsPerMinute: null
          }),
          ({ inputTokens }) => inputTokens
        )
      assert.deepStrictEqual([yield* used(thread.assistantId), yield* used(acting.id)], [3, 0])
    })
  )
}

onEmbedded("in-memory", () => suite(InMemory.layer))
onEmbedded("PGlite", () => suite(Pglite.layer()))
onPostgres((url) => suite(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))))
