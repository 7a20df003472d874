import type { Message, RunId } from "@colloquy/core"
import { DocumentId, RunStore } from "@colloquy/core/adapters"
import { ChunkIndex, SearchScope, unknownPosition } from "@colloquy/core/retrieval"
import {
  runChanges,
  anHour,
  appendTo,
  asNewOwner,
  noTime,
  openThread,
  sampleBegin,
  sampleEvent,
  settleTurn,
  startTurn,
  storedRun
} from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { InMemory } from "../../src/in-memory/index.ts"

describe("InMemory", () => {
  it.effect("puts a chunk whose term weighs nothing before an equal one without the term, as PostgreSQL does", () =>
    Effect.gen(function* () {
      const index = yield* ChunkIndex
      const scope = SearchScope.make("scope")
      const model = { name: "p/m", dimensions: 1 }
      const chunks = Array.from({ length: 3500 }, (_, ordinal) => ({
        chunk: { ...unknownPosition, ordinal, text: "", repeated: 0 },
        impacts: new Map(ordinal === 0 ? [] : [["kettle", 1]])
      }))
      const vectors = { model, values: [Float32Array.of(1), Float32Array.of(1)] }
      yield* index.put({ scope, documentId: DocumentId.make("document"), language: "en", chunks, vectors })
      const vector = { model, values: Float32Array.of(1) }
      const hits = yield* index.search({ scopes: [scope], terms: new Map([["en", ["kettle"]]]), vector, limit: 200 })
      const found = hits.map(({ chunk, lexical }) => [chunk.ordinal, lexical])
      assert.deepStrictEqual(
        [found[0], found.at(-1)],
        [
          [1, 0],
          [0, null]
        ]
      )
    }).pipe(asNewOwner, Effect.provide(InMemory.layer))
  )

  it.effect("has a fresh state each time it is built", () =>
    Effect.gen(function* () {
      const { runId } = yield* Effect.provide(startSomewhere, InMemory.layer)
      const found = RunStore.use((store) => store.get(runId))
      assert.isTrue(Option.isNone(yield* Effect.provide(found, InMemory.layer)))
    }).pipe(asNewOwner)
  )

  it.effect("lets another process go on over the same state", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const turn = yield* Effect.provide(startSomewhere, InMemory.layerFrom(state))
      const status = yield* Effect.provide(settledStatus(turn.runId), InMemory.layerFrom(state))
      assert.strictEqual(status, "FAILED")
      const late = yield* Effect.provide(settleTurn(turn), InMemory.layerFrom(state))
      assert.isFalse(late)
    }).pipe(asNewOwner)
  )

  it.effect("does not lose a signal that is given after somebody listens", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const turn = yield* startSomewhere
      const listener = yield* Effect.forkChild(Stream.runCollect(Stream.take(runChanges(store), 1000)), {
        startImmediately: true
      })
      for (let sequence = 2; sequence <= 1000; sequence++) yield* appendTo(turn.lease, [sampleEvent(sequence)])
      yield* store.requestCancel(turn.runId, new Date(0))
      const told = yield* Fiber.join(listener)
      assert.deepStrictEqual(
        told.map(({ cancel }) => cancel),
        Array.from({ length: 1000 }, (_, index) => index === 999)
      )
    }).pipe(asNewOwner, Effect.provide(InMemory.layer))
  )

  it.effect("looks at no more of a long thread than it gives back", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const looked = yield* Effect.provide(looksAtLongThread(state), InMemory.layerFrom(state))
      assert.isAtMost(looked, 100)
    }).pipe(asNewOwner)
  )
})

const startSomewhere = Effect.flatMap(openThread, ({ id }) => startTurn(id, { lease: noTime }))

/** What a second process does about a run that the first one left behind. */
const settledStatus = Effect.fnUntraced(function* (runId: RunId) {
  const taken = yield* (yield* RunStore).takeOver(runId, anHour, { onlyExpired: true })
  const { lease, run } = Option.getOrThrow(taken)
  const { answerId, threadId } = run
  yield* settleTurn(
    { runId, threadId, answerId, leg: run.leg, lease, begin: yield* sampleBegin(threadId) },
    { status: "FAILED" }
  )
  return (yield* storedRun(runId)).status
})

/** How often messages of a thread with ten thousand of them are touched, when ten are wanted with a new one. */
const looksAtLongThread = Effect.fnUntraced(function* (state: InMemory.State) {
  const store = yield* RunStore
  const { id } = yield* openThread
  for (let count = 0; count < 10_000; count++) yield* store.begin(yield* sampleBegin(id, { saves: true }))
  let looks = 0
  const row = state.threads.get(id) ?? assert.fail("The thread is not there.")
  const messages = new Proxy<Array<Message>>(row.messages, {
    get: (target, key, receiver) => {
      looks++
      return Reflect.get(target, key, receiver)
    }
  })
  state.threads.set(id, { ...row, messages })
  const { history } = yield* startTurn(id, { historyTokens: 100 })
  assert.strictEqual(history.messages.length, 11)
  assert.deepStrictEqual(history.older, { messages: 9_990, tokens: 99_900 })
  return looks
})
