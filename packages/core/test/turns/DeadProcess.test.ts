import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash, gate, hang, say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import {
  citationsIn,
  Principal,
  type ThreadId,
  Threads,
  type TurnPart,
  TurnParts,
  type TurnSettings,
  Turns
} from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { openKernel, terminalEvent, transcript } from "../support/Story.ts"
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
      assert.deepInclude(terminalEvent(yield* Fiber.join(seen)), { _tag: "RunFailed", code: "interrupted" })
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

/** A message that waits behind the run of a living process, in the queue of one that dies then. */
const queued = Effect.fnUntraced(function* (script: ReadonlyArray<ScriptStep>, more: Partial<TurnSettings> = {}) {
  const state = InMemory.makeState()
  const stores = InMemory.layerFrom(state)
  const living = yield* openKernel(script, { stores, settings: { ...settings, ...more } })
  const first = yield* living.run(start())
  const { doom, kernel } = yield* doomed(state, 1)
  const idempotency = { key: "k", fingerprint: "f" }
  const send = Turns.use((turns) => turns.send({ content: "2", threadId: first.threadId, idempotency }))
  yield* Effect.forkChild(kernel.run(send), { startImmediately: true })
  yield* doom.died
  const repeat = yield* Effect.forkChild(living.run(send), { startImmediately: true })
  yield* afterLease
  yield* doom.bury
  const [run] = (yield* living.run(Turns.use((turns) => turns.list(first.threadId, { limit: 1 })))).runs
  const contents = Effect.map(living.run(transcript(first.threadId)), (all) => all.map(([, , content]) => content))
  return { state, living, first, run: run!.run, repeat, contents, release: living.run(releaseGate) }
})

const releaseGate = ScriptedModel.use((model) => model.release())

describe("a message that waited in the queue of a dead process", () => {
  it.effect("waits in another process and is answered in its turn; a repeat gets the answer", () =>
    Effect.gen(function* () {
      const { contents, release, repeat, run } = yield* queued([[say("One."), gate()], say("Two.")])
      assert.strictEqual(run.status, "QUEUED")
      yield* release
      yield* TestClock.adjust("2 seconds")
      const reply = yield* Fiber.join(repeat)
      assert.deepStrictEqual([reply.runId, reply.status, reply.content], [run.id, "COMPLETED", "Two."])
      assert.deepStrictEqual(yield* contents, ["Hi", "One.", "2", "Two."])
    }).pipe(Principal.provide("ada"))
  )

  it.effect("is told as it would have been: its log is that of every turn", () =>
    Effect.gen(function* () {
      const { first, living, release, repeat, run } = yield* queued([[say("One."), gate()], say("Two.")])
      yield* release
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(repeat)
      const follow = Turns.use((turns) => turns.follow(first.threadId, run.id, 0))
      const events = yield* living.run(Effect.flatMap(follow, Stream.runCollect))
      assert.deepStrictEqual(
        events.map(({ _tag, sequence }) => [sequence, _tag]),
        [
          [1, "UserMessage"],
          [2, "RunStarted"],
          [3, "StepStarted"],
          [4, "TextDelta"],
          [5, "StepEnded"],
          [6, "RunEnded"]
        ]
      )
    }).pipe(Principal.provide("ada"))
  )

  it.effect("is told as it would have been, also if a part has told something live before", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const living = yield* openKernel([[say("One."), gate()], say("Two.")], {
        stores: InMemory.layerFrom(state),
        settings
      })
      const first = yield* living.run(start())
      const { doom, kernel } = yield* doomed(state, 1)
      yield* kernel.run(Layer.build(TurnParts.part(listening)))
      const send = Turns.use((turns) =>
        turns.send({ content: "2", threadId: first.threadId, options: { listening: {} } })
      )
      yield* Effect.forkChild(kernel.run(send), { startImmediately: true })
      yield* doom.died
      const [run] = (yield* living.run(Turns.use((turns) => turns.list(first.threadId, { limit: 1 })))).runs
      const follow = Turns.use((turns) => turns.follow(first.threadId, run!.run.id, 0))
      const reading = yield* Effect.forkChild(living.run(Effect.flatMap(follow, Stream.runCollect)), {
        startImmediately: true
      })
      yield* afterLease
      yield* doom.bury
      yield* living.run(releaseGate)
      yield* TestClock.adjust("2 seconds")
      const events = yield* Fiber.join(reading)
      assert.deepStrictEqual(
        events.map(({ _tag, sequence }) => [sequence, _tag]),
        [
          [1, "PartTold"],
          [3, "UserMessage"],
          [4, "RunStarted"],
          [5, "StepStarted"],
          [6, "TextDelta"],
          [7, "StepEnded"],
          [8, "RunEnded"]
        ]
      )
    }).pipe(Principal.provide("ada"))
  )

  it.effect("can be cancelled while it waits there, and asks no model", () =>
    Effect.gen(function* () {
      const { contents, first, living, release, repeat, run } = yield* queued([[say("One."), gate()]])
      yield* living.run(Turns.use((turns) => turns.cancel(first.threadId, run.id)))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(repeat)).status, "CANCELLED")
      yield* release
      yield* first.reply.pipe(Effect.provideService(Principal, yield* Principal))
      assert.deepStrictEqual(yield* contents, ["Hi", "2", null, "One."])
    }).pipe(Principal.provide("ada"))
  )

  it.effect("is gone after the time for which a message may wait, as it would have been", () =>
    Effect.gen(function* () {
      const { contents, release, repeat } = yield* queued([[say("One."), gate()]], { queueTimeout: "20 seconds" })
      yield* TestClock.adjust("25 seconds")
      yield* Fiber.await(repeat)
      yield* release
      assert.deepStrictEqual(yield* contents, ["Hi", "One."])
    }).pipe(Principal.provide("ada"))
  )

  it.effect("ends once, and asks a model at most once, whichever write is the last of the process that takes it", () =>
    Effect.gen(function* () {
      const ends = new Map<string, number>()
      let at = 0
      for (let isOver = false; !isOver;) {
        at++
        const state = InMemory.makeState()
        const stores = InMemory.layerFrom(state)
        const first = yield* doomed(state, 4)
        const turn = yield* first.kernel.run(start())
        yield* Effect.forkChild(first.kernel.run(start({ content: "2", threadId: turn.threadId })), {
          startImmediately: true
        })
        yield* first.doom.died
        yield* afterLease
        const sweeping = { sweep: "1 second" } as const
        const doom = yield* Crash.make({ at, hears: true })
        const otherwise = [say("Two.")]
        const second = yield* openKernel([], { stores: doom.stores(stores), settings: sweeping, model: { otherwise } })
        yield* TestClock.adjust("5 seconds")
        isOver = !doom.isDead()
        const calls = yield* second.run(Effect.map(ScriptedModel, ({ requests }) => requests))
        const third = yield* openKernel([], { stores, settings: sweeping, model: { otherwise } })
        yield* TestClock.adjust("70 seconds")
        const more = yield* third.run(Effect.map(ScriptedModel, ({ requests }) => requests))
        const all = yield* third.run(transcript(turn.threadId))
        assert.deepStrictEqual(
          all.map(([role, , content]) => (role === "user" ? content : role)),
          ["Hi", "assistant", "2", "assistant"]
        )
        const status = all[3]?.[1] ?? ""
        ends.set(status, (ends.get(status) ?? 0) + 1)
        assert.isAtMost(calls.length + more.length, 1, `write ${at}`)
        if (status === "COMPLETED") assert.strictEqual(all[3]?.[2], "Two.")
        yield* doom.bury
        yield* first.doom.bury
        yield* Effect.all([second.close, third.close, first.kernel.close])
      }
      assert.isAbove(ends.get("COMPLETED") ?? 0, 1)
      assert.isAbove(at, 3)
    }).pipe(Principal.provide("ada"))
  )
})

/** Tells what it hears while it hears it. */
const listening: TurnPart<null> = {
  name: "listening",
  plan: Schema.Null,
  decide: () => Effect.succeed(null),
  listen: (_, { tell }) =>
    Effect.sync(() => {
      tell({ type: "hears", data: null })
      tell({ type: "hearing", data: "heard", isLive: true })
      return { content: "heard" }
    })
}

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
