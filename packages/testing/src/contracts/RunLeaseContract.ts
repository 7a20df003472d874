/** The contract of leases and cancels: a run has one holder at a time, also when processes die, and no request to cancel is lost. */
import { OwnerId, RunId } from "@colloquy/core"
import { newId, RunStore } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, moment, sampleContinue, sampleEvent } from "./Samples.ts"
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
  tenTimes,
  waitingTurn
} from "./Scenes.ts"

export const runLeaseContract = (test: ContractTest): void => {
  renewing(test)
  expiring(test)
  takingOver(test)
  cancelling(test)
}

const renewing = (test: ContractTest): void => {
  test("MUST prolong leases, also an expired one that was not taken over", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id, { lease: noTime })
    assert.deepStrictEqual(yield* runs.renew([lease], anHour), { lost: [], cancelRequested: [] })
    assert.isTrue(Option.isNone(yield* runs.takeOver(runId, anHour, { onlyExpired: true })))
  })

  test("MUST prolong leases of all owners, and name those that are lost or to be cancelled", function* () {
    const runs = yield* RunStore
    const start = Effect.flatMap(openThread, ({ id }) => startTurn(id, { lease: noTime }))
    const [kept, ended, taken] = [yield* asNewOwner(start), yield* start, yield* start]
    const cancelled = yield* start
    yield* settleTurn(ended)
    yield* runs.takeOver(taken.runId, noTime, { onlyExpired: false })
    yield* runs.requestCancel(cancelled.runId, moment(5))
    const answer = yield* runs.renew([kept.lease, ended.lease, taken.lease, cancelled.lease], anHour)
    assert.sameMembers([...answer.lost], [ended.runId, taken.runId])
    assert.deepStrictEqual(answer.cancelRequested, [cancelled.runId])
    const expired = yield* expiredIds
    assert.deepStrictEqual(
      [kept, ended, taken, cancelled].map(({ runId }) => expired.has(runId)),
      [false, false, true, false]
    )
  })

  test("MUST prolong the lease of a queued run", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* startTurn(id)
    const { lease, runId } = yield* queueTurn(id, { lease: noTime })
    assert.deepStrictEqual((yield* runs.renew([lease], anHour)).lost, [])
    assert.isFalse((yield* expiredIds).has(runId))
  })

  test("MUST call a lease lost that names an unknown run or another owner", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id)
    const unknown = yield* newId(RunId)
    const forged = { ...lease, ownerId: yield* newId(OwnerId) }
    assert.deepStrictEqual((yield* runs.renew([forged, { ...lease, runId: unknown }], anHour)).lost, [runId, unknown])
  })

  test("MUST renew nothing without complaint", function* () {
    assert.deepStrictEqual(yield* (yield* RunStore).renew([], anHour), { lost: [], cancelRequested: [] })
  })
}

const expiring = (test: ContractTest): void => {
  test.withCapability("testClock")("MUST let a lease expire when its time is over, and not before", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id, { lease: Duration.seconds(30) })
    const hasExpired = Effect.map(expiredIds, (ids) => ids.has(runId))
    yield* TestClock.adjust(29_999)
    assert.isFalse(yield* hasExpired)
    yield* runs.renew([lease], Duration.seconds(10))
    yield* TestClock.adjust(9_999)
    assert.isFalse(yield* hasExpired)
    assert.isTrue(Option.isNone(yield* runs.takeOver(runId, anHour, { onlyExpired: true })))
    yield* TestClock.adjust(1)
    assert.isTrue(yield* hasExpired)
    assert.isTrue(Option.isSome(yield* runs.takeOver(runId, anHour, { onlyExpired: true })))
    assert.isFalse(yield* hasExpired)
  })
}

const takingOver = (test: ContractTest): void => {
  test("MUST list active runs whose lease has expired, with their owners, and no others", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const expired = yield* startTurn(id, { lease: noTime })
    const queued = yield* queueTurn(id, { lease: noTime })
    const alive = yield* startTurn((yield* openThread).id)
    const waiting = yield* waitingTurn((yield* openThread).id, { lease: noTime })
    const ended = yield* startTurn((yield* openThread).id, { lease: noTime })
    yield* settleTurn(ended)
    const listed = yield* runs.expired(allOfThem)
    const owners = new Map(listed.map(({ ownerId, runId }) => [runId, ownerId]))
    const turns = [expired, queued, alive, waiting, ended]
    assert.deepStrictEqual(
      turns.map(({ runId }) => owners.get(runId)),
      [expired.lease.ownerId, expired.lease.ownerId, undefined, undefined, undefined]
    )
  })

  test("MUST list the expired runs of all owners, as many as are wanted", function* () {
    const runs = yield* RunStore
    const start = asNewOwner(Effect.flatMap(openThread, ({ id }) => startTurn(id, { lease: noTime })))
    const [one, other] = [yield* start, yield* start]
    const ids = yield* expiredIds
    assert.isTrue(ids.has(one.runId) && ids.has(other.runId))
    assert.strictEqual((yield* runs.expired(1)).length, 1)
  })

  test("MUST take an expired run over, as it is stored, and refuse the old holder from then on", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id, { lease: noTime })
    yield* appendTo(turn.lease, [sampleEvent(2)])
    const { lease, run } = Option.getOrThrow(yield* runs.takeOver(turn.runId, anHour, { onlyExpired: true }))
    assert.deepStrictEqual(run, yield* storedRun(turn.runId))
    assert.strictEqual(run.lastSequence, 2)
    assert.isFalse(yield* appendTo(turn.lease, [sampleEvent(3)]))
    assert.isFalse(yield* settleTurn(turn))
    assert.deepStrictEqual((yield* runs.renew([turn.lease], anHour)).lost, [turn.runId])
    assert.isTrue(yield* appendTo(lease, [sampleEvent(3)]))
    assert.isTrue(yield* settleTurn({ ...turn, lease }, { status: "FAILED" }))
    assert.strictEqual((yield* storedMessages(id)).length, 2)
  })

  test("MUST let one of ten concurrent callers take an expired run over", function* () {
    const runs = yield* RunStore
    const { runId } = yield* startTurn((yield* openThread).id, { lease: noTime })
    const taken = yield* tenTimes(runs.takeOver(runId, anHour, { onlyExpired: true }))
    assert.strictEqual(taken.filter(Option.isSome).length, 1)
  })

  test("MUST NOT take a run over whose lease has not expired, unless told to", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    assert.isTrue(Option.isNone(yield* runs.takeOver(turn.runId, anHour, { onlyExpired: true })))
    assert.isTrue(yield* appendTo(turn.lease, [sampleEvent(2)]))
    assert.isTrue(Option.isSome(yield* runs.takeOver(turn.runId, anHour, { onlyExpired: false })))
    assert.isFalse(yield* appendTo(turn.lease, [sampleEvent(3)]))
  })

  test("MUST give every holder a token above the ones before", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id)
    const take = Effect.map(runs.takeOver(runId, anHour, { onlyExpired: false }), Option.getOrThrow)
    const [second, third] = [(yield* take).lease, (yield* take).lease]
    assert.isTrue(lease.token < second.token && second.token < third.token)
    assert.deepStrictEqual({ ...third, token: 0 }, { ...lease, token: 0 })
    assert.isFalse(yield* appendTo(second, [sampleEvent(2)]))
  })

  test("MUST NOT take over a run that is not active, is unknown, or another owner's", function* () {
    const runs = yield* RunStore
    const theirs = yield* asNewOwner(Effect.flatMap(openThread, ({ id }) => startTurn(id, { lease: noTime })))
    const ended = yield* startTurn((yield* openThread).id, { lease: noTime })
    yield* settleTurn(ended)
    const waiting = yield* waitingTurn((yield* openThread).id, { lease: noTime })
    for (const runId of [theirs.runId, ended.runId, waiting.runId, yield* newId(RunId)]) {
      for (const onlyExpired of [true, false]) {
        assert.isTrue(Option.isNone(yield* runs.takeOver(runId, anHour, { onlyExpired })))
      }
    }
    assert.deepStrictEqual((yield* runs.renew([theirs.lease], anHour)).lost, [])
  })

  test("MUST let a run be settled that was taken over while it was queued", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* startTurn(id)
    const queued = yield* queueTurn(id, { lease: noTime })
    const { lease } = Option.getOrThrow(yield* runs.takeOver(queued.runId, anHour, { onlyExpired: true }))
    assert.isTrue(yield* settleTurn({ ...queued, lease }, { status: "FAILED" }))
    assert.strictEqual((yield* runs.messages(queued.runId))[0]?.id, queued.begin.message.id)
  })
}

const cancelling = (test: ContractTest): void => {
  test("MUST store the request to cancel an active run, and let its holder end it", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    for (const { begin, runId } of [turn, queued]) {
      const before = yield* storedRun(runId)
      const found = begin === turn.begin ? "IN_PROGRESS" : "QUEUED"
      assert.strictEqual(Option.getOrThrow(yield* runs.requestCancel(runId, moment(5))), found)
      assert.deepStrictEqual(yield* storedRun(runId), { ...before, cancelRequested: true })
    }
    const { cancelRequested } = yield* runs.renew([turn.lease, queued.lease], anHour)
    assert.sameMembers([...cancelRequested], [turn.runId, queued.runId])
    assert.isTrue(yield* settleTurn(turn, { status: "CANCELLED" }))
  })

  test("MUST accept the same request twice", function* () {
    const runs = yield* RunStore
    const { runId } = yield* startTurn((yield* openThread).id)
    yield* tenTimes(runs.requestCancel(runId, moment(5)))
    assert.strictEqual(Option.getOrThrow(yield* runs.requestCancel(runId, moment(6))), "IN_PROGRESS")
  })

  test("MUST report the request to cancel to a later holder", function* () {
    const runs = yield* RunStore
    const { runId } = yield* startTurn((yield* openThread).id)
    yield* runs.requestCancel(runId, moment(5))
    const taken = Option.getOrThrow(yield* runs.takeOver(runId, anHour, { onlyExpired: false }))
    assert.isTrue(taken.run.cancelRequested)
    assert.deepStrictEqual((yield* runs.renew([taken.lease], anHour)).cancelRequested, [runId])
  })

  test("MUST cancel a run that requires action at once, its open message too", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    assert.strictEqual(Option.getOrThrow(yield* runs.requestCancel(waiting.runId, moment(5))), "REQUIRES_ACTION")
    assert.deepInclude(yield* storedRun(waiting.runId), { status: "CANCELLED", endedAt: moment(5) })
    assert.deepInclude((yield* storedMessages(id))[1], { id: waiting.answerId, status: "CANCELLED" })
    assert.isTrue(Option.isNone(yield* runs.waitingOn(id)))
    assert.deepStrictEqual(yield* runs.continue(yield* sampleContinue(waiting)), { _tag: "NotOpen" })
    assert.strictEqual(Option.getOrThrow(yield* runs.requestCancel(waiting.runId, moment(6))), "CANCELLED")
  })

  test("MUST leave ended runs as they are", function* () {
    const runs = yield* RunStore
    for (const status of ["COMPLETED", "FAILED", "CANCELLED"] as const) {
      const turn = yield* startTurn((yield* openThread).id)
      yield* settleTurn(turn, { status })
      const before = yield* storedRun(turn.runId)
      assert.strictEqual(Option.getOrThrow(yield* runs.requestCancel(turn.runId, moment(5))), status)
      assert.deepStrictEqual(yield* storedRun(turn.runId), before)
    }
  })

  test("MUST let either the cancel or the outputs win, when both come at once", function* () {
    const runs = yield* RunStore
    const waiting = yield* waitingTurn((yield* openThread).id)
    const [found, continued] = yield* Effect.all(
      [runs.requestCancel(waiting.runId, moment(5)), Effect.flatMap(sampleContinue(waiting), runs.continue)],
      { concurrency: "unbounded" }
    )
    const run = yield* storedRun(waiting.runId)
    const cancelWon = Option.getOrThrow(found) === "REQUIRES_ACTION"
    assert.strictEqual(expectTag(continued, cancelWon ? "NotOpen" : "Started")._tag, continued._tag)
    assert.deepInclude(run, { status: cancelWon ? "CANCELLED" : "IN_PROGRESS", cancelRequested: true })
  })

  test("MUST answer none to a request to cancel an unknown run or another owner's run, and do nothing", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    const waiting = yield* waitingTurn((yield* openThread).id)
    for (const runId of [turn.runId, waiting.runId, yield* newId(RunId)]) {
      assert.isTrue(Option.isNone(yield* asNewOwner(runs.requestCancel(runId, moment(5)))))
    }
    assert.isFalse((yield* storedRun(turn.runId)).cancelRequested)
    assert.strictEqual((yield* storedRun(waiting.runId)).status, "REQUIRES_ACTION")
  })
}

/** More than any test leaves behind. */
const allOfThem = 1_000_000

const expiredIds = Effect.gen(function* () {
  return new Set((yield* (yield* RunStore).expired(allOfThem)).map(({ runId }) => runId))
})
