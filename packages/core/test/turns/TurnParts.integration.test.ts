/** Three parts over real databases, registered in every order: the same reply, the same bill, the same follow-ups. */
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import { callTool, say, TestKernel } from "@colloquy/testing"
import { OwnerId, Principal, Threads, Turns } from "@colloquy/core"
import { firstPage, newId, type Stores, UsageLedger } from "@colloquy/core/adapters"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { weather } from "../support/Story.ts"
import { newDeeds, searchCost, toyOptions, toyOrders, toyParts } from "../support/ToyParts.ts"

const script = [callTool("find_more", {}, "h1"), callTool("weather", {}, "c1"), say("Rain", ", all day.")]

const wholeTurn = (stores: Layer.Layer<Stores>, order: (typeof toyOrders)[number]) =>
  Effect.gen(function* () {
    const deeds = newDeeds()
    const ownerId = yield* newId(OwnerId)
    const kernel = toyParts(deeds, order).pipe(Layer.provideMerge(TestKernel.layer(script, { stores })))
    yield* Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* turns.send({ content: "the weather", tools: [weather], options: toyOptions })
      const outputs = [{ toolCallId: "c1", output: "rain" }]
      const reply = yield* (yield* turns.submitToolOutputs({ threadId: first.threadId, outputs })).reply
      assert.deepInclude(reply, { status: "COMPLETED", content: "Rain, all day." })
      const kept = { finder: { found: "the weather" }, listener: { heard: "Rain, all day." } }
      assert.deepStrictEqual(reply.supplements, kept)
      assert.deepStrictEqual(deeds.recalled, [first.runId])

      const { messages, thread } = yield* (yield* Threads).get(first.threadId)
      assert.deepStrictEqual(thread.metadata, { last_search: first.runId })
      assert.deepStrictEqual(messages[0]?.supplements, { finder: { value: { asked: true } } })
      const prompt = [
        {
          name: "excerpts",
          intro: "Material:",
          items: [{ text: "about the weather", rank: 0 }],
          place: "turn",
          weight: 1
        }
      ]
      assert.deepStrictEqual(messages[1]?.supplements, {
        finder: { value: { found: "the weather" }, prompt },
        listener: { value: { heard: "" } }
      })
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.strictEqual(days.find(({ purpose }) => purpose === "search")?.usage.costUsd, 2 * searchCost)
      // The follow-up is claimed by this process, at the latest at its next look.
      yield* Effect.suspend(() => (deeds.learned.length > 0 ? Effect.void : Effect.fail("not yet"))).pipe(
        Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 500 })
      )
      assert.deepStrictEqual(deeds.learned, [first.runId])
    }).pipe(Principal.provide(ownerId), Effect.provide(kernel))
  })

const everyOrder = (stores: Layer.Layer<Stores>) =>
  Effect.gen(function* () {
    // One database for all of them.
    const shared = Layer.succeedContext(yield* Layer.build(stores))
    for (const order of toyOrders) yield* wholeTurn(shared, order)
  }).pipe(Effect.scoped)

const title = "parts join a turn in any order of their layers"

onEmbedded("PGlite", () => {
  it.live(title, () => everyOrder(Layer.orDie(Pglite.layer())))
})

onPostgres((url) => {
  it.live(title, () => everyOrder(Layer.orDie(Postgres.layer({ url: Redacted.make(url), schema: "turn_parts" }))))
})
