/** Documents that were indexed without vectors, or with those of another model, get them when they are searched. */
import { Principal, StoreUnavailable } from "@colloquy/core"
import { firstPage, FollowUpStore, UsageLedger } from "@colloquy/core/adapters"
import { Documents } from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { away, byteStream, embedLetters, memoryStorage, openRoom, type RoomOptions } from "../support/DocumentRoom.ts"
import { openPlace } from "./DocumentStories.ts"

const unavailable = new StoreUnavailable({ operation: "a write" })

const test = <E>(title: string, body: Effect.Effect<void, E, Principal | Scope.Scope>) =>
  it.effect(title, () => body.pipe(Principal.provide("ada")))

/** A kernel that indexed without a model, and a later one over the same storage that has one. */
const laterWith = Effect.fnUntraced(function* (
  options: RoomOptions,
  before: RoomOptions = {},
  followUps: (store: typeof FollowUpStore.Service) => typeof FollowUpStore.Service = (store) => store,
  ledger: (store: typeof UsageLedger.Service) => typeof UsageLedger.Service = (store) => store
) {
  const { storage } = yield* memoryStorage
  const first = yield* openRoom(storage, before)
  const place = yield* first.run(openPlace)
  const upload = (filename: string, text: string) =>
    first.run(
      Documents.use((documents) =>
        documents.upload({ scope: { _tag: "Thread", threadId: place.threadId }, filename, bytes: byteStream(text) })
      )
    )
  yield* upload("a.txt", "Badgers dig setts.")
  yield* upload("b.txt", "Foxes borrow setts.")
  yield* TestClock.adjust("1 second")
  yield* first.close
  const stores = Layer.mergeAll(
    Layer.effect(FollowUpStore, FollowUpStore.useSync(followUps)),
    Layer.effect(UsageLedger, UsageLedger.useSync(ledger))
  ).pipe(Layer.provideMerge(storage))
  const room = yield* openRoom(stores, options)
  const search = room.run(
    Effect.map(
      Documents.use((documents) => documents.search({ scopeId: { threadId: place.threadId }, query: "setts" })),
      ({ excerpts, lexicalOnly }) => ({ lexicalOnly, semantic: excerpts.map(({ semantic }) => semantic !== null) })
    )
  )
  return { room, search }
})

describe("vectors", () => {
  test(
    "are filled in by a follow-up of the first search, once, and charged",
    Effect.gen(function* () {
      const texts: Array<string> = []
      const { room, search } = yield* laterWith({
        embed: (request) => {
          if (request.purpose === "document") texts.push(...request.texts)
          return embedLetters(request)
        }
      })
      assert.deepStrictEqual(yield* search, { lexicalOnly: null, semantic: [false, false] })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* search, { lexicalOnly: null, semantic: [true, true] })
      yield* TestClock.adjust("2 hours")
      yield* search
      yield* TestClock.adjust("1 second")
      assert.sameMembers(texts, ["Badgers dig setts.", "Foxes borrow setts."])
      const { days } = yield* room.run(UsageLedger.use((ledger) => ledger.recent(firstPage)))
      assert.include(
        days.map(({ purpose }) => purpose),
        "embedding"
      )
    })
  )

  test(
    "are ordered by the next search, when the first one could not store the order",
    Effect.gen(function* () {
      let isAway = false
      const { search } = yield* laterWith({ embed: embedLetters }, {}, (followUps) => ({
        ...followUps,
        add: (orders) => (isAway ? Effect.fail(unavailable) : followUps.add(orders))
      }))
      isAway = true
      assert.strictEqual((yield* Effect.flip(search))._tag, "StoreUnavailable")
      isAway = false
      yield* search
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* search).semantic, [true, true])
    })
  )

  test(
    "wait for a store that is away for minutes",
    Effect.gen(function* () {
      let isAway = false
      const { room, search } = yield* laterWith(
        {
          embed: (request) => embedLetters(request)
        },
        {},
        undefined,
        (ledger) => ({
          ...ledger,
          begin: (...given) => (isAway ? Effect.fail(unavailable) : ledger.begin(...given))
        })
      )
      yield* search
      isAway = true
      yield* TestClock.adjust("5 minutes")
      isAway = false
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual((yield* search).semantic, [true, true])
      assert.deepStrictEqual(yield* room.run(FollowUpStore.use((store) => store.dead(firstPage))), [])
    })
  )

  test(
    "wait for a model that is away, and the search goes on by words",
    Effect.gen(function* () {
      let isAway = true
      const { search } = yield* laterWith({
        embed: (request) => (isAway && request.purpose === "document" ? Effect.fail(away) : embedLetters(request))
      })
      assert.deepStrictEqual((yield* search).semantic, [false, false])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* search).semantic, [false, false])
      isAway = false
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual((yield* search).semantic, [true, true])
    })
  )
})
