/**
 * The contract of `RunStore.activate` and `withdraw`: queued runs start in order of arrival, once each, when nothing blocks them; and of
 * `list`, which shows them among the runs of their thread.
 */
import { type Run, type RunId, ThreadId } from "@colloquy/core"
import { newId, RunStore } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, awkwardJson, sampleBegin, sampleEvent } from "./Samples.ts"
import {
  anHour,
  appendTo,
  expectTag,
  noTime,
  openThread,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  tally,
  tenTimes
} from "./Scenes.ts"

export const runQueueContract = (test: ContractTest): void => {
  test("MUST show the log of a queued run up to the entry before the last one, and not its message", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* startTurn(id)
    const events = [sampleEvent(1), sampleEvent(2, awkwardJson), sampleEvent(3)]
    const { begin, runId } = yield* queueTurn(id, { events })
    assert.deepInclude(yield* storedRun(runId), {
      status: "QUEUED",
      lastSequence: 2,
      userMessageId: begin.message.id,
      answerId: begin.run.answerId,
      startedAt: null,
      endedAt: null
    })
    assert.deepStrictEqual(yield* runs.messages(runId), [])
    assert.deepStrictEqual(yield* runs.read(runId, 0), events.slice(0, 2))
    assert.deepStrictEqual(yield* runs.read(runId, 1), events.slice(1, 2))
    assert.deepStrictEqual(yield* runs.read(runId, 2), [])
  })

  test("MUST show nothing of the log of a queued run that has no entry before its beginning", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* startTurn(id)
    for (const events of [[], [sampleEvent(1)]]) {
      const { runId } = yield* queueTurn(id, { events })
      assert.strictEqual((yield* storedRun(runId)).lastSequence, 0)
      assert.deepStrictEqual(yield* runs.read(runId, 0), [])
    }
  })

  test("MUST start a queued run with its message, its log and the history when the thread is free", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const events = [sampleEvent(1, awkwardJson), sampleEvent(3)]
    const { begin, lease, runId } = yield* queueTurn(id, { events })
    yield* settleTurn(first)
    const { history, lease: held } = expectTag(yield* runs.activate(lease, anHour, 1000), "Started")
    assert.deepInclude(yield* storedRun(runId), { status: "IN_PROGRESS", lastSequence: 3, legStart: 1 })
    assert.instanceOf((yield* storedRun(runId)).startedAt, Date)
    assert.deepStrictEqual(history.messages, (yield* storedMessages(id)).slice(0, 3))
    assert.deepStrictEqual(history.messages[2], { ...begin.message, sequence: 3 })
    assert.deepStrictEqual(yield* runs.read(runId, 0), events)
    assert.isTrue(yield* appendTo(held, [sampleEvent(4)]))
  })

  test("MUST activate a queued run under its present lease, for the requested time", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id, { lease: noTime })
    yield* settleTurn(first)
    const { lease } = expectTag(yield* runs.activate(queued.lease, anHour, 0), "Started")
    assert.deepStrictEqual(lease, queued.lease)
    assert.isTrue(Option.isNone(yield* runs.takeOver(queued.runId, anHour, { onlyExpired: true })))
    assert.isTrue(yield* appendTo(queued.lease, [sampleEvent(2)]))
    assert.isTrue(yield* settleTurn(queued))
  })

  test("MUST answer Started again to an activation that is repeated under the same lease, and store nothing again", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id, { lease: noTime })
    yield* settleTurn(first)
    const started = expectTag(yield* runs.activate(queued.lease, noTime, 1000), "Started")
    const before = [yield* storedRun(queued.runId), yield* storedMessages(id)]
    assert.deepStrictEqual(yield* runs.activate(queued.lease, anHour, 1000), started)
    assert.deepStrictEqual([yield* storedRun(queued.runId), yield* storedMessages(id)], before)
    assert.isTrue(Option.isNone(yield* runs.takeOver(queued.runId, anHour, { onlyExpired: true })))
    yield* runs.takeOver(queued.runId, anHour, { onlyExpired: false })
    assert.deepStrictEqual(yield* runs.activate(queued.lease, anHour, 0), { _tag: "Lost" })
  })

  test("MUST answer Lost to an activation of a run that has ended", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    yield* settleTurn(first)
    expectTag(yield* runs.activate(queued.lease, anHour, 0), "Started")
    yield* settleTurn(queued)
    assert.deepStrictEqual(yield* runs.activate(queued.lease, anHour, 0), { _tag: "Lost" })
  })

  test("MUST answer Waiting while a run is in progress, and name it", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const { runId } = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    const outcome = yield* runs.activate(queued.lease, anHour, 1000)
    assert.deepStrictEqual(outcome, { _tag: "Waiting", runId, expired: false })
  })

  test("MUST say in Waiting that the lease of the blocking run has expired", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id, { lease: noTime })
    const second = yield* queueTurn(id, { lease: noTime })
    const third = yield* queueTurn(id)
    const waiting = (runId: typeof first.runId) => ({ _tag: "Waiting", runId, expired: true }) as const
    assert.deepStrictEqual(yield* runs.activate(third.lease, anHour, 0), waiting(first.runId))
    yield* settleTurn(first)
    assert.deepStrictEqual(yield* runs.activate(third.lease, anHour, 0), waiting(second.runId))
  })

  test("MUST keep the order of arrival of queued runs", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const active = yield* startTurn(id)
    const queue = yield* Effect.all(Array.from({ length: 5 }, () => queueTurn(id)))
    yield* settleTurn(active)
    for (const [place, turn] of queue.entries()) {
      for (const later of queue.slice(place + 1).toReversed()) {
        const outcome = expectTag(yield* runs.activate(later.lease, anHour, 0), "Waiting")
        assert.strictEqual(outcome.runId, turn.runId)
      }
      const { lease } = expectTag(yield* runs.activate(turn.lease, anHour, 0), "Started")
      yield* settleTurn({ ...turn, lease })
    }
    const asked = (yield* storedMessages(id)).filter(({ role }) => role === "user").slice(2)
    assert.deepStrictEqual(
      asked.map((message) => message.id),
      queue.map(({ begin }) => begin.message.id)
    )
  })

  test("MUST put a new run behind those that wait, when none is in progress", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const second = yield* queueTurn(id)
    yield* settleTurn(first)
    const third = yield* queueTurn(id)
    assert.strictEqual(expectTag(yield* runs.activate(third.lease, anHour, 0), "Waiting").runId, second.runId)
  })

  test("MUST start a queued run once when ten callers under its lease ask at once", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    yield* settleTurn(first)
    const outcomes = yield* tenTimes(runs.activate(queued.lease, anHour, 0))
    assert.deepStrictEqual(tally(outcomes), { Started: 10 })
    assert.strictEqual((yield* runs.messages(queued.runId)).length, 1)
  })

  test("MUST answer Lost when the lease was taken over, and let the new holder start the run in its old position", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    yield* queueTurn(id)
    const taken = Option.getOrThrow(yield* runs.takeOver(queued.runId, anHour, { onlyExpired: false }))
    assert.strictEqual(taken.run.status, "QUEUED")
    yield* settleTurn(first)
    assert.deepStrictEqual(yield* runs.activate(queued.lease, anHour, 0), { _tag: "Lost" })
    expectTag(yield* runs.activate(taken.lease, anHour, 0), "Started")
  })

  test("MUST NOT start another owner's run", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    yield* settleTurn(first)
    assert.deepStrictEqual(yield* asNewOwner(runs.activate(queued.lease, anHour, 0)), { _tag: "Lost" })
    assert.isFalse(yield* asNewOwner(runs.withdraw(queued.lease)))
    expectTag(yield* runs.activate(queued.lease, anHour, 0), "Started")
  })

  test("MUST delete all records of a withdrawn run, its idempotency key included", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id, { idempotency: { key: "k", fingerprint: "1" } })
    const next = yield* queueTurn(id)
    assert.isTrue(yield* runs.withdraw(queued.lease))
    assert.isFalse(yield* runs.withdraw(queued.lease))
    assert.isTrue(Option.isNone(yield* runs.get(queued.runId)))
    assert.isTrue(Option.isNone(yield* runs.findRepeated("k")))
    assert.deepStrictEqual(yield* runs.activate(queued.lease, anHour, 0), { _tag: "Lost" })
    yield* settleTurn(first)
    expectTag(yield* runs.activate(next.lease, anHour, 0), "Started")
    assert.strictEqual((yield* storedMessages(id)).length, 4)
  })

  test("MUST NOT withdraw a run that has started, ended, or was taken over", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    assert.isFalse(yield* runs.withdraw(first.lease))
    yield* settleTurn(first)
    assert.isFalse(yield* runs.withdraw(first.lease))
    yield* runs.takeOver(queued.runId, anHour, { onlyExpired: false })
    assert.isFalse(yield* runs.withdraw(queued.lease))
    assert.strictEqual((yield* storedRun(queued.runId)).status, "QUEUED")
  })

  test("MUST list the runs of a thread newest first, those that wait among them", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn((yield* openThread).id))
    const first = yield* startTurn(id)
    yield* settleTurn(first)
    const active = yield* startTurn(id)
    const waiting = [yield* queueTurn(id), yield* queueTurn(id), yield* queueTurn(id)]
    const expected = [...waiting.toReversed(), active, first].map(({ runId }) => runId)
    const listed = yield* runs.list(id, { limit: 10 })
    assert.deepStrictEqual(runIds(listed.runs), expected)
    assert.deepStrictEqual(listed.runs, yield* Effect.forEach(expected, storedRun))
    assert.isNull(listed.next)
    const queued = yield* runs.list(id, { limit: 10, status: "QUEUED" })
    assert.deepStrictEqual(runIds(queued.runs), expected.slice(0, 3))
    const ended = yield* runs.list(id, { limit: 1, status: "COMPLETED" })
    assert.deepStrictEqual([runIds(ended.runs), ended.next], [[first.runId], null])
  })

  test("MUST NOT repeat a run or leave one out from page to page, whatever the size of the pages", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    for (let round = 0; round < 3; round++) yield* settleTurn(yield* startTurn(id))
    yield* runs.begin(yield* sampleBegin(id, { saves: true }))
    yield* startTurn(id)
    for (let round = 0; round < 3; round++) yield* queueTurn(id)
    const all = runIds((yield* runs.list(id, { limit: 100 })).runs)
    assert.strictEqual(all.length, 8)
    for (const limit of [1, 2, 3, 8]) {
      const seen: Array<RunId> = []
      let page = yield* runs.list(id, { limit })
      while (true) {
        assert.isAtMost(page.runs.length, limit)
        seen.push(...runIds(page.runs))
        if (page.next === null) break
        page = yield* runs.list(id, { limit, after: page.next })
      }
      assert.deepStrictEqual(seen, all)
    }
  })

  test("MUST list a run at its message's place when it was cancelled in the queue, and not when it was withdrawn", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const active = yield* startTurn(id)
    const cancelled = yield* queueTurn(id)
    const withdrawn = yield* queueTurn(id)
    yield* runs.withdraw(withdrawn.lease)
    yield* settleTurn(cancelled, { status: "CANCELLED" })
    const { runs: listed } = yield* runs.list(id, { limit: 10 })
    assert.deepStrictEqual(runIds(listed), [cancelled.runId, active.runId])
    assert.strictEqual(listed[0]?.status, "CANCELLED")
  })

  test("MUST list no run of another owner, and none of an unknown thread", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* startTurn(id)
    const nothing = { runs: [], next: null }
    assert.deepStrictEqual(yield* asNewOwner(runs.list(id, { limit: 10 })), nothing)
    assert.deepStrictEqual(yield* runs.list(yield* newId(ThreadId), { limit: 10 }), nothing)
  })
}

const runIds = (runs: ReadonlyArray<Run>): ReadonlyArray<RunId> => runs.map(({ id }) => id)
