/** The contract of `OwnerStore`: the erasure of what the stores of the kernel keep. */
import { Principal } from "@colloquy/core"
import {
  AssistantStore,
  ErasureId,
  firstPage,
  FollowUpId,
  FollowUpStore,
  InboxStore,
  KeyStore,
  newId,
  OwnerStore,
  RunStore,
  ThreadStore,
  UsageLedger
} from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest } from "./ContractTest.ts"
import {
  asNewOwner,
  moment,
  sampleAssistant,
  sampleBegin,
  sampleContinue,
  sampleKey,
  sampleThread,
  sampleUsage
} from "./Samples.ts"
import {
  anHour,
  changeAssistant,
  noTime,
  openThread,
  queueTurn,
  refusedWhileErasing,
  settleTurn,
  startTurn,
  storedMessages,
  waitingTurn
} from "./Scenes.ts"

const kept = "kept"

/** Something of every kind that the kernel stores. */
const fill = Effect.gen(function* () {
  const thread = yield* openThread
  yield* (yield* InboxStore).follow(anHour, anHour)
  for (let turn = 0; turn < 3; turn++) yield* settleTurn(yield* startTurn(thread.id), { usage: sampleUsage(1, 1) })
  yield* waitingTurn(thread.id, { idempotency: { key: "used", fingerprint: "1" } })
  for (let key = 0; key < 5; key++) yield* (yield* KeyStore).insert(yield* sampleKey((yield* Principal).ownerId))
  for (const kind of [kept, "other"]) {
    const work = { kind, key: kind, payload: null, sequence: null, delayMillis: 3_600_000, createdAt: moment(1) }
    yield* (yield* FollowUpStore).add([{ id: yield* newId(FollowUpId), ...work }])
  }
  return thread
})

const begin = Effect.gen(function* () {
  return yield* (yield* OwnerStore).beginErasure(yield* newId(ErasureId), moment(2))
})

export const ownerStoreContract = (test: ContractTest): void => {
  test("MUST name erasures in progress without an open follow-up of the kind, of all owners, and nothing else", function* () {
    const [store, followUps] = [yield* OwnerStore, yield* FollowUpStore]
    const ours = yield* begin
    const theirs = yield* asNewOwner(begin)
    const ended = yield* asNewOwner(Effect.tap(begin, ({ id }) => store.endErasure(id, "COMPLETED", moment(3), kept)))
    const known = new Set([ours, theirs, ended].map(({ id }) => id))
    const unattended = Effect.map(store.unattended(kept, 100_000), (found) =>
      found.filter(({ erasure }) => known.has(erasure.id))
    )
    const found = yield* unattended
    assert.sameDeepMembers(
      found.map(({ erasure }) => erasure),
      [ours, theirs]
    )
    const { ownerId } = yield* Principal
    assert.deepStrictEqual(
      found.map((each) => each.ownerId === ownerId),
      found.map(({ erasure }) => erasure.id === ours.id)
    )
    assert.isAtMost((yield* store.unattended(kept, 1)).length, 1)
    const work = { kind: kept, key: ours.id, payload: null, sequence: null, delayMillis: 0, createdAt: moment(2) }
    yield* followUps.add([{ id: yield* newId(FollowUpId), ...work }])
    assert.deepStrictEqual(
      (yield* unattended).map(({ erasure }) => erasure),
      [theirs]
    )
  })

  test("MUST erase everything of the principal in steps of the given size, nothing of others, and keep the ledger", function* () {
    const store = yield* OwnerStore
    const theirs = yield* asNewOwner(
      Effect.zip(
        fill,
        Effect.map(Principal, ({ ownerId }) => ownerId)
      )
    )
    const { id } = yield* fill
    const { runId } = Option.getOrThrow(yield* (yield* RunStore).findRepeated("used"))
    const before = yield* store.left(kept)
    assert.containsAllKeys(before, ["threads", "assistants", "follow_ups", "keys"])
    yield* begin
    let steps = 0
    for (let gone = 1; gone > 0; steps++) {
      gone = yield* store.eraseSome(2, kept)
      assert.isAtMost(gone, 3)
    }
    assert.isAbove(steps, 4)
    assert.deepStrictEqual(yield* store.left(kept), {})
    assert.deepStrictEqual(yield* storedMessages(id), [])
    assert.isTrue(Option.isNone(yield* (yield* ThreadStore).get(id)))
    assert.isTrue(Option.isNone(yield* (yield* RunStore).get(runId)))
    assert.isTrue(Option.isNone(yield* (yield* RunStore).findRepeated("used")))
    assert.deepStrictEqual(yield* (yield* AssistantStore).list(firstPage), [])
    assert.deepStrictEqual(yield* (yield* KeyStore).list, [])
    assert.isTrue(Option.isSome(yield* (yield* FollowUpStore).find(kept, kept)))
    assert.isTrue(Option.isNone(yield* (yield* FollowUpStore).find("other", "other")))
    assert.strictEqual((yield* (yield* UsageLedger).recent(firstPage)).total, 1)
    const [thread, owner] = theirs
    const others = Effect.gen(function* () {
      assert.strictEqual((yield* storedMessages(thread.id)).length, 8)
      assert.strictEqual((yield* (yield* KeyStore).list).length, 5)
      assert.isTrue(Option.isSome(yield* (yield* RunStore).findRepeated("used")))
      assert.lengthOf(yield* (yield* InboxStore).changes(0, anHour, 100), 4)
      yield* startTurn(thread.id)
    })
    yield* Principal.provide(owner)(others)
  })

  test("MUST refuse what would add or change something of the principal while the erasure goes on, and not of others or after its end", function* () {
    const [assistants, threads, runs, keys] = [
      yield* AssistantStore,
      yield* ThreadStore,
      yield* RunStore,
      yield* KeyStore
    ]
    const { assistantId, id } = yield* openThread
    const { ownerId } = yield* Principal
    const waiting = yield* waitingTurn((yield* openThread).id)
    const draft = yield* sampleAssistant()
    yield* assistants.insertDraft(draft)
    yield* refusedWhileErasing(
      Effect.flatMap(sampleAssistant(), (assistant) => assistants.insert(assistant)),
      Effect.flatMap(sampleAssistant(), (assistant) => assistants.insertDraft(assistant)),
      assistants.publish(draft.id),
      changeAssistant(assistantId, { name: "other" }),
      Effect.flatMap(sampleThread(assistantId), (thread) => threads.insert(thread)),
      threads.mergeMetadata(id, { more: true }),
      Effect.flatMap(sampleBegin(id), (next) => runs.begin(next)),
      Effect.flatMap(sampleContinue(waiting), (next) => runs.continue(next)),
      Effect.flatMap(sampleKey(ownerId), (key) => keys.insert(key))
    )
    yield* startTurn(id)
  })

  test("MUST NOT complete an erasure while something is left, and work that is under way is not erased until its claim ends", function* () {
    const [store, followUps] = [yield* OwnerStore, yield* FollowUpStore]
    const kind = yield* newId(FollowUpId)
    const work = { kind, key: "", payload: null, sequence: null, delayMillis: 0, createdAt: moment(1) }
    yield* followUps.add([{ id: yield* newId(FollowUpId), ...work }])
    const [claim] = yield* followUps.claim([kind], 1, anHour)
    const dead = yield* newId(FollowUpId)
    yield* followUps.add([{ id: dead, ...work, kind: dead }])
    yield* followUps.claim([dead], 1, noTime)
    const erasure = yield* begin
    while ((yield* store.eraseSome(10, kept)) > 0);
    assert.deepStrictEqual(yield* store.left(kept), { follow_ups: 1 })
    assert.isFalse(yield* store.endErasure(erasure.id, "COMPLETED", moment(3), kept))
    assert.strictEqual(Option.getOrThrow(yield* store.erasure(erasure.id)).status, "IN_PROGRESS")
    assert.isTrue(claim !== undefined && (yield* followUps.complete(claim)))
    while ((yield* store.eraseSome(10, kept)) > 0);
    assert.isTrue(yield* store.endErasure(erasure.id, "COMPLETED", moment(3), kept))
    assert.strictEqual(Option.getOrThrow(yield* store.erasure(erasure.id)).status, "COMPLETED")
  })

  test("MUST have one erasure in progress at a time, and know it by its id to its owner alone", function* () {
    const store = yield* OwnerStore
    const [first, second] = [yield* begin, yield* begin]
    assert.strictEqual(second.id, first.id)
    assert.deepStrictEqual(Option.getOrThrow(yield* store.erasure(first.id)), {
      id: first.id,
      status: "IN_PROGRESS",
      createdAt: moment(2),
      endedAt: null
    })
    assert.isTrue(Option.isNone(yield* asNewOwner(store.erasure(first.id))))
    assert.isTrue(Option.isNone(yield* store.erasure(yield* newId(ErasureId))))
    yield* store.endErasure(first.id, "COMPLETED", moment(3), kept)
    yield* store.endErasure(first.id, "FAILED", moment(4), kept)
    const ended = Option.getOrThrow(yield* store.erasure(first.id))
    assert.deepStrictEqual(ended, { ...first, status: "COMPLETED", endedAt: moment(3) })
    assert.notStrictEqual((yield* begin).id, first.id)
  })

  test("MUST list the active runs of the principal", function* () {
    const store = yield* OwnerStore
    yield* asNewOwner(Effect.flatMap(openThread, ({ id }) => startTurn(id)))
    const thread = yield* openThread
    const running = yield* startTurn(thread.id)
    const queued = yield* queueTurn(thread.id)
    yield* waitingTurn((yield* openThread).id)
    assert.sameDeepMembers(
      [...(yield* store.activeRuns(10))],
      [running, queued].map(({ runId }) => ({ runId, threadId: thread.id }))
    )
    assert.strictEqual((yield* store.activeRuns(1)).length, 1)
  })
}
