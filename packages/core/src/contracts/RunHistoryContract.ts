/** What the store promises of the history that it gives with `Started`: the whole run, and what fits of the thread before it. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ThreadId } from "../primitives/Ids.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { History } from "../threads/Message.ts"
import type { ContractTest } from "./ContractTest.ts"
import { longText, sampleBegin, sampleResult } from "./Samples.ts"
import { continueTurn, openThread, pauseTurn, startTurn, storedMessages, waitingTurn } from "./Scenes.ts"

export const runHistoryContract = (test: ContractTest): void => {
  test(
    "MUST give back the whole run and the longest suffix that fits historyTokens",
    Effect.gen(function* () {
      const givenWith = Effect.fnUntraced(function* (historyTokens: number) {
        const { id } = yield* openThread
        yield* saidBefore(id, [50, 7, 20, 3])
        return sizes((yield* startTurn(id, { historyTokens, message: { tokens: 1000 } })).history)
      })
      assert.deepStrictEqual(yield* givenWith(22), [3, 1000])
      assert.deepStrictEqual(yield* givenWith(23), [20, 3, 1000])
      assert.deepStrictEqual(yield* givenWith(79), [7, 20, 3, 1000])
      assert.deepStrictEqual(yield* givenWith(80), [50, 7, 20, 3, 1000])
    })
  )

  test(
    "MUST give the messages of the history equal and in order",
    Effect.gen(function* () {
      const { id } = yield* openThread
      yield* saidBefore(id, [1, 2, 3, 4, 5])
      const { history } = yield* startTurn(id)
      assert.deepStrictEqual(history.messages, (yield* storedMessages(id)).slice(0, 6))
      assert.deepStrictEqual(history.older, { messages: 0, tokens: 0 })
    })
  )

  test(
    "MUST give a history of many megabytes, whole and in order",
    Effect.gen(function* () {
      const { id } = yield* openThread
      const runs = yield* RunStore
      for (let number = 1; number <= 20; number++) {
        const message = { content: `${number} ${longText}`, tokens: 5 }
        yield* runs.begin(yield* sampleBegin(id, { saves: true, message }))
      }
      const { history } = yield* startTurn(id, { historyTokens: 90 })
      assert.deepStrictEqual(history.messages, (yield* storedMessages(id)).slice(2, 21))
      assert.deepStrictEqual(history.older, { messages: 2, tokens: 10 })
    })
  )

  test(
    "MUST count older messages and tokens",
    Effect.gen(function* () {
      const { id } = yield* openThread
      yield* saidBefore(id, [50, 7, 20, 3])
      const { history } = yield* startTurn(id, { historyTokens: 29, message: { tokens: 11 } })
      assert.deepStrictEqual(sizes(history), [20, 3, 11])
      assert.deepStrictEqual(history.older, { messages: 2, tokens: 57 })
    })
  )

  test(
    "MUST NOT leave out a message between two that it gives",
    Effect.gen(function* () {
      const { id } = yield* openThread
      yield* saidBefore(id, [1, 1, 100, 1])
      const { history } = yield* startTurn(id, { historyTokens: 50 })
      assert.deepStrictEqual(sizes(history), [1, 10])
      assert.deepStrictEqual(history.older, { messages: 3, tokens: 102 })
    })
  )

  test(
    "MUST give the run alone when no history is wanted",
    Effect.gen(function* () {
      const { id } = yield* openThread
      yield* saidBefore(id, [1, 2])
      const { history } = yield* startTurn(id, { historyTokens: 0 })
      assert.deepStrictEqual(sizes(history), [10])
      assert.deepStrictEqual(history.older, { messages: 2, tokens: 3 })
    })
  )

  test(
    "MUST give every leg of the run, and count submitted results as part of their message",
    Effect.gen(function* () {
      const { id } = yield* openThread
      yield* saidBefore(id, [5, 6])
      const first = yield* waitingTurn(id, { message: { tokens: 100 } })
      const second = yield* pauseTurn(yield* continueTurn(first, { tokens: 1000, historyTokens: 6 }))
      const { history } = yield* continueTurn(second, { tokens: 500, historyTokens: 6 })
      assert.deepStrictEqual(sizes(history), [6, 100, 1010, 510])
      assert.deepStrictEqual(history.older, { messages: 1, tokens: 5 })
      assert.deepStrictEqual(history.messages[2]?.toolResults, [sampleResult])
      assert.deepStrictEqual(
        history.messages.map(({ status }) => status),
        ["COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED"]
      )
    })
  )
}

const sizes = ({ messages }: History): ReadonlyArray<number> => messages.map(({ tokens }) => tokens)

/** Puts messages of these sizes into a thread. */
const saidBefore = Effect.fnUntraced(function* (threadId: ThreadId, tokens: ReadonlyArray<number>) {
  const runs = yield* RunStore
  for (const each of tokens) {
    yield* runs.begin(yield* sampleBegin(threadId, { saves: true, message: { tokens: each } }))
  }
})
