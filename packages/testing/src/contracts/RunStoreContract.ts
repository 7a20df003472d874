/**
 * The contract of `RunStore`, which protects conversations and therefore has the most tests. They are grouped as the port is: beginning,
 * queueing, the history, a leg and its log, tool outputs, leases. This file contains reading, and calls by another owner.
 */
import { Principal, RunId, ThreadId } from "@colloquy/core"
import { newId, RunStore } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { branchContract } from "./BranchContract.ts"
import type { ContractTest } from "./ContractTest.ts"
import { runBeginContract } from "./RunBeginContract.ts"
import { runContinueContract } from "./RunContinueContract.ts"
import { runHistoryContract } from "./RunHistoryContract.ts"
import { runLeaseContract } from "./RunLeaseContract.ts"
import { runLegContract } from "./RunLegContract.ts"
import { runQueueContract } from "./RunQueueContract.ts"
import { asNewOwner, moment, sampleBegin, sampleContinue, sampleSettlement } from "./Samples.ts"
import {
  runChanges,
  anHour,
  appendTo,
  continueTurn,
  openThread,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  type Turn,
  waitingTurn
} from "./Scenes.ts"

export const runStoreContract = (test: ContractTest): void => {
  describe("begin", () => runBeginContract(test))
  describe("queue", () => runQueueContract(test))
  describe("history", () => runHistoryContract(test))
  describe("leg", () => runLegContract(test))
  describe("continue", () => runContinueContract(test))
  describe("lease", () => runLeaseContract(test))
  describe("read", () => reading(test))
  describe("branches", () => branchContract(test))
}

const reading = (test: ContractTest): void => {
  test("MUST give the messages of one run, the user's first", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const turn = yield* continueTurn(yield* waitingTurn(id))
    yield* settleTurn(turn)
    yield* settleTurn(yield* startTurn(id))
    assert.deepStrictEqual(yield* runs.messages(turn.runId), (yield* storedMessages(id)).slice(2, 5))
  })

  test("MUST give nothing for an unknown run", function* () {
    const runs = yield* RunStore
    const unknown = yield* newId(RunId)
    assert.isTrue(Option.isNone(yield* runs.get(unknown)))
    assert.deepStrictEqual(yield* runs.messages(unknown), [])
    assert.deepStrictEqual(yield* runs.read(unknown, 0), [])
    assert.isTrue(Option.isNone(yield* runs.findRepeated(unknown)))
  })

  test("MUST answer another owner who knows every id as if the ids were unknown, and change nothing", function* () {
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const active = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    const waiting = yield* waitingTurn((yield* openThread).id)
    const turns = [active, queued, waiting]
    const picture = Effect.forEach(turns, (turn) => Effect.all([storedRun(turn.runId), storedMessages(turn.threadId)]))
    const before = yield* picture
    for (const turn of turns) {
      const guess = { ...turn, runId: yield* newId(RunId), threadId: yield* newId(ThreadId) }
      assert.deepStrictEqual(yield* asNewOwner(everyQuestion(turn)), yield* everyQuestion(guess))
    }
    assert.deepStrictEqual(yield* picture, before)
  })

  test.withCapability("signals")("MUST report changes of a run, and requests to cancel", function* () {
    const runs = yield* RunStore
    for (const cancel of [false, true]) {
      // A thread for each: the last change of the first may be interrupted before its run is settled.
      const { id } = yield* openThread
      const mine = new Set<RunId>()
      const makeChange = Effect.gen(function* () {
        const turn = yield* startTurn(id)
        mine.add(turn.runId)
        if (cancel) yield* runs.requestCancel(turn.runId, moment(5))
        yield* settleTurn(turn)
      })
      const signal = Stream.filter(runChanges(runs), (each) => mine.has(each.runId) && each.cancel === cancel)
      const told = yield* Effect.raceFirst(Stream.runHead(signal), Effect.forever(makeChange))
      assert.deepInclude(Option.getOrThrow(told), { cancel, threadId: id })
    }
  })
}

/** Calls every operation on a run and its thread, with the principal's rights. */
const everyQuestion = Effect.fnUntraced(function* (turn: Turn) {
  const runs = yield* RunStore
  const lease = { ...turn.lease, runId: turn.runId, threadId: turn.threadId }
  const settlement = yield* sampleSettlement(turn, { status: "CANCELLED" })
  return [
    yield* runs.get(turn.runId),
    yield* runs.list(turn.threadId, { limit: 10 }),
    yield* runs.waitingOn(turn.threadId),
    yield* runs.messages(turn.runId),
    yield* runs.read(turn.runId, 0),
    yield* runs.begin(yield* sampleBegin(turn.threadId, { saves: true })),
    yield* runs.begin(yield* sampleBegin(turn.threadId, { mode: "reject" })),
    yield* runs.activate(lease, anHour, 1000),
    yield* runs.withdraw(lease),
    yield* runs.continue(yield* sampleContinue(turn)),
    yield* appendTo({ ...lease, ownerId: (yield* Principal).ownerId }, []),
    yield* runs.settle(lease, settlement),
    yield* runs.takeOver(turn.runId, anHour, { onlyExpired: false }),
    yield* runs.requestCancel(turn.runId, moment(5)),
    yield* storedMessages(turn.threadId)
  ]
})
