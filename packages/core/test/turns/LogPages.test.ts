/** One read of the store for all who follow a run from the same place, and what each of them keeps of it. */
import { Principal, RunId, StoreUnavailable, type TurnEvent } from "@colloquy/core"
import { newId } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { estimateTokens } from "../../src/models/EstimateTokens.ts"
import { digestEvents, makeLogPages } from "../../src/turns/LogPages.ts"
import { recordLeg } from "../../src/turns/TurnRecorder.ts"

const counter = { count: estimateTokens }

const delta = (sequence: number): TurnEvent => ({
  _tag: "TextDelta",
  sequence,
  text: `${sequence} `
})

const log = (length: number) => Array.from({ length }, (_, index) => delta(index + 1))

/** A store that counts its reads, gives a hundred events at once, and answers when the test lets it. */
const countingStore = (events: ReadonlyArray<TurnEvent>) => {
  const reads: Array<{ readonly after: number; readonly answer: Deferred.Deferred<void, StoreUnavailable> }> = []
  const read = (_: RunId, after: number) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void, StoreUnavailable>()
      // What the store sees is what is there when it is asked.
      const found = events.slice(after, after + 100)
      reads.push({ after, answer })
      yield* Deferred.await(answer)
      return found
    })
  const answerAll = Effect.suspend(() => Effect.forEach(reads, ({ answer }) => Deferred.succeed(answer, undefined)))
  return { reads, read, answerAll }
}

const many = <A, E, R>(count: number, effect: Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: count }), () => Effect.forkChild(effect, { startImmediately: true }))

describe("pages of a stored log", () => {
  it.effect("are read once for fifty followers, whether they come at once or later, and are one copy", () =>
    Effect.gen(function* () {
      const store = countingStore(log(250))
      const readPage = makeLogPages(store)
      const runId = yield* newId(RunId)
      const early = yield* many(49, readPage(runId, 0))
      yield* store.answerAll
      const pages = [...(yield* Effect.forEach(early, Fiber.join)), yield* readPage(runId, 0)]
      assert.strictEqual(store.reads.length, 1)
      assert.strictEqual(new Set(pages).size, 1)
      assert.strictEqual(pages[0]?.events.length, 100)
    }).pipe(Principal.provide("somebody"))
  )

  it.effect("are not shared between owners", () =>
    Effect.gen(function* () {
      const store = countingStore(log(1))
      const readPage = makeLogPages(store)
      const runId = yield* newId(RunId)
      const fibers = yield* Effect.forEach(["one", "two"], (owner) =>
        Effect.forkChild(Principal.provide(owner)(readPage(runId, 0)), { startImmediately: true })
      )
      yield* store.answerAll
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(store.reads.length, 2)
    })
  )

  it.effect("reach the others when the follower who asked for them has gone", () =>
    Effect.gen(function* () {
      const store = countingStore(log(3))
      const readPage = makeLogPages(store)
      const runId = yield* newId(RunId)
      const [first, ...others] = yield* many(3, readPage(runId, 0))
      if (first !== undefined) yield* Fiber.interrupt(first)
      yield* Effect.yieldNow
      yield* store.answerAll
      const pages = yield* Effect.forEach(others, Fiber.join)
      assert.deepStrictEqual(
        pages.map(({ events }) => events.length),
        [3, 3]
      )
      assert.strictEqual(store.reads.length, 2)
    }).pipe(Principal.provide("somebody"))
  )

  it.effect(
    "that the store could not give are asked for again by the next follower, and not by each of those who waited",
    () =>
      Effect.gen(function* () {
        const store = countingStore(log(3))
        const readPage = makeLogPages(store)
        const runId = yield* newId(RunId)
        const fibers = yield* many(10, Effect.flip(readPage(runId, 0)))
        const away = new StoreUnavailable({ operation: "RunStore.read" })
        if (store.reads[0] !== undefined) yield* Deferred.fail(store.reads[0].answer, away)
        assert.deepStrictEqual(new Set(yield* Effect.forEach(fibers, Fiber.join)), new Set([away]))
        assert.strictEqual(store.reads.length, 1)
        const next = yield* Effect.forkChild(readPage(runId, 0), { startImmediately: true })
        yield* store.answerAll
        assert.strictEqual((yield* Fiber.join(next)).events.length, 3)
      }).pipe(Principal.provide("somebody"))
  )

  it.effect("miss nothing that was written while a read was under way", () =>
    Effect.gen(function* () {
      const events: Array<TurnEvent> = []
      const store = countingStore(events)
      const readPage = makeLogPages(store)
      const runId = yield* newId(RunId)
      const before = yield* Effect.forkChild(readPage(runId, 0), { startImmediately: true })
      events.push(delta(1))
      const after = yield* many(20, readPage(runId, 0))
      yield* store.answerAll
      assert.deepStrictEqual((yield* Fiber.join(before)).events, [])
      yield* store.answerAll
      for (const page of yield* Effect.forEach(after, Fiber.join)) assert.deepStrictEqual(page.events, [delta(1)])
      assert.strictEqual(store.reads.length, 2)
    }).pipe(Principal.provide("somebody"))
  )

  it.effect("are few: a log of any length leaves the first ones to be read again", () =>
    Effect.gen(function* () {
      const store = countingStore(log(10_000))
      const readPage = makeLogPages(store)
      const runId = yield* newId(RunId)
      const readAt = (after: number) =>
        Effect.gen(function* () {
          const reading = yield* Effect.forkChild(readPage(runId, after), { startImmediately: true })
          yield* store.answerAll
          return yield* Fiber.join(reading)
        })
      for (let after = 0; after < 10_000; after += 100) yield* readAt(after)
      assert.strictEqual(store.reads.length, 100)
      yield* readAt(9900)
      assert.strictEqual(store.reads.length, 100)
      yield* readAt(0)
      assert.strictEqual(store.reads.length, 101)
    }).pipe(Principal.provide("somebody"))
  )

  it("are kept as a digest that tells of the same leg", () => {
    const step: TurnEvent = { _tag: "StepStarted", sequence: 1, promptTokens: 7 }
    const events = [step, ...log(500), { ...step, sequence: 502 }, delta(503), delta(504)]
    const digest = digestEvents(events)
    assert.strictEqual(digest.length, 4)
    assert.deepStrictEqual(recordLeg(digest, counter), recordLeg(events, counter))
  })
})
