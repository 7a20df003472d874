/** The contract of `RunStore.append`, `read` and `settle`: a log is returned as it was written, and each leg ends once. */
import { Principal } from "@colloquy/core"
import { type LogEvent, noUsage, RunStore } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ContractTest } from "./ContractTest.ts"
import {
  asNewOwner,
  awkwardJson,
  longText,
  moment,
  newOwner,
  sampleCall,
  sampleEvent,
  sampleSettlement,
  sampleUsage
} from "./Samples.ts"
import {
  anHour,
  appendTo,
  continueTurn,
  expectTag,
  noTime,
  openThread,
  pauseTurn,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  tenTimes
} from "./Scenes.ts"

export const runLegContract = (test: ContractTest): void => {
  logging(test)
  settling(test)
  settlingQueued(test)
}

const logging = (test: ContractTest): void => {
  test("MUST keep log events equal, in order, with gaps in the sequence", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    const batches = [
      [sampleEvent(2, awkwardJson), sampleEvent(3, null)],
      [sampleEvent(7, ""), sampleEvent(20, [[]])],
      [sampleEvent(1000, longText)]
    ]
    for (const batch of batches) assert.isTrue(yield* appendTo(turn.lease, batch))
    assert.deepStrictEqual(yield* runs.read(turn.runId, 0), [...turn.begin.events, ...batches.flat()])
    assert.strictEqual((yield* storedRun(turn.runId)).lastSequence, 1000)
  })

  test("MUST keep the fields of an event as they are, whatever their names", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    const event = { _tag: "Odd", sequence: 2, runId: "not a run", payload: { sequence: "two" }, id: 0, done: false }
    yield* appendTo(turn.lease, [event])
    assert.deepStrictEqual(yield* runs.read(turn.runId, 1), [event])
  })

  test("MUST read what is above `after`, a number inside a gap included", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id)
    yield* appendTo(lease, [sampleEvent(5), sampleEvent(9)])
    const above = (after: number) => Effect.map(runs.read(runId, after), (events) => events.map(eventSequence))
    assert.deepStrictEqual(yield* above(0), [1, 5, 9])
    assert.deepStrictEqual(yield* above(1), [5, 9])
    assert.deepStrictEqual(yield* above(6), [9])
    assert.deepStrictEqual(yield* above(9), [])
    assert.deepStrictEqual(yield* above(1_000_000), [])
  })

  test("MUST read a long log whole, page by page", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id)
    const written = Array.from({ length: 2_500 }, (_, index) => sampleEvent(index + 2))
    yield* Effect.forEach([0, 500, 1000, 1500, 2000], (from) => appendTo(lease, written.slice(from, from + 500)))
    const read: Array<LogEvent> = []
    for (
      let page = yield* runs.read(runId, 1);
      page.length > 0;
      page = yield* runs.read(runId, eventSequence(page.at(-1)))
    ) {
      read.push(...page)
    }
    assert.deepStrictEqual(read, written)
  })

  test("MUST store several hundred entries with a settlement, with any characters in their texts", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    const events = Array.from({ length: 700 }, (_, index) =>
      sampleEvent(index + 2, `${index} \u001e "],["\\ \u001f{}\n你好`)
    )
    assert.isTrue(yield* settleTurn(turn, { events }))
    assert.deepStrictEqual(yield* runs.read(turn.runId, 1), events)
  })

  test("MUST give several hundred entries in one read", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id)
    yield* appendTo(
      lease,
      Array.from({ length: 800 }, (_, index) => sampleEvent(index + 2))
    )
    assert.strictEqual((yield* runs.read(runId, 0)).length, 801)
  })

  test("MUST skip events that are stored already, and store the new ones", function* () {
    const runs = yield* RunStore
    const { lease, runId } = yield* startTurn((yield* openThread).id)
    const first = [sampleEvent(2), sampleEvent(4)]
    assert.isTrue(yield* appendTo(lease, first))
    assert.isTrue(yield* appendTo(lease, first))
    assert.isTrue(yield* appendTo(lease, [sampleEvent(3, "too late"), sampleEvent(4, "other"), sampleEvent(6)]))
    assert.deepStrictEqual(yield* runs.read(runId, 1), [...first, sampleEvent(6)])
    assert.strictEqual((yield* storedRun(runId)).lastSequence, 6)
  })

  test("MUST answer whether the lease is valid when an append contains no events", function* () {
    const turn = yield* startTurn((yield* openThread).id)
    assert.isTrue(yield* appendTo(turn.lease, []))
    yield* settleTurn(turn)
    assert.isFalse(yield* appendTo(turn.lease, []))
  })

  test("MUST answer lost to an append with an older token, and change nothing", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    yield* runs.takeOver(turn.runId, anHour, { onlyExpired: false })
    const before = yield* storedRun(turn.runId)
    assert.isFalse(yield* appendTo(turn.lease, [sampleEvent(2)]))
    assert.deepStrictEqual(yield* storedRun(turn.runId), before)
    assert.deepStrictEqual(yield* runs.read(turn.runId, 1), [])
  })

  test("MUST NOT append to another owner's run", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    assert.isFalse(yield* appendTo({ ...turn.lease, ownerId: yield* newOwner }, [sampleEvent(2)]))
    assert.deepStrictEqual(yield* runs.read(turn.runId, 1), [])
  })

  test("MUST append to many runs at once, and to all but those that are lost", function* () {
    const runs = yield* RunStore
    const turns = yield* Effect.forEach([1, 2, 3, 4], () => Effect.flatMap(openThread, ({ id }) => startTurn(id)))
    const foreign = yield* asNewOwner(Effect.flatMap(openThread, ({ id }) => startTurn(id)))
    const [first, taken, ended, last] = turns
    if (first === undefined || taken === undefined || ended === undefined || last === undefined) return
    yield* runs.takeOver(taken.runId, anHour, { onlyExpired: false })
    yield* settleTurn(ended)
    const endedLog = yield* runs.read(ended.runId, 0)
    const lasts = [sampleEvent(2, awkwardJson), sampleEvent(7)]
    const answer = yield* runs.append([
      { lease: first.lease, events: [sampleEvent(2)] },
      { lease: taken.lease, events: [sampleEvent(2)] },
      { lease: foreign.lease, events: [sampleEvent(2)] },
      { lease: ended.lease, events: [sampleEvent(9)] },
      { lease: last.lease, events: lasts }
    ])
    assert.deepStrictEqual([...answer.lost].sort(), [taken.runId, ended.runId].sort())
    assert.deepStrictEqual(answer.later, [])
    assert.deepStrictEqual(yield* runs.read(first.runId, 1), [sampleEvent(2)])
    assert.deepStrictEqual(yield* runs.read(taken.runId, 1), [])
    assert.deepStrictEqual(yield* runs.read(ended.runId, 0), endedLog)
    assert.deepStrictEqual(yield* runs.read(last.runId, 1), lasts)
    assert.strictEqual((yield* storedRun(last.runId)).lastSequence, 7)
    const foreignLog = runs.read(foreign.runId, 1).pipe(Principal.provide(foreign.lease.ownerId))
    assert.deepStrictEqual(yield* foreignLog, [sampleEvent(2)])
  })

  test("MUST accept an append without any run", function* () {
    assert.deepStrictEqual(yield* (yield* RunStore).append([]), { lost: [], later: [] })
  })

  test("MUST accept writes under an expired lease that was not taken over", function* () {
    const turn = yield* startTurn((yield* openThread).id, { lease: noTime })
    assert.isTrue(yield* appendTo(turn.lease, [sampleEvent(2)]))
    assert.isTrue(yield* settleTurn(turn))
  })
}

const settling = (test: ContractTest): void => {
  test("MUST end the leg in one step: log, answer, state, usage and lease", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    yield* appendTo(turn.lease, [sampleEvent(2)])
    const before = yield* storedRun(turn.runId)
    const settlement = yield* sampleSettlement(turn, {
      status: "FAILED",
      events: [sampleEvent(3), sampleEvent(9, awkwardJson)],
      usage: sampleUsage(11, 22, 0.5),
      model: "the model that answered",
      fault: { code: "cut_off", message: "The model was cut off.", retryable: true },
      explanation: awkwardJson
    })
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    const { endedAt, ...after } = yield* storedRun(turn.runId)
    assert.instanceOf(endedAt, Date)
    const { endedAt: _, ...rest } = before
    const { explanation, fault, firstTokenAt, model, modelCalls, usage } = settlement
    const written = { explanation, fault, firstTokenAt, model, modelCalls, usage }
    assert.deepStrictEqual(after, { ...rest, status: "FAILED", lastSequence: 9, ...written })
    assert.deepStrictEqual((yield* storedMessages(id))[1], { ...settlement.answer, sequence: 2 })
    assert.deepStrictEqual((yield* runs.read(turn.runId, 0)).map(eventSequence), [1, 2, 3, 9])
    assert.deepStrictEqual(yield* runs.read(turn.runId, 2), settlement.events)
    assert.deepStrictEqual((yield* runs.renew([turn.lease], anHour)).lost, [turn.runId])
  })

  test("MUST end in every state that a run in progress can reach", function* () {
    const { id } = yield* openThread
    for (const status of ["COMPLETED", "FAILED", "CANCELLED"] as const) {
      const turn = yield* startTurn(id)
      assert.isTrue(yield* settleTurn(turn, { status }))
      const run = yield* storedRun(turn.runId)
      assert.strictEqual(run.status, status)
      assert.instanceOf(run.endedAt, Date)
    }
  })

  test("MUST store no end time for a run that waits for its client", function* () {
    const { id } = yield* openThread
    const { runId } = yield* pauseTurn(yield* startTurn(id))
    assert.deepInclude(yield* storedRun(runId), { status: "REQUIRES_ACTION", endedAt: null })
    assert.deepInclude((yield* storedMessages(id))[1], { status: "REQUIRES_ACTION", toolCalls: [sampleCall] })
  })

  test("MUST add up the usage of all legs", function* () {
    const first = yield* pauseTurn(yield* startTurn((yield* openThread).id), { usage: sampleUsage(1, 10, 0.5) })
    const second = yield* pauseTurn(yield* continueTurn(first), { usage: sampleUsage(2, 20) })
    yield* settleTurn(yield* continueTurn(second), { usage: { ...sampleUsage(4, 40, 0.25), estimated: true } })
    assert.deepStrictEqual((yield* storedRun(first.runId)).usage, { ...sampleUsage(7, 70, 0.75), estimated: true })
  })

  test("MUST keep the time of the first token of the first leg that has one", function* () {
    const first = yield* pauseTurn(yield* startTurn((yield* openThread).id), { firstTokenAt: null })
    const second = yield* pauseTurn(yield* continueTurn(first), { firstTokenAt: moment(3) })
    yield* settleTurn(yield* continueTurn(second), { firstTokenAt: moment(4) })
    assert.deepStrictEqual((yield* storedRun(first.runId)).firstTokenAt, moment(3))
  })

  test("MUST let one of two concurrent ends win", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    const statuses = ["COMPLETED", "CANCELLED", "FAILED"] as const
    const ends = yield* Effect.forEach(statuses, (status) => settleTurn(turn, { status }), {
      concurrency: "unbounded"
    })
    assert.strictEqual(ends.filter(Boolean).length, 1)
    assert.strictEqual((yield* storedRun(turn.runId)).status, statuses[ends.indexOf(true)])
    assert.strictEqual((yield* storedMessages(id)).length, 2)
    assert.deepStrictEqual((yield* runs.read(turn.runId, 0)).map(eventSequence), [1, 9])
  })

  test("MUST answer true to a settlement that is repeated under the same lease, and change nothing", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    const settlement = yield* sampleSettlement(turn, { usage: sampleUsage(1, 1) })
    assert.deepStrictEqual(
      yield* tenTimes(runs.settle(turn.lease, settlement)),
      Array.from({ length: 10 }, () => true)
    )
    const before = yield* storedRun(turn.runId)
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    assert.deepStrictEqual(yield* storedRun(turn.runId), before)
    assert.deepStrictEqual(before.usage, sampleUsage(1, 1))
    assert.strictEqual((yield* storedMessages(id)).length, 2)
    assert.deepStrictEqual((yield* runs.read(turn.runId, 0)).map(eventSequence), [1, 9])
  })

  test("MUST answer false to another end than the stored one, under the same lease", function* () {
    const statuses = ["COMPLETED", "FAILED", "CANCELLED", "REQUIRES_ACTION"] as const
    for (const status of statuses) {
      const turn = yield* startTurn((yield* openThread).id)
      assert.isTrue(yield* settleTurn(turn, { status }))
      const before = yield* storedRun(turn.runId)
      for (const other of statuses) {
        // A run whose calls were open may have been cancelled since, so that its settlement is a repeat.
        if (other === status || (status === "CANCELLED" && other === "REQUIRES_ACTION")) continue
        assert.isFalse(yield* settleTurn(turn, { status: other }), `${other} after ${status}`)
      }
      assert.deepStrictEqual(yield* storedRun(turn.runId), before)
    }
  })

  test("MUST answer true to a repeated settlement of a leg whose open calls were closed since", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    const settlement = yield* sampleSettlement(turn, { status: "REQUIRES_ACTION" })
    yield* runs.settle(turn.lease, settlement)
    yield* startTurn(id)
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    assert.strictEqual((yield* storedRun(turn.runId)).status, "CANCELLED")
  })

  test("MUST answer lost to a settlement with an older token, and change nothing", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    yield* runs.takeOver(turn.runId, anHour, { onlyExpired: false })
    const before = yield* storedRun(turn.runId)
    assert.isFalse(yield* settleTurn(turn))
    assert.deepStrictEqual(yield* storedRun(turn.runId), before)
    assert.deepInclude((yield* storedMessages(id))[1], { status: "IN_PROGRESS", content: null })
    assert.deepStrictEqual(yield* runs.read(turn.runId, 1), [])
  })

  test("MUST NOT settle another owner's run", function* () {
    const turn = yield* startTurn((yield* openThread).id)
    assert.isFalse(yield* asNewOwner(settleTurn(turn)))
    assert.strictEqual((yield* storedRun(turn.runId)).status, "IN_PROGRESS")
  })

  test("MUST skip the events of a settlement that were appended already", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    yield* appendTo(turn.lease, [sampleEvent(2), sampleEvent(3)])
    yield* settleTurn(turn, { events: [sampleEvent(2), sampleEvent(3), sampleEvent(4)] })
    assert.deepStrictEqual((yield* runs.read(turn.runId, 0)).map(eventSequence), [1, 2, 3, 4])
  })
}

const settlingQueued = (test: ContractTest): void => {
  test("MUST store the message of a queued run before its end, and no beginning in its log", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id, { events: [sampleEvent(1), sampleEvent(2), sampleEvent(3, "the beginning")] })
    const settlement = yield* sampleSettlement(queued, { status: "CANCELLED", events: [sampleEvent(7)] })
    assert.isTrue(yield* runs.settle(queued.lease, settlement))
    assert.deepInclude(yield* storedRun(queued.runId), { status: "CANCELLED", lastSequence: 7, usage: noUsage })
    const [asked, answered] = yield* runs.messages(queued.runId)
    assert.deepStrictEqual([asked?.id, answered?.id], [queued.begin.message.id, queued.answerId])
    assert.strictEqual(answered?.status, "CANCELLED")
    assert.deepStrictEqual((yield* runs.read(queued.runId, 0)).map(eventSequence), [1, 2, 7])
    assert.isTrue(yield* settleTurn(first))
    const messages = yield* storedMessages(id)
    assert.deepStrictEqual(
      messages.map(({ sequence }) => sequence),
      [1, 2, 3, 4]
    )
  })

  test("MUST put the end of a queued run in the place of the beginning that it never had", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* startTurn(id)
    const queued = yield* queueTurn(id, { events: [sampleEvent(1), sampleEvent(2, "the beginning")] })
    yield* settleTurn(queued, { status: "FAILED", events: [sampleEvent(2, "the end")] })
    assert.deepStrictEqual(yield* runs.read(queued.runId, 0), [sampleEvent(1), sampleEvent(2, "the end")])
  })

  test("MUST NOT let a queued run end as if it had been answered", function* () {
    const { id } = yield* openThread
    yield* startTurn(id)
    const queued = yield* queueTurn(id)
    assert.isFalse(yield* settleTurn(queued, { status: "COMPLETED" }))
    assert.isFalse(yield* settleTurn(queued, { status: "REQUIRES_ACTION" }))
    assert.strictEqual((yield* storedRun(queued.runId)).status, "QUEUED")
    assert.strictEqual((yield* storedMessages(id)).length, 2)
  })

  test("MUST let the next run start after a queued run was settled", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const [second, third] = [yield* queueTurn(id), yield* queueTurn(id)]
    yield* settleTurn(second, { status: "FAILED" })
    yield* settleTurn(first)
    expectTag(yield* runs.activate(third.lease, anHour, 0), "Started")
  })
}

const eventSequence = (event: LogEvent | undefined): number => event?.sequence ?? assert.fail("There is no event.")
