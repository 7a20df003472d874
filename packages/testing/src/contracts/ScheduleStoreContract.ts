/** The contract of `ScheduleStore`, as a separate suite: only hosts with the wing `schedules` need the store. */
import { AssistantId, Principal, RunId } from "@colloquy/core"
import {
  AssistantStore,
  FollowUpId,
  FollowUpStore,
  newId,
  type OwnerStore,
  RunStore,
  ScheduleId,
  type ThreadStore
} from "@colloquy/core/adapters"
import { type Schedule, ScheduleStore } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Sentence, storeSuite } from "./ContractTest.ts"
import { asNewOwner, awkwardJson, moment } from "./Samples.ts"
import { openThread, refusedWhileErasing, tenTimes } from "./Scenes.ts"

type Needed = AssistantStore | FollowUpStore | OwnerStore | RunStore | ScheduleStore | ThreadStore

const sample = Effect.fnUntraced(function* (assistantId: AssistantId, fields: Partial<Schedule> = {}) {
  const schedule: Schedule = {
    id: yield* newId(ScheduleId),
    assistantId,
    cron: "0 9 * * *",
    timezone: "Europe/Berlin",
    content: "Good morning",
    threadId: null,
    metadata: null,
    paused: false,
    onMissed: "once",
    next: moment(9),
    last: null,
    revision: 1,
    createdAt: moment(1),
    updatedAt: moment(1),
    ...fields
  }
  return schedule
})

const stored = Effect.fnUntraced(function* (assistantId: AssistantId, fields: Partial<Schedule> = {}) {
  const schedule = yield* sample(assistantId, fields)
  assert.strictEqual(yield* (yield* ScheduleStore).insert(schedule, 100, null), "stored")
  return schedule
})

const toWork = (id: ScheduleId) =>
  Effect.map(newId(FollowUpId), (followUpId) => ({
    id: followUpId,
    kind: "schedules.sample",
    key: id,
    payload: null,
    sequence: null,
    delayMillis: 3_600_000,
    createdAt: moment(9)
  }))

/** The layer is built once; every test has its own owner. */
export const scheduleStoreSuite = (name: string, stores: Layer.Layer<Needed, unknown>): void =>
  storeSuite(name, stores, scheduleStoreContract)

export const scheduleStoreContract = (test: Sentence<Needed>): void => {
  const find = (id: ScheduleId) => ScheduleStore.use((store) => Effect.map(store.get(id), Option.getOrUndefined))

  test("MUST store a schedule equal in every field, and list those of an assistant, newest first, page by page", function* () {
    const store = yield* ScheduleStore
    const { assistantId, id: threadId } = yield* openThread
    const { assistantId: other } = yield* openThread
    const content = "nul \0 and half a pair \ud800"
    const one = yield* stored(assistantId, { content, threadId, metadata: awkwardJson, onMissed: "skip" })
    const two = yield* stored(assistantId, { paused: true, next: null })
    const three = yield* stored(assistantId)
    const theirs = yield* stored(other, { revision: 5 })
    assert.deepStrictEqual(yield* find(one.id), one)
    assert.deepStrictEqual(yield* store.list({ assistantId, limit: 10 }), [three, two, one])
    assert.deepStrictEqual(yield* store.list({ assistantId, limit: 1, after: three.id }), [two])
    assert.deepStrictEqual(yield* store.list({ assistantId, limit: 5, after: one.id }), [])
    for (const after of [yield* newId(ScheduleId), theirs.id])
      assert.deepStrictEqual(yield* store.list({ assistantId, limit: 5, after }), [])
    assert.deepStrictEqual(yield* find(theirs.id), theirs)
  })

  test("MUST store nothing without the assistant, and no more than `most`, also of ten at a time", function* () {
    const store = yield* ScheduleStore
    const { assistantId } = yield* openThread
    const { assistantId: theirs } = yield* asNewOwner(openThread)
    for (const missing of [yield* newId(AssistantId), AssistantId.make("no id of ours"), theirs])
      assert.strictEqual(yield* store.insert(yield* sample(missing), 100, null), "assistant_missing")
    const outcomes = yield* tenTimes(Effect.flatMap(sample(assistantId), (schedule) => store.insert(schedule, 3, null)))
    assert.strictEqual(outcomes.filter((outcome) => outcome === "stored").length, 3)
    assert.strictEqual((yield* store.list({ assistantId, limit: 100 })).length, 3)
    // Those of all assistants count.
    const { assistantId: other } = yield* openThread
    assert.strictEqual(yield* store.insert(yield* sample(other), 3, null), "too_many")
    // More than a store may count in 32 bits.
    assert.strictEqual(yield* store.insert(yield* sample(other), 2 ** 40, null), "stored")
    // Those of a deleted assistant are gone.
    yield* (yield* AssistantStore).remove(assistantId)
    assert.strictEqual(yield* store.insert(yield* sample(other), 2, null), "stored")
  })

  test("MUST replace everything but the last time, the assistant and the creation, and remove", function* () {
    const store = yield* ScheduleStore
    const { assistantId } = yield* openThread
    const { assistantId: other } = yield* openThread
    const schedule = yield* stored(assistantId)
    const last = { time: moment(8), runId: yield* newId(RunId), error: null }
    yield* store.note(schedule.id, last)
    const { id: threadId } = yield* openThread
    const change: Schedule = {
      ...schedule,
      content: "Hello",
      cron: "1 2 3 4 *",
      timezone: "Asia/Tokyo",
      threadId,
      metadata: awkwardJson,
      onMissed: "skip",
      next: null,
      paused: true,
      revision: 2,
      updatedAt: moment(7)
    }
    assert.isTrue(yield* store.replace({ ...change, assistantId: other, createdAt: moment(5), last: null }))
    assert.deepStrictEqual(yield* find(schedule.id), { ...change, last })
    assert.strictEqual((yield* store.list({ assistantId, limit: 5 })).length, 1)
    assert.isTrue(yield* store.remove(schedule.id))
    assert.isFalse(yield* store.remove(schedule.id))
    assert.isFalse(yield* store.replace({ ...schedule, revision: 3 }))
    assert.isUndefined(yield* find(schedule.id))
  })

  test("MUST replace a schedule, or take a time of it, once from each revision", function* () {
    const store = yield* ScheduleStore
    const { assistantId } = yield* openThread
    const schedule = yield* stored(assistantId)
    const change: Schedule = { ...schedule, content: "Changed", revision: 2 }
    const replaced = yield* tenTimes(store.replace(change))
    assert.strictEqual(replaced.filter(Boolean).length, 1)
    const advance = { id: schedule.id, due: moment(9), next: moment(10), followUp: null, last: null }
    assert.isFalse(yield* store.advance({ ...advance, revision: 1 }))
    assert.deepStrictEqual(yield* find(schedule.id), change)
    assert.isTrue(yield* store.advance({ ...advance, revision: 2 }))
    // It was decided before the time was taken, and would bring it back.
    assert.isFalse(yield* store.replace({ ...change, paused: true, revision: 3 }))
    assert.deepStrictEqual(yield* find(schedule.id), { ...change, next: moment(10), revision: 3 })
    yield* store.note(schedule.id, { time: moment(9), runId: null, error: "It failed." })
    assert.isTrue(yield* store.replace({ ...change, content: "Changed again", revision: 4 }))
  })

  test("MUST let one of ten take a due time, with its follow-up in the same step, and nobody take another time", function* () {
    const store = yield* ScheduleStore
    const { assistantId } = yield* openThread
    const schedule = yield* stored(assistantId, { next: moment(3) })
    const later = yield* stored(assistantId, { next: moment(5) })
    const paused = yield* stored(assistantId, { next: null, paused: true })
    const dueAt = (at: Date) =>
      Effect.map(store.due(at, 100_000), (found) =>
        found.map((each) => each.schedule.id).filter((id) => [schedule.id, later.id, paused.id].includes(id))
      )
    assert.deepStrictEqual(yield* dueAt(moment(2)), [])
    assert.deepStrictEqual(yield* dueAt(moment(3)), [schedule.id])
    assert.deepStrictEqual(yield* dueAt(moment(6)), [schedule.id, later.id])
    assert.lengthOf(yield* store.due(moment(6), 1), 1)
    const theirs = yield* asNewOwner(
      Effect.gen(function* () {
        return { schedule: yield* stored((yield* openThread).assistantId), ownerId: (yield* Principal).ownerId }
      })
    )
    const owners = (yield* store.due(moment(9), 100_000)).flatMap((each) =>
      [schedule.id, theirs.schedule.id].includes(each.schedule.id) ? [each.ownerId] : []
    )
    assert.deepStrictEqual(owners, [(yield* Principal).ownerId, theirs.ownerId])
    const take = Effect.flatMap(toWork(schedule.id), (followUp) =>
      store.advance({ id: schedule.id, revision: 1, due: moment(3), next: moment(4), followUp, last: null })
    )
    const taken = yield* tenTimes(take)
    assert.strictEqual(taken.filter(Boolean).length, 1)
    const work = yield* (yield* FollowUpStore).list("schedules.sample", { skip: 0, limit: 10 })
    assert.deepStrictEqual(
      work.map(({ key }) => key),
      [schedule.id]
    )
    assert.deepStrictEqual((yield* find(schedule.id))?.next, moment(4))
    const last = { time: moment(4), runId: null, error: "Missed." }
    const after = { id: schedule.id, due: moment(4), next: moment(5), followUp: null }
    assert.isTrue(yield* store.advance({ ...after, revision: 2, last }))
    assert.isTrue(yield* store.advance({ ...after, revision: 3, due: moment(5), next: null, last: null }))
    assert.deepInclude(yield* find(schedule.id), { next: null, last })
    assert.isFalse(yield* store.advance({ ...after, id: yield* newId(ScheduleId), revision: 1, last }))
  })

  test("MUST store one schedule for a key, with the answer that a repeat finds, and none when it is refused", function* () {
    const store = yield* ScheduleStore
    const { findAnswered } = yield* RunStore
    const { assistantId } = yield* openThread
    const once = { key: "schedule", fingerprint: "f", answer: awkwardJson }
    const full = yield* sample(assistantId)
    assert.strictEqual(yield* store.insert(full, 0, once), "too_many")
    const missing = { ...full, assistantId: yield* newId(AssistantId) }
    assert.strictEqual(yield* store.insert(missing, 100, once), "assistant_missing")
    assert.isTrue(Option.isNone(yield* findAnswered(once.key)))
    const create = Effect.flatMap(sample(assistantId), (schedule) => store.insert(schedule, 1, once))
    const outcomes = (yield* tenTimes(create)).toSorted()
    assert.deepStrictEqual(outcomes, [...Array.from({ length: 9 }, () => "repeated"), "stored"])
    assert.strictEqual((yield* store.list({ assistantId, limit: 10 })).length, 1)
    const { answer, fingerprint } = Option.getOrThrow(yield* findAnswered(once.key))
    assert.deepStrictEqual({ answer, fingerprint }, { answer: awkwardJson, fingerprint: "f" })
  })

  test("MUST keep what came of the latest time", function* () {
    const store = yield* ScheduleStore
    const { assistantId } = yield* openThread
    const { id } = yield* stored(assistantId)
    const last = { time: moment(5), runId: yield* newId(RunId), error: null }
    yield* store.note(id, last)
    yield* store.note(id, { time: moment(4), runId: null, error: "It came late." })
    assert.deepStrictEqual((yield* find(id))?.last, last)
    yield* store.note(id, { ...last, runId: null, error: "It failed in the end." })
    assert.deepStrictEqual((yield* find(id))?.last, { ...last, runId: null, error: "It failed in the end." })
  })

  test("MUST NOT show or change another owner's schedules, MUST refuse writes during an erasure, and MUST remove them with the assistant", function* () {
    const store = yield* ScheduleStore
    const { assistantId } = yield* openThread
    const schedule = yield* stored(assistantId)
    yield* asNewOwner(
      Effect.gen(function* () {
        assert.isUndefined(yield* find(schedule.id))
        assert.deepStrictEqual(yield* store.list({ assistantId, limit: 10 }), [])
        assert.isFalse(yield* store.replace({ ...schedule, content: "Theirs", revision: 2 }))
        assert.isFalse(yield* store.remove(schedule.id))
        const advance = { id: schedule.id, revision: 1, due: moment(9), next: null, followUp: null, last: null }
        assert.isFalse(yield* store.advance(advance))
        yield* store.note(schedule.id, { time: moment(9), runId: null, error: "Theirs" })
      })
    )
    assert.deepStrictEqual(yield* find(schedule.id), schedule)
    const another = yield* sample(assistantId)
    yield* refusedWhileErasing(store.insert(another, 100, null), store.replace({ ...schedule, revision: 2 }))
    yield* (yield* AssistantStore).remove(assistantId)
    assert.isUndefined(yield* find(schedule.id))
    assert.isFalse((yield* store.due(moment(59), 100_000)).some((each) => each.schedule.id === schedule.id))
  })
}
