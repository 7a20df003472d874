import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash, hang, say } from "@colloquy/testing"
import { citationsIn, Principal, type ThreadId, Threads, type TurnPart, TurnParts, Turns } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { openKernel, terminalOf, transcript } from "../support/Story.ts"
import { faultyStores } from "../support/WatchedStores.ts"

/** Longer than a test: what is seen here is not the work of the sweep. */
const settings = { sweep: "10 hours" } as const

/** A kernel whose "process" dies with its n-th write. */
const doomed = Effect.fnUntraced(function* (state: InMemory.State, at: number, said = "Half") {
  const doom = yield* Crash.make({ at, hears: true })
  const stores = doom.stores(InMemory.layerFrom(state))
  const kernel = yield* openKernel([], { stores, settings, model: { otherwise: [say(said), hang] } })
  return { doom, kernel }
})

const start = (request: { readonly threadId?: ThreadId; readonly content?: string } = {}) =>
  Turns.use((turns) => turns.start({ content: "Hi", stream: true, ...request }))

const afterLease = TestClock.adjust("32 seconds")

describe("whoever waits for a run sees that its process is dead, within its lease and two seconds", () => {
  it.effect("a follower in another process", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const witness = yield* openKernel([], { stores: InMemory.layerFrom(state), settings })
      const { doom, kernel } = yield* doomed(state, 4)
      const turn = yield* kernel.run(start())
      yield* TestClock.adjust("1 second")
      yield* doom.died
      const follow = Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0))
      const seen = yield* Effect.forkChild(witness.run(Effect.flatMap(follow, Stream.runCollect)), {
        startImmediately: true
      })
      yield* afterLease
      assert.deepInclude(terminalOf(yield* Fiber.join(seen)), { _tag: "RunFailed", code: "interrupted" })
      yield* doom.bury
    }).pipe(Principal.provide("ada"))
  )

  it.effect("a repeat of a message that waits in the queue of the dead one", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const living = yield* openKernel([], {
        stores: InMemory.layerFrom(state),
        settings,
        model: { otherwise: hang }
      })
      const first = yield* living.run(start())
      const { doom, kernel } = yield* doomed(state, 1)
      const idempotency = { key: "k", fingerprint: "f" }
      const second = Turns.use((turns) => turns.send({ content: "2", threadId: first.threadId, idempotency }))
      yield* Effect.forkChild(kernel.run(second), { startImmediately: true })
      yield* doom.died
      const repeat = yield* Effect.forkChild(living.run(second), { startImmediately: true })
      yield* afterLease
      assert.deepInclude((yield* Fiber.join(repeat)).fault, { code: "interrupted" })
      yield* doom.bury
    }).pipe(Principal.provide("ada"))
  )

  it.effect("a kernel that starts, at once", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const { doom, kernel } = yield* doomed(state, 4)
      const turn = yield* kernel.run(start())
      yield* TestClock.adjust("1 second")
      yield* doom.died
      yield* afterLease
      const next = yield* openKernel([], { stores: InMemory.layerFrom(state), settings })
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual((yield* next.run(transcript(turn.threadId)))[1], ["assistant", "FAILED", "Half"])
      yield* doom.bury
    }).pipe(Principal.provide("ada"))
  )
})

/** Gives the model two texts to cite. */
const quoting: TurnPart<null> = {
  name: "quoting",
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  recall: (_, turn) => Effect.sync(() => (turn.keep({ marks: { letter: "d", count: 2 } }), []))
}

describe("a run that was taken over", () => {
  it.effect("cites what its log says", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const { doom, kernel } = yield* doomed(state, 4, "Half [d2] [d3]")
      yield* kernel.run(TurnParts.use((parts) => parts.register(quoting)))
      const turn = yield* kernel.run(start())
      yield* TestClock.adjust("1 second")
      yield* doom.died
      yield* afterLease
      // The part is gone: what was kept is enough.
      const next = yield* openKernel([], { stores: InMemory.layerFrom(state), settings })
      yield* TestClock.adjust("1 millis")
      const { messages } = yield* next.run(Threads.use((threads) => threads.get(turn.threadId)))
      assert.deepInclude(messages[1], { status: "FAILED", content: "Half [d2]" })
      assert.deepStrictEqual(citationsIn(messages[1]?.supplements ?? null), {
        citations: [{ index: 1, start: 5, end: 9 }],
        dropped: 1
      })
      yield* doom.bury
    }).pipe(Principal.provide("ada"))
  )

  it.effect("is settled although its log could not be read at first", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const { doom, kernel } = yield* doomed(state, 4)
      const turn = yield* kernel.run(start())
      yield* TestClock.adjust("1 second")
      yield* doom.died
      const stores = faultyStores(state, (operation, nth) => (operation === "runs.read" && nth <= 4 ? "refuse" : null))
      const next = yield* openKernel([say("Again.")], { stores, settings })
      yield* afterLease
      const again = Turns.use((turns) => turns.send({ content: "b", threadId: turn.threadId }))
      const reply = yield* Effect.forkChild(next.run(again), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(reply)).content, "Again.")
      assert.deepStrictEqual((yield* next.run(transcript(turn.threadId)))[1], ["assistant", "FAILED", "Half"])
      yield* doom.bury
    }).pipe(Principal.provide("ada"))
  )
})
