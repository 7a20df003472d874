/** The contract of the history that the store returns with `Started`: the whole run, and the part of the thread before it that fits. */
import type { Message, Principal, RunId, StoreUnavailable, ThreadId } from "@colloquy/core"
import { type History, RunStore } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ContractTest } from "./ContractTest.ts"
import { awkwardJson, longText, sampleBegin, sampleResult, sampleUsage } from "./Samples.ts"
import {
  anHour,
  continueTurn,
  expectTag,
  openThread,
  pauseTurn,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  type Turn,
  waitingTurn
} from "./Scenes.ts"

export const runHistoryContract = (test: ContractTest): void => {
  test("MUST give back the whole run and the longest suffix that fits historyTokens", function* () {
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

  test("MUST give the messages of the history equal and in order", function* () {
    const { id } = yield* openThread
    yield* saidBefore(id, [1, 2, 3, 4, 5])
    const { history } = yield* startTurn(id)
    assert.deepStrictEqual(history.messages, (yield* storedMessages(id)).slice(0, 6))
    assert.deepStrictEqual(history.older, { messages: 0, tokens: 0 })
  })

  test("MUST give a history of many megabytes, whole and in order", function* () {
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

  test("MUST count older messages and tokens", function* () {
    const { id } = yield* openThread
    yield* saidBefore(id, [50, 7, 20, 3])
    const { history } = yield* startTurn(id, { historyTokens: 29, message: { tokens: 11 } })
    assert.deepStrictEqual(sizes(history), [20, 3, 11])
    assert.deepStrictEqual(history.older, { messages: 2, tokens: 57 })
  })

  test("MUST NOT leave out a message between two that it gives", function* () {
    const { id } = yield* openThread
    yield* saidBefore(id, [1, 1, 100, 1])
    const { history } = yield* startTurn(id, { historyTokens: 50 })
    assert.deepStrictEqual(sizes(history), [1, 10])
    assert.deepStrictEqual(history.older, { messages: 3, tokens: 102 })
  })

  test("MUST give the run alone when no history is wanted", function* () {
    const { id } = yield* openThread
    yield* saidBefore(id, [1, 2])
    const { history } = yield* startTurn(id, { historyTokens: 0 })
    assert.deepStrictEqual(sizes(history), [10])
    assert.deepStrictEqual(history.older, { messages: 2, tokens: 3 })
  })

  test("MUST give every leg of the run, and count submitted results as part of their message", function* () {
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

  test("MUST give with every start the messages that are stored at that moment, after any earlier writes, changes and cancels", function* () {
    const { id } = yield* openThread
    const budgets = [1_000_000, 25, 0, 60, 1_000_000, 33]
    for (let round = 0; round < 30; round++) {
      const historyTokens = budgets[round % budgets.length] ?? 0
      const message = {
        tokens: 5 + (round % 7),
        content: `${round} \u0000 \ud800`,
        supplements: { seen: awkwardJson }
      }
      const turn = yield* startTurn(id, { historyTokens, message })
      assert.deepStrictEqual(turn.history, expectedHistory(yield* storedMessages(id), turn.runId, historyTokens))
      yield* endings[round % endings.length]?.(turn) ?? Effect.void
    }
  })
}

/** Ways in which a turn ends. Each leaves different records behind. */
const endings: ReadonlyArray<(turn: Turn) => Effect.Effect<unknown, StoreUnavailable, RunStore | Principal>> = [
  (turn) => settleTurn(turn, { answer: { content: "\u2028 answer", tokens: 3, usage: sampleUsage(1, 2, 0.5) } }),
  (turn) => Effect.andThen(settleTurn(turn), saidBefore(turn.threadId, [4, 0])),
  (turn) => settleTurn(turn, { status: "CANCELLED", answer: { content: null, tokens: 0 } }),
  // The next turn supersedes this run.
  (turn) => pauseTurn(turn),
  (turn) =>
    Effect.gen(function* () {
      const paused = yield* pauseTurn(turn)
      yield* settleTurn(yield* continueTurn(paused, { tokens: 9, historyTokens: 12 }))
    }),
  (turn) =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const queued = yield* queueTurn(turn.threadId)
      yield* settleTurn(turn)
      expectTag(yield* runs.activate(queued.lease, anHour, 20), "Started")
      yield* settleTurn(queued)
    }),
  (turn) =>
    Effect.gen(function* () {
      const queued = yield* queueTurn(turn.threadId)
      yield* settleTurn(turn)
      yield* settleTurn(queued, { status: "CANCELLED" })
    })
]

/** The whole run, and the messages before it that fit. */
const expectedHistory = (stored: ReadonlyArray<Message>, runId: RunId, budget: number): History => {
  const said = stored.filter(({ status }) => status !== "IN_PROGRESS")
  let first = said.findIndex((message) => message.runId === runId)
  let tokens = 0
  while (first > 0 && tokens + (said[first - 1]?.tokens ?? 0) <= budget) tokens += said[--first]?.tokens ?? 0
  const older = said.slice(0, first)
  return {
    messages: said.slice(first),
    older: { messages: older.length, tokens: older.reduce((sum, message) => sum + message.tokens, 0) }
  }
}

const sizes = ({ messages }: History): ReadonlyArray<number> => messages.map(({ tokens }) => tokens)

/** Stores messages of these sizes in a thread. */
const saidBefore = Effect.fnUntraced(function* (threadId: ThreadId, tokens: ReadonlyArray<number>) {
  const runs = yield* RunStore
  for (const each of tokens) {
    yield* runs.begin(yield* sampleBegin(threadId, { saves: true, message: { tokens: each } }))
  }
})
