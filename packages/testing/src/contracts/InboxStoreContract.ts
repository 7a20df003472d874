/** The contract of `InboxStore`: lists of all runs of an owner, and the changes of their states while a client follows. */
import { type Principal, RunId, type StoreUnavailable, ThreadId } from "@colloquy/core"
import { InboxStore, longestPreview, newId, RunStore, ScheduleId, ThreadStore } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Struct from "effect/Struct"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, moment, sampleThread, sampleUsage } from "./Samples.ts"
import {
  anHour,
  continueTurn,
  openThread,
  queueTurn,
  refusedWhileErasing,
  settleTurn,
  startTurn,
  storedRun,
  waitingTurn
} from "./Scenes.ts"

const ids = (runs: ReadonlyArray<{ readonly id: RunId }>): ReadonlyArray<RunId> => runs.map(({ id }) => id)

const listed = Effect.fnUntraced(function* (
  filter: Omit<Parameters<typeof InboxStore.Service.list>[0], "limit"> & { readonly limit?: number } = {}
) {
  return yield* (yield* InboxStore).list({ limit: 100, ...filter })
})

const changesAfter = (mark: number, limit = 100) => InboxStore.use((store) => store.changes(mark, anHour, limit))

const followNow: Effect.Effect<number, StoreUnavailable, InboxStore | Principal> = InboxStore.use((store) =>
  store.follow(anHour, anHour)
)

export const inboxStoreContract = (test: ContractTest): void => {
  test("MUST list the principal's runs, newest first, with the beginning of their newest answer", function* () {
    const thread = yield* openThread
    const other = yield* openThread
    const scheduleId = yield* newId(ScheduleId)
    const parentRunId = yield* newId(RunId)
    const said = `${'a\u0000\ud800"\\\n'.repeat(60)} end`
    const first = yield* startTurn(thread.id, { run: { scheduleId, parentRunId, createdAt: moment(1) } })
    yield* settleTurn(first, {
      answer: { content: said },
      usage: sampleUsage(3, 4, 0.5),
      modelCalls: 2,
      firstTokenAt: moment(5)
    })
    const failed = yield* startTurn(other.id, {
      // What a client writes into a plan names no parent.
      run: { createdAt: moment(2), plan: { tools: [{ parent: { runId: first.runId } }] } }
    })
    const fault = { code: "a_code", message: "It failed.", retryable: true }
    yield* settleTurn(failed, { status: "FAILED", fault, answer: { content: null, fault }, firstTokenAt: null })
    const waiting = yield* waitingTurn(thread.id, { run: { createdAt: moment(3) } })
    const active = yield* startTurn(other.id, { run: { createdAt: moment(4) } })
    const queued = yield* queueTurn(other.id, { run: { createdAt: moment(4) } })
    const newest = active.runId > queued.runId ? [active.runId, queued.runId] : [queued.runId, active.runId]
    const all = [...newest, waiting.runId, failed.runId, first.runId]

    const found = yield* listed()
    assert.deepStrictEqual(ids(found), all)
    const { answerId, userMessageId, ...run } = yield* storedRun(first.runId)
    const known = Struct.omit(run, [
      "cancelRequested",
      "explanation",
      "lastSequence",
      "leg",
      "legStart",
      "plan",
      "stream"
    ])
    assert.deepStrictEqual(found.at(-1), { ...known, contentPreview: said.slice(0, longestPreview) })
    assert.deepStrictEqual(
      [known.modelCalls, known.firstTokenAt, known.scheduleId, known.parentRunId, answerId === userMessageId],
      [2, moment(5), scheduleId, parentRunId, false]
    )
    assert.deepStrictEqual(
      found.map(({ contentPreview }) => contentPreview),
      [null, null, "Said by the assistant", null, said.slice(0, longestPreview)]
    )
    assert.deepStrictEqual([found[3]?.fault, found[3]?.parentRunId], [fault, null])
    assert.deepStrictEqual(yield* (yield* InboxStore).summary(first.runId), found.at(-1))
    assert.isNull(yield* (yield* InboxStore).summary(yield* newId(RunId)))
  })

  test("MUST fit the filter and go on after a run, without a repeat and without a gap", function* () {
    const thread = yield* openThread
    const other = yield* openThread
    const ended = yield* Effect.forEach([1, 2, 2, 3], (second) =>
      Effect.tap(startTurn(thread.id, { run: { createdAt: moment(second) } }), (turn) => settleTurn(turn))
    )
    const waiting = yield* waitingTurn(other.id, { run: { createdAt: moment(4) } })
    const active = yield* startTurn(thread.id, { run: { createdAt: moment(5) } })
    const queued = yield* queueTurn(thread.id, { run: { createdAt: moment(6) } })
    const all = yield* listed()
    assert.strictEqual(all.length, 7)
    const pages: Array<RunId> = []
    let after = {}
    assert.lengthOf(yield* listed({ limit: 2 }), 2)
    for (let page = yield* listed({ limit: 2 }); page.length > 0; page = yield* listed({ limit: 2, ...after })) {
      pages.push(...ids(page))
      const last = page.at(-1)
      after = last === undefined ? {} : { after: last }
    }
    assert.deepStrictEqual(pages, ids(all))
    assert.deepStrictEqual(ids(yield* listed({ status: "REQUIRES_ACTION" })), [waiting.runId])
    assert.deepStrictEqual(ids(yield* listed({ status: "IN_PROGRESS" })), [active.runId])
    assert.deepStrictEqual(ids(yield* listed({ status: "QUEUED" })), [queued.runId])
    assert.deepStrictEqual((yield* listed({ status: "COMPLETED" })).length, 4)
    assert.deepStrictEqual(ids(yield* listed({ threadId: other.id })), [waiting.runId])
    assert.deepStrictEqual(ids(yield* listed({ assistantId: other.assistantId })), [waiting.runId])
    assert.deepStrictEqual(ids(yield* listed({ threadId: other.id, status: "QUEUED" })), [])
    assert.deepStrictEqual(ids(yield* listed({ since: moment(5) })), [queued.runId, active.runId])
    assert.deepStrictEqual(
      ids(yield* listed({ since: moment(3), status: "COMPLETED" })),
      ids(ended.slice(3).map(({ runId: id }) => ({ id })))
    )
  })

  test("MUST list the runs of a thread and not those whose messages were copied to it, or moved to another one", function* () {
    const runs = yield* RunStore
    const thread = yield* openThread
    const first = yield* startTurn(thread.id)
    yield* settleTurn(first)
    const turn = yield* startTurn(thread.id)
    yield* settleTurn(turn)
    const { count, newest } = Option.getOrThrow(yield* runs.locate(thread.id, null))
    const from = { threadId: thread.id, keeps: count, newest }
    const fork = { ...(yield* sampleThread(thread.assistantId)), createdAt: moment(40), updatedAt: moment(40) }
    yield* runs.forkThread({ from, thread: fork, once: null })
    assert.deepStrictEqual(yield* listed({ threadId: fork.id }), [])
    assert.lengthOf(yield* listed({ threadId: thread.id }), 2)
    const keptAs = yield* newId(ThreadId)
    yield* runs.rewindThread({ ...from, keeps: 3, keptAs, at: moment(50), followUps: [], once: null })
    assert.deepStrictEqual(ids(yield* listed({ threadId: thread.id })), [first.runId])
    assert.deepStrictEqual(ids(yield* listed({ threadId: keptAs })), [turn.runId])
  })

  test("MUST record every change of a run's state while somebody follows, with rising marks, and nothing before", function* () {
    const thread = yield* openThread
    const before = yield* startTurn(thread.id)
    const start = yield* followNow
    assert.deepStrictEqual(yield* changesAfter(start), [])
    yield* settleTurn(before)
    const turn = yield* startTurn(thread.id)
    const queued = yield* queueTurn(thread.id)
    const [ended, begun, waits] = yield* changesAfter(start)
    assert.deepStrictEqual(
      [ended, begun, waits].map((change) => [change?.run.id, change?.run.status]),
      [
        [before.runId, "COMPLETED"],
        [turn.runId, "IN_PROGRESS"],
        [queued.runId, "QUEUED"]
      ]
    )
    const seen = waits?.mark ?? 0
    assert.isTrue(start < (ended?.mark ?? 0) && (ended?.mark ?? 0) < (begun?.mark ?? 0) && (begun?.mark ?? 0) < seen)
    yield* (yield* RunStore).withdraw(queued.lease)
    yield* settleTurn(turn, {
      status: "REQUIRES_ACTION",
      answer: { toolCalls: [{ id: "c", name: "n", arguments: "{}" }] }
    })
    const next = yield* continueTurn(turn)
    yield* settleTurn(next, {
      status: "REQUIRES_ACTION",
      answer: { toolCalls: [{ id: "c", name: "n", arguments: "{}" }] }
    })
    yield* (yield* RunStore).requestCancel(turn.runId, moment(9))
    const after = yield* changesAfter(seen)
    assert.deepStrictEqual(
      after.map(({ run }) => [run.id, run.status]),
      [[turn.runId, "CANCELLED"]]
    )
    assert.strictEqual(yield* followNow, after[0]?.mark)
  })

  test("MUST NOT show a record later with a mark below one that was returned", function* () {
    const start = yield* followNow
    const threads = yield* Effect.forEach(Array.from({ length: 10 }), () => openThread)
    const writing = yield* Effect.forkChild(
      Effect.forEach(threads, ({ id }) => startTurn(id), { concurrency: "unbounded", discard: true })
    )
    const seen = new Set<RunId>()
    let mark = start
    while (seen.size < threads.length) {
      const found = yield* changesAfter(mark, 3)
      for (const { run } of found) seen.add(run.id)
      mark = found.at(-1)?.mark ?? mark
      yield* Effect.yieldNow
    }
    yield* Fiber.join(writing)
    assert.strictEqual(seen.size, threads.length)
  })

  test("MUST return at most `limit` records, each run once, and leave out what is gone", function* () {
    const start = yield* followNow
    const threads = yield* Effect.forEach([1, 2, 3], () => openThread)
    const turns = yield* Effect.forEach(threads, ({ id }) => startTurn(id))
    const page = yield* changesAfter(start, 2)
    assert.deepStrictEqual(
      page.map(({ run }) => run.id),
      turns.slice(0, 2).map(({ runId }) => runId)
    )
    assert.deepStrictEqual(
      (yield* changesAfter(page.at(-1)?.mark ?? 0)).map(({ run }) => run.id),
      turns.slice(2).map(({ runId }) => runId)
    )
    yield* (yield* ThreadStore).remove(threads[2]?.id ?? turns[0]?.threadId ?? threads[0]!.id)
    assert.strictEqual((yield* changesAfter(start)).length, 2)
    assert.deepStrictEqual(yield* (yield* InboxStore).changes(start, Duration.zero, 100), [])
  })

  test("MUST NOT record what nobody follows any more, and MUST delete old records", function* () {
    const store = yield* InboxStore
    const thread = yield* openThread
    const start = yield* store.follow(Duration.zero, anHour)
    yield* settleTurn(yield* startTurn(thread.id))
    assert.deepStrictEqual(yield* changesAfter(start), [])
    const again = yield* followNow
    yield* store.follow(Duration.zero, anHour)
    yield* settleTurn(yield* startTurn(thread.id))
    const [change, ...others] = yield* changesAfter(again)
    assert.deepStrictEqual(others, [])
    yield* store.follow(anHour, Duration.zero)
    assert.deepStrictEqual(yield* changesAfter(again), [])
    yield* settleTurn(yield* startTurn(thread.id))
    assert.lengthOf(yield* changesAfter(change?.mark ?? Infinity), 1)
  })

  test("MUST return the newest mark that was stored when it was called, also one that it deletes, and 0 when there is none", function* () {
    const store = yield* InboxStore
    const thread = yield* openThread
    assert.strictEqual(yield* followNow, 0)
    const turn = yield* startTurn(thread.id)
    const [begun] = yield* changesAfter(0)
    assert.strictEqual(yield* followNow, begun?.mark)
    yield* settleTurn(turn)
    const [ended] = yield* changesAfter(begun?.mark ?? 0)
    assert.isAbove(ended?.mark ?? 0, begun?.mark ?? 0)
    assert.strictEqual(yield* store.follow(anHour, Duration.zero), ended?.mark)
    assert.strictEqual(yield* followNow, 0)
    yield* waitingTurn(thread.id)
    const waiting = yield* followNow
    assert.isAbove(waiting, ended?.mark ?? 0)
    yield* (yield* ThreadStore).remove(thread.id)
    assert.strictEqual(yield* followNow, waiting)
    assert.deepStrictEqual(yield* changesAfter(0), [])
  })

  test("MUST NOT show another owner's runs, and MUST refuse to follow while everything of the principal is being erased", function* () {
    const start = yield* followNow
    const theirs = yield* asNewOwner(
      Effect.gen(function* () {
        yield* followNow
        const thread = yield* openThread
        return yield* startTurn(thread.id)
      })
    )
    assert.deepStrictEqual(yield* listed(), [])
    assert.deepStrictEqual(yield* listed({ threadId: theirs.threadId }), [])
    assert.deepStrictEqual(yield* changesAfter(start), [])
    assert.isNull(yield* (yield* InboxStore).summary(theirs.runId))
    yield* refusedWhileErasing(followNow)
  })
}
