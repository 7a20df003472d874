/** The contract of `UsageLedger`. Days come from the store's clock, so only tests that may move that clock know them. */
import type { Usage } from "@colloquy/core"
import {
  addUsage,
  AssistantStore,
  ChargeId,
  firstPage,
  newId,
  noUsage,
  RunStore,
  ThreadStore,
  UsageLedger,
  type UsageOfDay
} from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import type { ContractTest } from "./ContractTest.ts"
import { asNewOwner, sampleSettlement, sampleUsage } from "./Samples.ts"
import { anHour, continueTurn, openThread, pauseTurn, settleTurn, startTurn } from "./Scenes.ts"

export const usageLedgerContract = (test: ContractTest): void => {
  test("MUST be empty for an owner without usage", function* () {
    assert.deepStrictEqual(yield* (yield* UsageLedger).recent(firstPage), { days: [], total: 0 })
  })

  test("MUST sum the settled legs, whatever their end, by model", function* () {
    yield* use("model-a", sampleUsage(10, 1, 0.5))
    yield* use("model-b", sampleUsage(20, 2))
    const { id } = yield* openThread
    const open = yield* pauseTurn(yield* startTurn(id), { model: "model-a", usage: sampleUsage(100, 10) })
    yield* settleTurn(yield* continueTurn(open), {
      status: "FAILED",
      model: "model-a",
      usage: { ...sampleUsage(1000, 100, 0.25), estimated: true }
    })
    const { days } = yield* (yield* UsageLedger).recent(firstPage)
    assert.deepStrictEqual(usageSum(days, "model-a"), { ...sampleUsage(1110, 111, 0.75), estimated: true })
    assert.deepStrictEqual(usageSum(days, "model-b"), sampleUsage(20, 2))
  })

  test("MUST have one row for a day in UTC and a model, ordered by day, newest first, then by model", function* () {
    for (const model of ["model-b", "model-c", "model-a", "model-b"]) yield* use(model, sampleUsage(1, 1))
    const { days, total } = yield* (yield* UsageLedger).recent(firstPage)
    for (const { date } of days) assert.match(date, /^\d{4}-\d\d-\d\d$/u)
    assert.strictEqual(new Set(days.map(rowName)).size, days.length)
    assert.strictEqual(total, days.length)
    const sorted = days.toSorted((a, b) => (a.date === b.date ? order(a.model, b.model) : order(b.date, a.date)))
    assert.deepStrictEqual(days, sorted)
  })

  test("MUST count the usage of a leg once, even if its thread or assistant was deleted meanwhile", function* () {
    const runs = yield* RunStore
    const [one, other] = [yield* openThread, yield* openThread]
    const turns = [yield* startTurn(one.id), yield* startTurn(other.id)]
    assert.isTrue(yield* (yield* ThreadStore).remove(one.id))
    assert.isTrue(yield* (yield* AssistantStore).remove(other.assistantId))
    for (const turn of turns) {
      const charges = [{ provider: "p", model: "model-a", purpose: "chat", usage: sampleUsage(10, 1) }]
      const settlement = yield* sampleSettlement(turn, { charges, usage: sampleUsage(10, 1) })
      assert.isFalse(yield* runs.settle({ ...turn.lease, token: turn.lease.token + 1 }, settlement))
      assert.isFalse(yield* asNewOwner(runs.settle(turn.lease, settlement)))
      for (let time = 0; time < 2; time++) {
        assert.strictEqual(yield* runs.settle(turn.lease, settlement), "deleted")
      }
    }
    const { days } = yield* (yield* UsageLedger).recent(firstPage)
    assert.deepStrictEqual(usageSum(days, "model-a"), sampleUsage(20, 2))
  })

  test("MUST NOT count a leg again that was settled before its thread was deleted", function* () {
    const runs = yield* RunStore
    const { id } = yield* openThread
    const turn = yield* startTurn(id)
    const settlement = yield* sampleSettlement(turn, { usage: sampleUsage(10, 1) })
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    yield* (yield* ThreadStore).remove(id)
    assert.isFalse(yield* runs.settle(turn.lease, settlement))
  })

  test.withCapability("testClock")("MUST put a leg on the UTC day on which it was settled", function* () {
    const ledger = yield* UsageLedger
    const { id } = yield* openThread
    yield* TestClock.setTime(Date.UTC(2026, 0, 30, 23, 59, 59, 999))
    yield* use("model-b", sampleUsage(1, 0))
    const over = yield* startTurn(id)
    yield* TestClock.setTime(Date.UTC(2026, 0, 31))
    yield* settleTurn(over, { model: "model-b", usage: sampleUsage(2, 0) })
    yield* use("model-a", sampleUsage(4, 0))
    const expected = [
      { date: "2026-01-31", model: "model-a", purpose: "chat", usage: sampleUsage(4, 0) },
      { date: "2026-01-31", model: "model-b", purpose: "chat", usage: sampleUsage(2, 0) },
      { date: "2026-01-30", model: "model-b", purpose: "chat", usage: sampleUsage(1, 0) }
    ]
    assert.deepStrictEqual(yield* ledger.recent(firstPage), { days: expected, total: 3 })
  })

  test("MUST give the rows of one page, and count all", function* () {
    const ledger = yield* UsageLedger
    for (const model of ["model-a", "model-b", "model-c"]) yield* use(model, sampleUsage(1, 1))
    const all = yield* ledger.recent(firstPage)
    const second = yield* ledger.recent({ skip: 1, limit: 1 })
    assert.deepStrictEqual(second, { days: all.days.slice(1, 2), total: all.total })
    assert.deepStrictEqual(yield* ledger.recent({ skip: 10_000, limit: 1 }), { days: [], total: all.total })
  })

  test("MUST order models and purposes by the code points of their names", function* () {
    const ledger = yield* UsageLedger
    const names = ["Z", "a", "a-", "ab", "\uffee", "\u{1f600}", "\u{1f600}a"]
    for (const model of names.toReversed()) yield* use(model, sampleUsage(1, 1))
    assert.deepStrictEqual(
      (yield* ledger.recent(firstPage)).days.map(({ model }) => model),
      names
    )
  })

  test("MUST sum the charges of one leg by model and purpose", function* () {
    const charge = (model: string, purpose: string, costUsd: number) => ({
      provider: "sample-provider",
      model,
      purpose,
      usage: sampleUsage(1, 0, costUsd)
    })
    const charges = [
      charge("model-a", "search", 0.25),
      charge("model-a", "chat", 0.5),
      charge("model-b", "image", 2),
      charge("model-a", "search", 0.5),
      { ...charge("model-b", "image", 0), usage: sampleUsage(4, 0) }
    ]
    yield* settleTurn(yield* startTurn((yield* openThread).id), { charges })
    const { days, total } = yield* (yield* UsageLedger).recent(firstPage)
    assert.deepStrictEqual(
      days.map(({ model, purpose, usage }) => [model, purpose, usage]),
      [
        ["model-a", "chat", sampleUsage(1, 0, 0.5)],
        ["model-a", "search", sampleUsage(2, 0, 0.75)],
        // One row, though the cost of one of the two is not known.
        ["model-b", "image", sampleUsage(5, 0, 2)]
      ]
    )
    assert.strictEqual(total, 3)
  })

  test("MUST count nothing for a leg without charges", function* () {
    yield* settleTurn(yield* startTurn((yield* openThread).id), { usage: sampleUsage(5, 5), charges: [] })
    assert.deepStrictEqual(yield* (yield* UsageLedger).recent(firstPage), { days: [], total: 0 })
  })

  test("MUST add costs outside of a turn once per id, also when two calls come at once", function* () {
    const ledger = yield* UsageLedger
    const charge = { provider: "p", model: "model-a", purpose: "memory", usage: sampleUsage(3, 1, 0.25) }
    const ids = [yield* newId(ChargeId), yield* newId(ChargeId)] as const
    yield* Effect.all([ledger.add(ids[0], [charge, charge], null), ledger.add(ids[0], [charge, charge], null)], {
      concurrency: 2
    })
    yield* ledger.add(ids[0], [charge], null)
    yield* ledger.add(ids[1], [charge, { ...charge, purpose: "embedding" }], null)
    yield* ledger.add(yield* newId(ChargeId), [], null)
    // The same id of another owner is another charge.
    yield* asNewOwner(ledger.add(ids[0], [charge], null))
    const { days } = yield* ledger.recent(firstPage)
    assert.deepStrictEqual(
      days.map(({ model, purpose, usage }) => [model, purpose, usage]),
      [
        ["model-a", "embedding", sampleUsage(3, 1, 0.25)],
        ["model-a", "memory", sampleUsage(9, 3, 0.75)]
      ]
    )
  })

  test("MUST leave the sums as they are when a call is begun, and drop what was begun when its charges are added", function* () {
    const ledger = yield* UsageLedger
    const [free, paid] = [yield* newId(ChargeId), yield* newId(ChargeId)]
    yield* ledger.begin(free, [unknown], null)
    yield* ledger.begin(paid, [unknown], null)
    assert.deepStrictEqual((yield* ledger.recent(firstPage)).days, [])
    yield* ledger.add(free, [], null)
    yield* ledger.add(paid, [{ ...unknown, usage: sampleUsage(3, 1, 0.25) }], null)
    // A repeat that comes late changes nothing.
    yield* ledger.begin(paid, [unknown], null)
    yield* ledger.endBegun(Duration.zero, 100)
    const { days } = yield* ledger.recent(firstPage)
    assert.deepStrictEqual(usageSum(days, "model-a"), sampleUsage(3, 1, 0.25))
  })

  test("MUST add what was begun too long ago, at most so many calls, and nothing more for their ids", function* () {
    const ledger = yield* UsageLedger
    const ids = [yield* newId(ChargeId), yield* newId(ChargeId)]
    yield* Effect.forEach(ids, (id) => ledger.begin(id, [unknown], null))
    yield* ledger.begin(yield* newId(ChargeId), [], null)
    // The first note of a call counts.
    yield* ledger.begin(ids[0]!, [{ ...unknown, model: "model-b" }], null)
    yield* ledger.endBegun(anHour, 100)
    assert.deepStrictEqual((yield* ledger.recent(firstPage)).days, [])
    assert.strictEqual(yield* ledger.endBegun(Duration.zero, 1), 1)
    assert.strictEqual(yield* ledger.endBegun(Duration.zero, 100), 1)
    assert.strictEqual(yield* ledger.endBegun(Duration.zero, 100), 0)
    yield* Effect.forEach(ids, (id) => ledger.add(id, [{ ...unknown, usage: sampleUsage(3, 1, 0.25) }], null))
    const { days } = yield* ledger.recent(firstPage)
    assert.deepStrictEqual([...new Set(days.map(({ model }) => model))], ["model-a"])
    assert.deepStrictEqual(usageSum(days, "model-a"), unknown.usage)
  })

  test("MUST NOT count another owner's usage", function* () {
    yield* asNewOwner(use("model-a", sampleUsage(1, 1)))
    assert.deepStrictEqual(yield* (yield* UsageLedger).recent(firstPage), { days: [], total: 0 })
  })

  test("MUST count a settlement once, however often it is repeated", function* () {
    const runs = yield* RunStore
    const turn = yield* startTurn((yield* openThread).id)
    const settlement = yield* sampleSettlement(turn, { model: "model-a", usage: sampleUsage(5, 5) })
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    const { days } = yield* (yield* UsageLedger).recent(firstPage)
    assert.deepStrictEqual(usageSum(days, "model-a"), sampleUsage(5, 5))
  })

  test("MUST NOT count a settlement under a lost lease", function* () {
    const turn = yield* startTurn((yield* openThread).id)
    yield* (yield* RunStore).takeOver(turn.runId, anHour, { onlyExpired: false })
    assert.isFalse(yield* settleTurn(turn, { model: "model-a", usage: sampleUsage(5, 5) }))
    assert.deepStrictEqual(yield* (yield* UsageLedger).recent(firstPage), { days: [], total: 0 })
  })

  test("MUST keep the usage when the thread and the assistant are deleted", function* () {
    const thread = yield* openThread
    yield* settleTurn(yield* startTurn(thread.id), { model: "model-a", usage: sampleUsage(5, 5) })
    yield* (yield* ThreadStore).remove(thread.id)
    yield* (yield* AssistantStore).remove(thread.assistantId)
    const { days } = yield* (yield* UsageLedger).recent(firstPage)
    assert.deepStrictEqual(usageSum(days, "model-a"), sampleUsage(5, 5))
  })
}

/** A call whose end nobody saw. */
const unknown = { provider: "p", model: "model-a", purpose: "memory", usage: { ...noUsage, estimated: true } }

/** A whole turn on its own thread. */
const use = Effect.fnUntraced(function* (model: string, usage: Usage) {
  yield* settleTurn(yield* startTurn((yield* openThread).id), { model, usage })
})

/** Summed over all days, because a test may run at midnight. */
const usageSum = (days: ReadonlyArray<UsageOfDay>, model: string): Usage =>
  days.filter((row) => row.model === model).reduce((sum, row) => addUsage(sum, row.usage), noUsage)

const rowName = ({ date, model }: UsageOfDay): string => `${date} ${model}`

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
