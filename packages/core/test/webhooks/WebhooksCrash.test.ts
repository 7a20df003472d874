/** The process dies at every write of a turn and of the delivery of its event: what ended is told at least once, always with the same id. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, Inbox, Kernel, Principal, Providers, Turns } from "@colloquy/core"
import { type WebhookRequest, Webhooks, WebhookSecrets, WebhookSender } from "@colloquy/core/webhooks"
import { WebhookStore } from "@colloquy/core/wings"
import { Crash, say, ScriptedModel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { quiet } from "../support/Story.ts"
import { loopTurn } from "../../../../test/until.ts"

/** The writes of the wing's store are writes of the process too. */
const mortalWebhooks = (doom: Crash.Doom, state: InMemory.State) =>
  Layer.effect(
    WebhookStore,
    WebhookStore.useSync((store) => ({
      ...store,
      insertDelivery: (...args) => doom.write(store.insertDelivery(...args)),
      record: (...args) => doom.write(store.record(...args))
    }))
  ).pipe(Layer.provide(InMemory.layerFrom(state)))

/** The receiver refuses the first request of all. A process that is dead sends nothing. */
const ports = (doom: Crash.Doom, sent: Array<WebhookRequest>) =>
  Layer.merge(
    Layer.succeed(WebhookSecrets, {
      seal: (secret) => Effect.succeed(Redacted.value(secret)),
      open: (sealed) => Effect.succeed(Redacted.make(sealed))
    }),
    Layer.succeed(WebhookSender, {
      problem: () => null,
      send: (request) => Effect.sync(() => (doom.isDead() ? 0 : sent.push(request) === 1 ? 500 : 204))
    })
  )

const openProcess = (doom: Crash.Doom, state: InMemory.State, sent: Array<WebhookRequest>) =>
  Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Webhooks.layer().pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.provide([
          ports(doom, sent),
          Providers.layer({ providers: [doom.provider(provider)], defaults: { provider: provider.id, model: "m" } }),
          doom.stores(InMemory.layerFrom(state)),
          mortalWebhooks(doom, state)
        ])
      )
    )
  ).pipe(Layer.provide(ScriptedModel.layer([], { otherwise: say("Done.") })), Layer.fresh)

/** Virtual seconds. Signing takes real time: between them the platform digests as often as a delivery does. */
const pass = (seconds: number) =>
  Effect.forEach(
    Array.from({ length: seconds }),
    () =>
      Effect.andThen(
        TestClock.adjust("1 second"),
        Effect.promise(async () => {
          for (let digest = 0; digest < 5; digest++) await globalThis.crypto.subtle.digest("SHA-256", new Uint8Array(8))
          await loopTurn()
        })
      ),
    { discard: true }
  )

const livesAndDies = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
  const state = InMemory.makeState()
  const sent: Array<WebhookRequest> = []
  const { assistantId, id } = yield* Effect.gen(function* () {
    const events = ["run.completed", "run.failed"] as const
    const { webhook } = yield* (yield* Webhooks).create({ url: "https://a.example", events })
    return { id: webhook.id, assistantId: (yield* (yield* Assistants).create({ name: "A" })).id }
  }).pipe(Effect.provide(openProcess(yield* Crash.make(), state, sent)))

  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(openProcess(doom, state, sent), scope)
  const turn = Turns.use((turns) => turns.send({ assistantId, content: "Work" }))
  yield* Effect.forkChild(Effect.provide(turn, context))
  yield* pass(20)
  const writes = doom.writes()
  doom.kill()
  yield* doom.bury
  yield* Effect.forkChild(Scope.close(scope, Exit.void))

  return yield* Effect.gen(function* () {
    for (let round = 0; ; round++) {
      yield* pass(10)
      const { runs } = yield* (yield* Inbox).list({ limit: 10 })
      const { deliveries } = yield* (yield* Webhooks).deliveries(id, { limit: 10 })
      const isTold = deliveries.length === 1 && deliveries[0]?.status !== "pending"
      if (isTold || round === 30) return { writes, runs, sent, deliveries }
    }
  }).pipe(Effect.provide(openProcess(yield* Crash.make(), state, sent)))
})

const told = (point: Crash.CrashPoint) =>
  livesAndDies(point).pipe(Principal.provide("ada"), Effect.provide([TestClock.layer(), quiet]))

it.live("a process that dies at any write of a turn or of its delivery loses no event, and tells it with one id", () =>
  Effect.gen(function* () {
    const { writes } = yield* told({})
    assert.isAbove(writes, 7)
    let begun = 0
    for (let at = 1; at <= writes; at++) {
      for (const hears of [false, true]) {
        const { deliveries, runs, sent } = yield* told({ at, hears })
        const place = `write ${at} of ${writes}, hears: ${hears}`
        assert.deepStrictEqual(
          deliveries.map(({ status, type }) => `${type} ${status}`),
          runs.map(({ status }) => (status === "COMPLETED" ? "run.completed delivered" : "run.failed delivered")),
          place
        )
        // It died before the turn had begun.
        if (runs.length === 0) continue
        begun++
        assert.include(["COMPLETED", "FAILED"], runs[0]?.status, place)
        // The one that was refused, and at least one more.
        assert.isAtLeast(sent.length, 2, place)
        const bytes = sent.map(({ body, headers }) => `${headers["webhook-id"]} ${body}`)
        assert.strictEqual(new Set(bytes).size, 1, place)
        assert.strictEqual(sent[0]?.headers["webhook-id"], deliveries[0]?.eventId, place)
      }
    }
    assert.isAtLeast(begun, 2 * (writes - 2))
  })
)
