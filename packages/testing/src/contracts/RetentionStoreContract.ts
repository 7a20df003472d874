/**
 * The contract of `RetentionStore`. Several tests may share a database, and pruning concerns all owners. So a test checks only its own
 * rows, and prunes until nothing is left to delete. Run it with `retentionStoreSuite("my store", MyStore.layer, …)`.
 */
import { RunId } from "@colloquy/core"
import { ChargeId, FollowUpStore, newId, RunStore, ThreadStore, UsageLedger } from "@colloquy/core/adapters"
import { MemoryStore, type Prunable, RetentionStore } from "@colloquy/core/wings"
import { assert, describe, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Capabilities, type ContractTest, contractTest, type Stores } from "./ContractTest.ts"
import { sampleFollowUp } from "./FollowUpStoreContract.ts"
import { moment, sampleBegin, sampleSettlement, sampleUsage } from "./Samples.ts"
import {
  anHour,
  expectTag,
  openThread,
  settleTurn,
  startTurn,
  storedMessages,
  storedRun,
  waitingTurn
} from "./Scenes.ts"

/** Every record is older than this. */
const farFuture = new Date(Date.UTC(2100, 0))

const pruneAll = Effect.fnUntraced(function* (what: Prunable, before = farFuture, limit = 1000) {
  const store = yield* RetentionStore
  let count = 0
  while (true) {
    const pruned = yield* store.prune(what, before, limit)
    count += pruned
    if (pruned === 0) return count
  }
})

const readLog = (turn: { readonly runId: Parameters<typeof storedRun>[0] }) =>
  RunStore.use((store) => store.read(turn.runId, 0))

export const retentionStoreContract = (test: ContractTest<RetentionStore | Stores>): void => {
  test("MUST delete the whole log of a run that has ended, and leave run, messages and listing as they are", function* () {
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    yield* settleTurn(turn)
    const before = yield* Effect.all([storedRun(turn.runId), storedMessages(id)])
    assert.isAbove((yield* readLog(turn)).length, 0)
    assert.isAtLeast(yield* pruneAll("logs"), 1)
    assert.deepStrictEqual(yield* readLog(turn), [])
    assert.deepStrictEqual(yield* Effect.all([storedRun(turn.runId), storedMessages(id)]), before)
    assert.strictEqual(yield* pruneAll("logs"), 0)
  })

  test("MUST count each run whose log is deleted once, also one whose log is empty, and none that a rewind has deleted", function* () {
    yield* pruneAll("logs")
    const runs = yield* RunStore
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const { message } = Option.getOrThrow(yield* runs.locate(id, null))
    const order = { threadId: id, keeps: 1, newest: message.id, keptAs: null, at: moment(9), followUps: [], once: null }
    assert.strictEqual((yield* runs.rewindThread(order))._tag, "Done")
    expectTag(yield* runs.begin(yield* sampleBegin(id, { saves: true, events: [] })), "Saved")
    assert.strictEqual(yield* pruneAll("logs"), 1)
    assert.strictEqual(yield* pruneAll("logs"), 0)
  })

  test("MUST keep the log of a run that is active or waits for its client", function* () {
    const { id } = yield* openThread
    const active = yield* startTurn(id)
    const waiting = yield* waitingTurn((yield* openThread).id)
    const logs = yield* Effect.forEach([active, waiting], readLog)
    yield* pruneAll("logs")
    assert.deepStrictEqual(yield* Effect.forEach([active, waiting], readLog), logs)
    assert.isTrue(yield* settleTurn(active))
    assert.isAbove((yield* readLog(active)).length, 0)
  })

  test("MUST keep records that are not older than the given time", function* () {
    const [followUps, ledger, runs] = [yield* FollowUpStore, yield* UsageLedger, yield* RunStore]
    const turn = yield* startTurn((yield* openThread).id, { idempotency: { key: "young", fingerprint: "f" } })
    yield* settleTurn(turn)
    const log = yield* readLog(turn)
    const { id: threadId } = yield* openThread
    const deleted = yield* startTurn(threadId)
    yield* (yield* ThreadStore).remove(threadId)
    const charge = yield* newId(ChargeId)
    const charges = [{ provider: "p", model: "m", purpose: "embedding", usage: sampleUsage(7, 2) }]
    yield* ledger.add(charge, charges, null)
    const dead = yield* sampleFollowUp(`retention-${charge}`)
    yield* followUps.add([dead])
    for (const claim of yield* followUps.claim([dead.kind], 1, anHour))
      yield* followUps.fail(claim, { error: "No.", pause: null, isCounted: true })
    const { endedAt } = yield* storedRun(turn.runId)
    const anHourAgo = new Date((endedAt?.getTime() ?? 0) - 3_600_000)
    for (const what of ["logs", "idempotencyKeys", "deletedRuns", "chargeReceipts", "deadFollowUps"] as const) {
      yield* pruneAll(what, anHourAgo)
    }
    assert.deepStrictEqual(yield* readLog(turn), log)
    assert.isTrue(Option.isSome(yield* runs.findRepeated("young")))
    assert.strictEqual(yield* settleTurn(deleted, { charges: [] }), "deleted")
    yield* ledger.add(charge, charges, null)
    const embedded = (yield* ledger.recent({ limit: 10, skip: 0 })).days.filter(
      ({ purpose }) => purpose === "embedding"
    )
    assert.deepStrictEqual(
      embedded.map(({ usage }) => usage.inputTokens),
      [7]
    )
    assert.isTrue(Option.isSome(yield* followUps.find(dead.kind, dead.key)))
  })

  test("MUST delete no more than the limit at once", function* () {
    const store = yield* RetentionStore
    yield* pruneAll("logs")
    const { id } = yield* openThread
    const turns = yield* Effect.forEach([1, 2, 3], () => Effect.tap(startTurn(id), (turn) => settleTurn(turn)))
    assert.isAtMost(yield* store.prune("logs", farFuture, 2), 2)
    const kept = yield* Effect.filter(turns, (turn) => Effect.map(readLog(turn), (log) => log.length > 0))
    assert.isAtLeast(kept.length, 1)
    yield* pruneAll("logs", farFuture, 1)
    assert.deepStrictEqual((yield* Effect.forEach(turns, readLog)).flat(), [])
  })

  test("MUST delete idempotency keys, so that a key may be used again", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const idempotency = { key: "again", fingerprint: "f" }
    yield* settleTurn(yield* startTurn(id, { idempotency }))
    assert.isTrue(Option.isSome(yield* runs.findRepeated("again")))
    assert.isAtLeast(yield* pruneAll("idempotencyKeys"), 1)
    assert.isTrue(Option.isNone(yield* runs.findRepeated("again")))
    yield* startTurn(id, { idempotency })
  })

  test("MUST delete the notes of runs that were deleted while they were active", function* () {
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    yield* (yield* ThreadStore).remove(id)
    const settle = Effect.flatMap(sampleSettlement(turn), (settlement) =>
      RunStore.use((store) => store.settle(turn.lease, settlement))
    )
    assert.strictEqual(yield* settle, "deleted")
    assert.isAtLeast(yield* pruneAll("deletedRuns"), 1)
    assert.isFalse(yield* settle)
  })

  test("MUST delete the receipt of a charge, and no charge", function* () {
    const ledger = yield* UsageLedger
    const id = yield* newId(ChargeId)
    const charge = { provider: "p", model: "m", purpose: "embedding", usage: sampleUsage(7, 2) }
    const counted = Effect.map(ledger.recent({ limit: 10, skip: 0 }), ({ days }) => days[0]?.usage.inputTokens)
    yield* ledger.add(id, [charge], null)
    yield* ledger.add(id, [charge], null)
    assert.strictEqual(yield* counted, 7)
    assert.isAtLeast(yield* pruneAll("chargeReceipts"), 1)
    assert.strictEqual(yield* counted, 7)
    yield* ledger.add(id, [charge], null)
    assert.strictEqual(yield* counted, 14)
    // What was begun and has no end is still to be charged.
    yield* ledger.begin(yield* newId(ChargeId), [charge], null)
    yield* pruneAll("chargeReceipts")
    yield* ledger.endBegun(Duration.zero, 100_000)
    assert.strictEqual(yield* counted, 21)
  })

  test("MUST delete what is noted of a run's changes of memories, and not before its time, where there are memories", function* () {
    const found = yield* Effect.serviceOption(MemoryStore)
    if (Option.isNone(found)) return
    const { applied, apply } = found.value
    const { assistantId } = yield* openThread
    const learned = { runId: yield* newId(RunId), orderedAt: moment(1) }
    yield* apply({ assistantId, changes: [], beside: [], learned, at: moment(2) })
    yield* pruneAll("learnedRuns", moment(2))
    assert.isTrue(Option.isSome(yield* applied(learned.runId)))
    yield* pruneAll("learnedRuns", moment(3))
    assert.isTrue(Option.isNone(yield* applied(learned.runId)))
  })

  test("MUST delete dead follow-ups, and none that is open or done", function* () {
    const store = yield* FollowUpStore
    const now = yield* Clock.currentTimeMillis
    const all = yield* Effect.forEach(["dead", "open", "done"], (key) =>
      sampleFollowUp(`retention-${now}-${key}`, { key })
    )
    yield* store.add(all)
    const claimKind = (kind: string | undefined) => store.claim([kind ?? ""], 1, anHour)
    for (const claim of yield* claimKind(all[0]?.kind)) {
      yield* store.fail(claim, { error: "No.", pause: null, isCounted: true })
    }
    for (const claim of yield* claimKind(all[2]?.kind)) yield* store.complete(claim)
    assert.isAtLeast(yield* pruneAll("deadFollowUps"), 1)
    const found = yield* Effect.forEach(all, ({ key, kind }) => store.find(kind, key))
    assert.deepStrictEqual(
      found.map((one) => Option.getOrNull(one)?.status ?? null),
      [null, "pending", "done"]
    )
  })

  test("MUST skip records that another caller has locked or deleted, and delete all others", function* () {
    const { id } = yield* openThread
    const turns = yield* Effect.forEach(Array.from({ length: 20 }), () =>
      Effect.tap(startTurn(id), (turn) => settleTurn(turn))
    )
    yield* Effect.all(
      Array.from({ length: 5 }, () => pruneAll("logs", farFuture, 3)),
      { concurrency: "unbounded" }
    )
    yield* pruneAll("logs")
    assert.deepStrictEqual((yield* Effect.forEach(turns, readLog)).flat(), [])
  })
}

/** What every store must do when old records are deleted. */
export const retentionStoreSuite = (
  name: string,
  stores: Layer.Layer<RetentionStore | Stores, unknown>,
  capabilities: Capabilities
): void =>
  layer(stores, { excludeTestServices: !capabilities.testClock, timeout: "2 minutes" })(name, (it) =>
    describe("RetentionStore", () => retentionStoreContract(contractTest(it, capabilities)))
  )
