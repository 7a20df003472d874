/** The contract of `RunStore.begin`: which run may start on a thread, what is stored with the start, and what a repeated request finds. */
import { RunId, ThreadId } from "@colloquy/core"
import { AssistantStore, newId, noUsage, RunStore, ScheduleId, ThreadStore } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, awkwardJson, sampleBegin, sampleContinue, sampleEvent } from "./Samples.ts"
import {
  anHour,
  appendTo,
  changeAssistant,
  continueTurn,
  expectTag,
  noTime,
  openThread,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  tally,
  tenTimes,
  waitingTurn
} from "./Scenes.ts"

export const runBeginContract = (test: ContractTest): void => {
  starting(test)
  refusing(test)
  saving(test)
  superseding(test)
  repeating(test)
  beginningAgain(test)
}

const starting = (test: ContractTest): void => {
  test("MUST start a run on a free thread, and give it back equal in every field", function* () {
    const thread = yield* openThread
    const scheduleId = yield* newId(ScheduleId)
    const run = {
      stream: true,
      provider: "a-provider",
      model: "a-model",
      plan: awkwardJson,
      assistantVersion: 3,
      scheduleId,
      parentRunId: yield* newId(RunId)
    }
    const { begin } = yield* startTurn(thread.id, { run, events: [sampleEvent(1), sampleEvent(4)] })
    const { startedAt, ...stored } = yield* storedRun(begin.run.id)
    assert.instanceOf(startedAt, Date)
    assert.deepStrictEqual(stored, {
      ...begin.run,
      assistantId: thread.assistantId,
      status: "IN_PROGRESS",
      leg: 0,
      legStart: 1,
      lastSequence: 4,
      userMessageId: begin.message.id,
      usage: noUsage,
      modelCalls: 0,
      firstTokenAt: null,
      fault: null,
      explanation: null,
      cancelRequested: false,
      endedAt: null
    })
  })

  test("MUST store the user's message and the first log entries with the start", function* () {
    const { id } = yield* openThread
    const events = [sampleEvent(1, awkwardJson), sampleEvent(2)]
    const { begin, history, runId } = yield* startTurn(id, { events })
    const message = { ...begin.message, sequence: 1 }
    assert.deepStrictEqual(history, { messages: [message], older: { messages: 0, tokens: 0 } })
    assert.deepStrictEqual(yield* (yield* RunStore).messages(runId), [message])
    assert.deepStrictEqual(yield* (yield* RunStore).read(runId, 0), events)
  })

  test("MUST let one of ten concurrent begins start, and refuse the others, under `reject`", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const outcomes = yield* tenTimes(Effect.flatMap(sampleBegin(id, { mode: "reject" }), runs.begin))
    assert.deepStrictEqual(tally(outcomes), { Started: 1, Busy: 9 })
    const winner = outcomes.flatMap((each) => (each._tag === "Started" ? [each.lease.runId] : []))
    const blockers = outcomes.flatMap((each) => (each._tag === "Busy" ? [each.runId] : []))
    assert.deepStrictEqual([...new Set(blockers)], winner)
    assert.strictEqual((yield* runs.messages(winner[0] ?? assert.fail())).length, 1)
    assert.strictEqual((yield* storedMessages(id)).length, 2)
  })

  test("MUST let one of ten concurrent begins start, and queue the others, under `enqueue`", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const outcomes = yield* tenTimes(Effect.flatMap(sampleBegin(id), runs.begin))
    assert.deepStrictEqual(tally(outcomes), { Started: 1, Queued: 9 })
  })

  test("MUST NOT let runs of other threads block the thread", function* () {
    const [one, other] = [yield* openThread, yield* openThread]
    yield* startTurn(one.id)
    yield* startTurn(other.id, { mode: "reject" })
  })

  test("MUST release a thread when its run has ended", function* () {
    const { id } = yield* openThread
    for (const status of ["COMPLETED", "FAILED", "CANCELLED"] as const) {
      yield* settleTurn(yield* startTurn(id, { mode: "reject" }), { status })
    }
    yield* startTurn(id, { mode: "reject" })
  })
}

const refusing = (test: ContractTest): void => {
  test("MUST answer ThreadMissing, and store nothing, for a thread that is unknown or another owner's", function* () {
    const runs = yield* RunStore
    const theirs = yield* asNewOwner(openThread)
    for (const threadId of [theirs.id, yield* newId(ThreadId)]) {
      for (const fields of [{ mode: "enqueue" }, { mode: "reject" }, { saves: true }] as const) {
        const begin = yield* sampleBegin(threadId, { ...fields, idempotency: yield* someKey })
        assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "ThreadMissing" })
        assert.isTrue(Option.isNone(yield* runs.get(begin.run.id)))
        assert.isTrue(Option.isNone(yield* runs.findRepeated(begin.idempotency?.key ?? "")))
      }
    }
  })

  test("MUST begin a turn whose thread has the same revision, however many turns came between", function* () {
    const { id } = yield* openThread
    yield* (yield* ThreadStore).mergeMetadata(id, { topic: "tea" })
    const decidedOn = yield* threadRevision(id)
    for (let turn = 0; turn < 3; turn++) yield* settleTurn(yield* startTurn(id, { decidedOn }))
    yield* waitingTurn(id, { decidedOn })
    assert.strictEqual(yield* threadRevision(id), decidedOn)
    const saved = yield* (yield* RunStore).begin(yield* sampleBegin(id, { decidedOn, saves: true }))
    assert.deepStrictEqual(saved, { _tag: "Saved" })
  })

  test("MUST answer Outdated, and store nothing, when the assistant or the thread has changed since the turn was decided", function* () {
    const [runs, threads] = [yield* RunStore, yield* ThreadStore]
    const { assistantId, id } = yield* openThread
    const changes = [
      changeAssistant(assistantId, { systemPrompt: "Another." }),
      // The same words at the same time: in between, the field may have had another value.
      changeAssistant(assistantId, { systemPrompt: "Another." }),
      threads.mergeMetadata(id, { topic: "tea" }),
      threads.mergeMetadata(id, { topic: null }),
      threads.pin(id, 2),
      threads.pin(id, null),
      threads.setSummary(id, { text: "Tea.", throughSequence: 1, tokens: 2 }),
      threads.setSummary(id, { text: "Tea.", throughSequence: 2, tokens: 2 })
    ]
    for (const change of changes) {
      const decidedOn = yield* threadRevision(id)
      yield* change
      const begin = yield* sampleBegin(id, { decidedOn, idempotency: yield* someKey })
      assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "Outdated" })
      assert.isTrue(Option.isNone(yield* runs.get(begin.run.id)))
      assert.isTrue(Option.isNone(yield* runs.findRepeated(begin.idempotency?.key ?? "")))
      assert.deepStrictEqual(yield* storedMessages(id), [])
    }
  })

  test("MUST answer Outdated before Busy, and Repeated before Outdated", function* () {
    const runs = yield* RunStore
    const { assistantId, id } = yield* openThread
    const decidedOn = yield* threadRevision(id)
    const { begin } = yield* startTurn(id, { decidedOn })
    yield* changeAssistant(assistantId, { name: "other" })
    assert.deepStrictEqual(yield* runs.begin(yield* sampleBegin(id, { decidedOn, mode: "reject" })), {
      _tag: "Outdated"
    })
    expectTag(yield* runs.begin(begin), "Started")
  })

  test("MUST answer Busy under `reject` while a run is in progress, name it, and store nothing", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const { answerId, begin, runId } = yield* startTurn(id)
    const second = yield* sampleBegin(id, { mode: "reject", idempotency: yield* someKey })
    assert.deepStrictEqual(yield* runs.begin(second), { _tag: "Busy", runId, expired: false })
    assert.isTrue(Option.isNone(yield* runs.get(second.run.id)))
    assert.isTrue(Option.isNone(yield* runs.findRepeated(second.idempotency?.key ?? "")))
    assert.deepStrictEqual(yield* runs.read(second.run.id, 0), [])
    assert.deepStrictEqual(
      (yield* storedMessages(id)).map((message) => message.id),
      [begin.message.id, answerId]
    )
  })

  test("MUST answer Busy under `reject` while a run is queued, and name it", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const queued = yield* queueTurn(id)
    yield* settleTurn(first)
    const outcome = yield* runs.begin(yield* sampleBegin(id, { mode: "reject" }))
    assert.deepStrictEqual(outcome, { _tag: "Busy", runId: queued.runId, expired: false })
  })

  test("MUST say in Busy that the lease of the blocking run has expired", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const { runId } = yield* startTurn(id, { lease: noTime })
    const outcome = yield* runs.begin(yield* sampleBegin(id, { mode: "reject" }))
    assert.deepStrictEqual(outcome, { _tag: "Busy", runId, expired: true })
  })

  test("MUST answer Busy, and store nothing, when `maxQueued` runs wait already", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const { runId } = yield* startTurn(id, { maxQueued: 0 })
    yield* queueTurn(id, { maxQueued: 2 })
    yield* queueTurn(id, { maxQueued: 2 })
    const third = yield* sampleBegin(id, { maxQueued: 2 })
    assert.deepStrictEqual(yield* runs.begin(third), { _tag: "Busy", runId, expired: false })
    assert.isTrue(Option.isNone(yield* runs.get(third.run.id)))
  })

  test("MUST NOT let concurrent begins overfill the queue", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const outcomes = yield* tenTimes(Effect.flatMap(sampleBegin(id, { maxQueued: 3 }), runs.begin))
    assert.deepStrictEqual(tally(outcomes), { Started: 1, Queued: 3, Busy: 6 })
  })
}

const saving = (test: ContractTest): void => {
  test("MUST keep the message of a run that is only saved, and complete it at once", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const begin = yield* sampleBegin(id, { saves: true })
    assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "Saved" })
    const run = yield* storedRun(begin.run.id)
    assert.deepInclude(run, { status: "COMPLETED", usage: noUsage, fault: null, lastSequence: 1 })
    assert.instanceOf(run.startedAt, Date)
    assert.instanceOf(run.endedAt, Date)
    assert.deepStrictEqual(yield* storedMessages(id), [{ ...begin.message, sequence: 1 }])
    assert.deepStrictEqual(yield* runs.messages(begin.run.id), [{ ...begin.message, sequence: 1 }])
    assert.deepStrictEqual(yield* runs.read(begin.run.id, 0), begin.events)
    yield* startTurn(id, { mode: "reject" })
  })

  test("MUST queue a message that is only saved, so that an answer stays next to its question", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const active = yield* startTurn(id)
    const refused = yield* sampleBegin(id, { saves: true, mode: "reject" })
    assert.strictEqual(expectTag(yield* runs.begin(refused), "Busy").runId, active.runId)
    const full = yield* sampleBegin(id, { saves: true, maxQueued: 0 })
    assert.strictEqual(expectTag(yield* runs.begin(full), "Busy").runId, active.runId)
    const saved = yield* queueTurn(id, { saves: true })
    const next = yield* queueTurn(id)
    const save = { followUps: [] }
    assert.strictEqual(expectTag(yield* runs.activate(saved.lease, anHour, 0, save), "Waiting").runId, active.runId)
    assert.isTrue(yield* settleTurn(active))
    assert.strictEqual(expectTag(yield* runs.activate(next.lease, anHour, 0), "Waiting").runId, saved.runId)
    for (let time = 0; time < 2; time++) {
      expectTag(yield* runs.activate(saved.lease, anHour, 0, save), "Saved")
      expectTag(yield* runs.begin(saved.begin), "Saved")
    }
    const run = yield* storedRun(saved.runId)
    assert.deepInclude(run, { status: "COMPLETED", lastSequence: 1 })
    assert.instanceOf(run.endedAt, Date)
    assert.deepStrictEqual(yield* runs.read(saved.runId, 0), saved.begin.events)
    expectTag(yield* runs.activate(next.lease, anHour, 0), "Started")
    assert.deepStrictEqual(
      (yield* storedMessages(id)).map((message) => message.id),
      [active.begin.message.id, active.answerId, saved.begin.message.id, next.begin.message.id, next.answerId]
    )
  })
}

const superseding = (test: ContractTest): void => {
  test("MUST supersede a run that requires action, its message too, in the same step", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    const { history } = yield* startTurn(id, { mode: "reject" })
    const superseded = yield* storedRun(waiting.runId)
    assert.strictEqual(superseded.status, "CANCELLED")
    assert.instanceOf(superseded.endedAt, Date)
    assert.deepInclude(history.messages[1], { id: waiting.answerId, status: "CANCELLED" })
    assert.deepInclude((yield* runs.messages(waiting.runId))[1], { id: waiting.answerId, status: "CANCELLED" })
    assert.isTrue(Option.isNone(yield* runs.waitingOn(id)))
    assert.deepStrictEqual(yield* runs.continue(yield* sampleContinue(waiting)), { _tag: "NotOpen" })
  })

  test("MUST supersede with a message that is only saved", function* () {
    const { id } = yield* openThread
    const waiting = yield* waitingTurn(id)
    expectTag(yield* (yield* RunStore).begin(yield* sampleBegin(id, { saves: true })), "Saved")
    assert.strictEqual((yield* storedRun(waiting.runId)).status, "CANCELLED")
  })

  test("MUST NOT supersede when it stores nothing", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id, { idempotency: { key: "first", fingerprint: "1" } })
    yield* queueTurn(id)
    yield* settleTurn(first, { status: "REQUIRES_ACTION" })
    expectTag(yield* runs.begin(yield* sampleBegin(id, { mode: "reject" })), "Busy")
    expectTag(yield* runs.begin(yield* sampleBegin(id, { maxQueued: 1 })), "Busy")
    const repeat = yield* sampleBegin(id, { idempotency: { key: "first", fingerprint: "1" } })
    expectTag(yield* runs.begin(repeat), "Repeated")
    assert.strictEqual((yield* storedRun(first.runId)).status, "REQUIRES_ACTION")
  })

  test("MUST let a queued run supersede when it starts, and not before", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const second = yield* queueTurn(id)
    yield* settleTurn(first, { status: "REQUIRES_ACTION" })
    yield* queueTurn(id)
    assert.strictEqual((yield* storedRun(first.runId)).status, "REQUIRES_ACTION")
    const { history } = expectTag(yield* runs.activate(second.lease, anHour, 1000), "Started")
    assert.strictEqual((yield* storedRun(first.runId)).status, "CANCELLED")
    assert.deepInclude(history.messages[1], { id: first.answerId, status: "CANCELLED" })
  })
}

const repeating = (test: ContractTest): void => {
  test("MUST give one run to concurrent callers of one idempotency key", function* () {
    const runs = yield* RunStore
    const idempotency = { key: "the key", fingerprint: "the body" }
    const begins = Effect.flatMap(openThread, ({ id }) => sampleBegin(id, { idempotency }))
    const outcomes = yield* tenTimes(Effect.flatMap(begins, runs.begin))
    assert.deepStrictEqual(tally(outcomes), { Started: 1, Repeated: 9 })
    const [lease = assert.fail()] = outcomes.flatMap((each) => (each._tag === "Started" ? [each.lease] : []))
    const { runId, threadId } = lease
    const repeated = { _tag: "Repeated", runId, legStart: 1, fingerprint: "the body" } as const
    for (const each of outcomes) if (each._tag === "Repeated") assert.deepStrictEqual(each, repeated)
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.findRepeated("the key")), { ...repeated, threadId })
  })

  test("MUST store nothing for a repeated key, and keep the first fingerprint", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id, { idempotency: { key: "k", fingerprint: "first" } }))
    const again = yield* sampleBegin(id, { idempotency: { key: "k", fingerprint: "second" } })
    assert.strictEqual(expectTag(yield* runs.begin(again), "Repeated").fingerprint, "first")
    assert.isTrue(Option.isNone(yield* runs.get(again.run.id)))
    assert.strictEqual((yield* storedMessages(id)).length, 2)
  })

  test("MUST find a key whose run was deleted with its thread, or by a rewind that keeps nothing, and begin nothing for it", function* () {
    const runs = yield* RunStore
    const { id: gone } = yield* openThread
    const first = yield* startTurn(gone, { idempotency: { key: "first", fingerprint: "1" } })
    yield* settleTurn(first)
    yield* (yield* ThreadStore).remove(gone)
    const { id } = yield* openThread
    const second = yield* startTurn(id, { idempotency: { key: "second", fingerprint: "2" } })
    yield* settleTurn(second)
    const newest = Option.map(yield* runs.locate(id, null), (found) => found.newest)
    const back = { keeps: 0, newest: Option.getOrThrow(newest), keptAs: null }
    const rewound = yield* runs.rewindThread({ threadId: id, ...back, at: new Date(0), followUps: [], once: null })
    assert.strictEqual(rewound._tag, "Done")
    for (const [key, { runId }, threadId] of [
      ["first", first, gone],
      ["second", second, id]
    ] as const) {
      assert.isTrue(Option.isNone(yield* runs.get(runId)), key)
      const found = Option.getOrThrow(yield* runs.findRepeated(key))
      assert.deepStrictEqual([found.runId, found.threadId], [runId, threadId])
      const again = yield* sampleBegin(id, { idempotency: { key, fingerprint: "3" } })
      assert.strictEqual(expectTag(yield* runs.begin(again), "Repeated").runId, runId)
    }
    assert.deepStrictEqual(yield* storedMessages(id), [])
  })

  test("MUST find the key of a queued run and of a saved message", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* startTurn(id)
    const queued = yield* queueTurn(id, { idempotency: { key: "queued", fingerprint: "1" } })
    const saved = yield* sampleBegin(id, { saves: true, idempotency: { key: "saved", fingerprint: "2" } })
    yield* runs.begin(saved)
    assert.strictEqual(Option.getOrThrow(yield* runs.findRepeated("queued")).runId, queued.runId)
    assert.strictEqual(Option.getOrThrow(yield* runs.findRepeated("saved")).runId, saved.run.id)
  })

  test("MUST NOT find another owner's key, nor mix it with the principal's of the same name", function* () {
    const runs = yield* RunStore
    const idempotency = { key: "same", fingerprint: "body" }
    yield* asNewOwner(Effect.flatMap(openThread, ({ id }) => startTurn(id, { idempotency })))
    assert.isTrue(Option.isNone(yield* runs.findRepeated("same")))
    const { runId } = yield* startTurn((yield* openThread).id, { idempotency })
    assert.strictEqual(Option.getOrThrow(yield* runs.findRepeated("same")).runId, runId)
  })

  test.withCapability("testClock")("MUST know a key while it is younger than 24 hours", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const idempotency = { key: "k", fingerprint: "1" }
    const first = yield* startTurn(id, { idempotency })
    yield* settleTurn(first)
    yield* TestClock.adjust("24 hours")
    yield* TestClock.adjust(-1)
    expectTag(yield* runs.begin(yield* sampleBegin(id, { idempotency })), "Repeated")
    yield* TestClock.adjust(1)
    assert.isTrue(Option.isNone(yield* runs.findRepeated("k")))
    const second = yield* startTurn(id, { idempotency })
    assert.strictEqual(Option.getOrThrow(yield* runs.findRepeated("k")).runId, second.runId)
  })
}

const someKey = Effect.map(newId(ThreadId), (key) => ({ key, fingerprint: "body" }))

const beginningAgain = (test: ContractTest): void => {
  test("MUST answer a begin that is repeated with the same run id like the first one, and store nothing again", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const { begin, history, lease } = yield* startTurn(id, { events: [sampleEvent(1), sampleEvent(3)] })
    const before = [yield* storedRun(begin.run.id), yield* storedMessages(id)]
    assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "Started", lease, history, reserved: null })
    assert.deepStrictEqual([yield* storedRun(begin.run.id), yield* storedMessages(id)], before)
    assert.deepStrictEqual(yield* runs.read(begin.run.id, 0), begin.events)
    assert.isTrue(yield* appendTo(lease, [sampleEvent(4)]))
  })

  test("MUST begin once when several calls have the same run id, and answer all of them alike", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const idempotency = yield* someKey
    const first = yield* sampleBegin(id, { idempotency })
    const outcomes = yield* tenTimes(runs.begin(first))
    assert.deepStrictEqual(tally(outcomes), { Started: 10 })
    assert.strictEqual(new Set(outcomes.map((each) => expectTag(each, "Started").lease.token)).size, 1)
    assert.strictEqual((yield* runs.messages(first.run.id)).length, 1)
    const queued = yield* sampleBegin(id)
    assert.deepStrictEqual(tally(yield* tenTimes(runs.begin(queued))), { Queued: 10 })
    assert.strictEqual(
      expectTag(yield* runs.begin(yield* sampleBegin(id, { mode: "reject" })), "Busy").runId,
      first.run.id
    )
  })

  test("MUST answer a repeated begin with a key like the first one, and another run with that key Repeated", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const idempotency = yield* someKey
    const { begin, lease } = yield* startTurn(id, { idempotency })
    assert.deepStrictEqual(expectTag(yield* runs.begin(begin), "Started").lease, lease)
    const other = yield* sampleBegin(id, { idempotency })
    assert.strictEqual(expectTag(yield* runs.begin(other), "Repeated").runId, begin.run.id)
  })

  test("MUST answer Queued again, under the same lease, while the run waits", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const first = yield* startTurn(id)
    const { begin, lease, runId } = yield* queueTurn(id)
    assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "Queued", lease, reserved: null })
    yield* settleTurn(first)
    assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "Queued", lease, reserved: null })
    expectTag(yield* runs.activate(lease, anHour, 0), "Started")
    assert.deepStrictEqual(expectTag(yield* runs.begin(begin), "Started").lease, lease)
    assert.strictEqual((yield* runs.messages(runId)).length, 1)
  })

  test("MUST answer Queued again to a message that is only saved, while it waits", function* () {
    const { id } = yield* openThread
    yield* startTurn(id)
    const { begin, lease } = yield* queueTurn(id, { saves: true })
    assert.deepStrictEqual(yield* (yield* RunStore).begin(begin), { _tag: "Queued", lease, reserved: null })
  })

  test("MUST answer Saved again", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const begin = yield* sampleBegin(id, { saves: true })
    for (let time = 0; time < 2; time++) assert.deepStrictEqual(yield* runs.begin(begin), { _tag: "Saved" })
    assert.strictEqual((yield* storedMessages(id)).length, 1)
  })

  test("MUST prolong the lease of a repeated begin", function* () {
    const runs = yield* RunStore
    const { begin, runId } = yield* startTurn((yield* openThread).id, { lease: noTime })
    expectTag(yield* runs.begin({ ...begin, lease: anHour }), "Started")
    assert.isTrue(Option.isNone(yield* runs.takeOver(runId, anHour, { onlyExpired: true })))
  })

  test("MUST answer Repeated, with the run itself, to a begin whose lease was lost, or whose run has ended", function* () {
    const runs = yield* RunStore
    const idempotency = yield* someKey
    const taken = yield* startTurn((yield* openThread).id, { idempotency })
    assert.isTrue(Option.isSome(yield* runs.takeOver(taken.runId, anHour, { onlyExpired: false })))
    const ended = yield* startTurn((yield* openThread).id)
    yield* settleTurn(ended)
    const goneOn = yield* continueTurn(yield* waitingTurn((yield* openThread).id))
    const told = (runId: typeof taken.runId, legStart: number, fingerprint: string) =>
      ({ _tag: "Repeated", runId, legStart, fingerprint }) as const
    assert.deepStrictEqual(yield* runs.begin(taken.begin), told(taken.runId, 1, idempotency.fingerprint))
    assert.deepStrictEqual(yield* runs.begin(ended.begin), told(ended.runId, 1, ""))
    const waits = yield* queueTurn(taken.threadId)
    assert.isTrue(Option.isSome(yield* runs.takeOver(waits.runId, anHour, { onlyExpired: false })))
    assert.deepStrictEqual(yield* runs.begin(waits.begin), told(waits.runId, 1, ""))
    assert.strictEqual(expectTag(yield* runs.begin(goneOn.begin), "Repeated").runId, goneOn.runId)
    assert.isTrue(yield* settleTurn(goneOn))
  })
}

const threadRevision = (id: ThreadId) =>
  AssistantStore.use(({ ofThread }) => Effect.map(ofThread(id), (found) => Option.getOrThrow(found).revision))
