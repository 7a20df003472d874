/** The contract of quotas: what `RunStore` admits and reserves, and what `QuotaStore` counts. */
import { AssistantId, noQuota, type ThreadId } from "@colloquy/core"
import {
  type AdmissionRequest,
  type Amount,
  ChargeId,
  ErasureId,
  newId,
  OwnerStore,
  QuotaStore,
  RunStore,
  ThreadStore,
  UsageLedger
} from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest } from "./ContractTest.ts"
import { eraseEverything } from "./Erasing.ts"
import { asNewOwner, moment, sampleBegin, sampleContinue, sampleUsage } from "./Samples.ts"
import {
  anHour,
  expectTag,
  noTime,
  openThread,
  openNewThread,
  pauseTurn,
  queueTurn,
  settleTurn,
  startTurn,
  storedMessages,
  tally,
  waitingTurn
} from "./Scenes.ts"

export const quotaContract = (test: ContractTest): void => {
  rates(test)
  turnsAtOnce(test)
  budgets(test)
  budgetsOfAssistants(test)
  requests(test)
  erasing(test)
}

const restOfDay = 3_600_000

/** A request of the given limits. The day is that of the ledger. */
const admission = (limits: Partial<AdmissionRequest>) =>
  Effect.map(today, (day): AdmissionRequest => ({
    turnsPerMinute: null,
    turnsAtOnce: null,
    tokensPerDay: null,
    usdPerDay: null,
    ofAssistant: null,
    assumedPrices: noQuota.assumedPrices,
    least: { tokens: 1, usd: 0 },
    wanted: { tokens: 100, usd: 0 },
    usdPerToken: 0,
    day,
    restOfDay,
    ...limits
  }))

/** The day to which the store adds charges now. */
const today = asNewOwner(
  Effect.gen(function* () {
    yield* settleTurn(yield* startTurn((yield* openThread).id), { usage: sampleUsage(1, 1) })
    const { days } = yield* (yield* UsageLedger).recent({ skip: 0, limit: 1 })
    return days[0]?.date ?? ""
  })
)

const beginUnder = Effect.fnUntraced(function* (threadId: ThreadId, limits: Partial<AdmissionRequest>) {
  const begin = yield* sampleBegin(threadId, { admission: yield* admission(limits), historyTokens: 0 })
  return { begin, outcome: yield* (yield* RunStore).begin(begin) }
})

const admitted = Effect.fnUntraced(function* (limits: Partial<AdmissionRequest>) {
  return yield* startTurn((yield* openThread).id, { admission: yield* admission(limits), historyTokens: 0 })
})

const findRefusal = Effect.fnUntraced(function* (limits: Partial<AdmissionRequest>) {
  const { outcome } = yield* beginUnder((yield* openThread).id, limits)
  return expectTag(outcome, "OverLimit").refusal
})

const rates = (test: ContractTest): void => {
  test("MUST admit as many turns of a minute as the limit allows, of ten at the same time, and store nothing of the others", function* () {
    const limits = yield* admission({ turnsPerMinute: 4 })
    const runs = yield* RunStore
    const threads = yield* Effect.all(Array.from({ length: 10 }, () => openThread))
    const begins = yield* Effect.forEach(threads, ({ id }) => sampleBegin(id, { admission: limits }))
    const outcomes = yield* Effect.forEach(begins, (begin) => runs.begin(begin), { concurrency: "unbounded" })
    assert.deepStrictEqual(tally(outcomes), { Started: 4, OverLimit: 6 })
    for (const [index, outcome] of outcomes.entries()) {
      const begin = begins[index] ?? assert.fail()
      const isStored = Option.isSome(yield* runs.get(begin.run.id))
      assert.strictEqual(isStored, outcome._tag === "Started")
      if (outcome._tag !== "OverLimit") continue
      assert.deepStrictEqual([outcome.refusal.limit, outcome.refusal.left], ["turnsPerMinute", 0])
      assert.isAbove(outcome.refusal.waitMillis ?? 0, 0)
      assert.isAtMost(outcome.refusal.waitMillis ?? 0, 60_000)
      assert.deepStrictEqual(yield* storedMessages(begin.run.threadId), [])
    }
  })

  test("MUST keep to limits that are no whole numbers, or larger than any count", function* () {
    yield* admitted({ turnsAtOnce: 2 ** 40, tokensPerDay: 1e30 })
    for (let active = 1; active < 3; active++) yield* admitted({ turnsAtOnce: 2.5, tokensPerDay: 1000.5 })
    assert.strictEqual((yield* findRefusal({ turnsAtOnce: 2.5 })).limit, "turnsAtOnce")
    const left = { left: 0.5, waitMillis: 1000 }
    assert.deepStrictEqual(yield* findRefusal({ tokensPerDay: 300.5 }), { limit: "tokensPerDay", ...left })
    const least = { tokens: 1.5, usd: 0 }
    assert.strictEqual((yield* findRefusal({ tokensPerDay: 301, least })).limit, "tokensPerDay")
    const ofAssistant = { id: yield* newId(AssistantId), tokensPerDay: 0.5, usdPerDay: null }
    assert.strictEqual((yield* findRefusal({ ofAssistant })).limit, "tokensPerDayOfAssistant")
  })

  test("MUST NOT count turns of other owners, or turns that a limit refused", function* () {
    yield* asNewOwner(admitted({ turnsPerMinute: 1 }))
    yield* findRefusal({ turnsPerMinute: 1, turnsAtOnce: 0 })
    yield* findRefusal({ turnsPerMinute: 1, tokensPerDay: 0 })
    // One without a limit, or that was counted before.
    yield* admitted({ turnsPerMinute: null })
    yield* admitted({ turnsPerMinute: 1 })
    assert.strictEqual((yield* findRefusal({ turnsPerMinute: 1 })).limit, "turnsPerMinute")
  })

  test("MUST admit a repeated begin with what the first one reserved, and count it once", function* () {
    const runs = yield* RunStore
    const turn = yield* admitted({ turnsPerMinute: 1 })
    const again = expectTag(yield* runs.begin(turn.begin), "Started")
    assert.deepStrictEqual(again.reserved, { tokens: 100, usd: 0 })
    const queued = yield* sampleBegin(turn.threadId, { admission: yield* admission({}), historyTokens: 0 })
    const first = expectTag(yield* runs.begin(queued), "Queued")
    assert.deepStrictEqual(first.reserved, { tokens: 100, usd: 0 })
    assert.deepStrictEqual(expectTag(yield* runs.begin(queued), "Queued").reserved, first.reserved)
  })

  test("MUST reserve nothing without limits", function* () {
    const begin = yield* sampleBegin((yield* openThread).id)
    assert.isNull(expectTag(yield* (yield* RunStore).begin(begin), "Started").reserved)
    yield* admitted({ turnsAtOnce: 1 })
  })
}

const turnsAtOnce = (test: ContractTest): void => {
  const limits = { turnsAtOnce: 2 }

  test("MUST count a thread whose runs are active once, and refuse a run on a further thread", function* () {
    const first = yield* admitted(limits)
    yield* admitted(limits)
    yield* queueTurn(first.threadId, { admission: yield* admission(limits) })
    const { left, limit, waitMillis } = yield* findRefusal(limits)
    assert.deepStrictEqual([limit, left], ["turnsAtOnce", 0])
    assert.isAtMost(waitMillis ?? 0, 1000)
    // Its thread counts already, though only a run that waits is left of it.
    yield* settleTurn(first)
    yield* queueTurn(first.threadId, { admission: yield* admission(limits) })
  })

  test("MUST release the place of a run that ended, waits for its client, was withdrawn, or was deleted with its thread", function* () {
    yield* admitted(limits)
    yield* settleTurn(yield* admitted(limits), { status: "FAILED" })
    yield* pauseTurn(yield* admitted(limits))
    const deleted = yield* admitted(limits)
    yield* (yield* ThreadStore).remove(deleted.threadId)
    const last = yield* admitted(limits)
    const queued = yield* queueTurn(last.threadId, { admission: yield* admission(limits) })
    yield* settleTurn(last)
    assert.strictEqual((yield* findRefusal(limits)).limit, "turnsAtOnce")
    assert.isTrue(yield* (yield* RunStore).withdraw(queued.lease))
    yield* admitted(limits)
  })

  test("MUST release the place of a dead process's run when another process has settled it", function* () {
    const runs = yield* RunStore
    const admission_ = yield* admission({ turnsAtOnce: 1 })
    const turn = yield* startTurn((yield* openThread).id, { admission: admission_, lease: noTime })
    assert.strictEqual((yield* findRefusal({ turnsAtOnce: 1 })).limit, "turnsAtOnce")
    const taken = yield* runs.takeOver(turn.runId, anHour, { onlyExpired: true })
    const { lease } = Option.getOrThrow(taken)
    assert.isTrue(yield* settleTurn({ ...turn, lease }, { status: "FAILED" }))
    yield* admitted({ turnsAtOnce: 1 })
  })

  test("MUST refuse tool outputs over the limit, and let their run wait on", function* () {
    const runs = yield* RunStore
    const waiting = yield* waitingTurn((yield* openThread).id)
    const other = yield* admitted({ turnsAtOnce: 1 })
    const fields = { admission: yield* admission({ turnsAtOnce: 1 }) }
    const refused = expectTag(yield* runs.continue(yield* sampleContinue(waiting, fields)), "OverLimit")
    assert.strictEqual(refused.refusal.limit, "turnsAtOnce")
    assert.strictEqual(Option.getOrThrow(yield* runs.get(waiting.runId)).status, "REQUIRES_ACTION")
    yield* settleTurn(other)
    const next = yield* sampleContinue(waiting, fields)
    assert.isNotNull(expectTag(yield* runs.continue(next), "Started").reserved)
    assert.isNotNull(expectTag(yield* runs.continue(next), "Started").reserved)
  })
}

const amount = (tokens: number, usd = 0): Amount => ({ tokens, usd })

const budgets = (test: ContractTest): void => {
  test("MUST reserve what is wanted, or what is left if that is enough, and refuse what is less", function* () {
    const limits = { tokensPerDay: 250, least: amount(50), wanted: amount(100) }
    const grants: Array<Amount | null> = []
    for (let turn = 0; turn < 3; turn++) {
      const begin = yield* sampleBegin((yield* openThread).id, {
        admission: yield* admission(limits),
        historyTokens: 0
      })
      grants.push(expectTag(yield* (yield* RunStore).begin(begin), "Started").reserved)
    }
    assert.deepStrictEqual(grants, [amount(100), amount(100), amount(50)])
    const { left, limit, waitMillis } = yield* findRefusal(limits)
    assert.deepStrictEqual([limit, left], ["tokensPerDay", 0])
    // Active runs may release what they have reserved at any time.
    assert.isAtMost(waitMillis ?? 0, 1000)
  })

  test("MUST never reserve more than is left, of ten begins at the same time", function* () {
    const limits = yield* admission({ tokensPerDay: 350, least: amount(60), wanted: amount(100) })
    const runs = yield* RunStore
    const threads = yield* Effect.all(Array.from({ length: 10 }, () => openThread))
    const outcomes = yield* Effect.forEach(
      threads,
      ({ id }) => Effect.flatMap(sampleBegin(id, { admission: limits, historyTokens: 0 }), runs.begin),
      { concurrency: "unbounded" }
    )
    const reserved = outcomes.map((each) => (each._tag === "Started" ? (each.reserved?.tokens ?? 0) : 0))
    assert.strictEqual(
      reserved.reduce((a, b) => a + b, 0),
      300
    )
    assert.deepStrictEqual(tally(outcomes), { Started: 3, OverLimit: 7 })
  })

  test("MUST add the history of the thread, as much as the prompt may have, to what is reserved", function* () {
    const { id } = yield* openThread
    yield* settleTurn(yield* startTurn(id))
    const fields = { admission: yield* admission({ usdPerToken: 0.5 }), historyTokens: 15 }
    const begin = yield* sampleBegin(id, fields)
    assert.deepStrictEqual(expectTag(yield* (yield* RunStore).begin(begin), "Started").reserved, amount(115, 7.5))
  })

  test("MUST count what the ledger has of the day, until the day ends", function* () {
    const limits = { tokensPerDay: 100, usdPerDay: 2 }
    const turn = yield* admitted(limits)
    yield* settleTurn(turn, { usage: sampleUsage(60, 30, 0.5) })
    const granted = yield* admitted({ ...limits, least: amount(10, 0.1), wanted: amount(100, 3) })
    yield* settleTurn(granted, { usage: sampleUsage(0, 10, 1.5) })
    assert.deepStrictEqual(yield* findRefusal(limits), { limit: "tokensPerDay", left: 0, waitMillis: restOfDay })
    assert.deepStrictEqual(yield* findRefusal({ usdPerDay: 2 }), {
      limit: "usdPerDay",
      left: 0,
      waitMillis: restOfDay
    })
    yield* admitted({ ...limits, day: "1999-12-31" })
  })

  test("MUST grant and refuse more for an active run as for a new one, and release it with the run", function* () {
    const runs = yield* RunStore
    const limits = { tokensPerDay: 250, wanted: amount(100) }
    const turn = yield* admitted(limits)
    const more = yield* admission({ ...limits, least: amount(20), wanted: amount(100) })
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.reserve(turn.lease, more)), amount(100))
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.reserve(turn.lease, more)), amount(50))
    const refused = Option.getOrThrow(yield* runs.reserve(turn.lease, more))
    assert.strictEqual("refusal" in refused && refused.refusal.limit, "tokensPerDay")
    assert.strictEqual((yield* findRefusal(limits)).limit, "tokensPerDay")
    yield* settleTurn(turn, { usage: sampleUsage(1, 1) })
    const { threadId } = yield* admitted(limits)
    const waiting = yield* queueTurn(threadId)
    assert.deepStrictEqual(Option.getOrThrow(yield* runs.reserve(waiting.lease, more)), amount(100))
    assert.isTrue(Option.isNone(yield* runs.reserve(turn.lease, more)))
    yield* runs.takeOver(waiting.runId, anHour, { onlyExpired: false })
    assert.isTrue(Option.isNone(yield* runs.reserve(waiting.lease, more)))
  })
}

const erasing = (test: ContractTest): void => {
  test("MUST forget the turns and holds of a principal when everything of it is erased, and keep those of others", function* () {
    const owners = yield* OwnerStore
    const fill = Effect.gen(function* () {
      yield* settleTurn(yield* admitted({ turnsPerMinute: 1 }))
      assert.strictEqual(yield* holdAmount({ tokensPerDay: 100 }), 100)
    })
    yield* fill
    yield* asNewOwner(
      Effect.gen(function* () {
        yield* fill
        yield* eraseEverything
        const { id } = yield* owners.beginErasure(yield* newId(ErasureId), moment(2))
        assert.isTrue(yield* owners.endErasure(id, "COMPLETED", moment(3), "none"))
        yield* fill
      })
    )
    assert.strictEqual((yield* findRefusal({ turnsPerMinute: 1 })).limit, "turnsPerMinute")
    assert.strictEqual(yield* holdAmount({ tokensPerDay: 100 }), "tokensPerDay")
  })
}

/** A part of the budget for work that is no run. */
const holdAmount = Effect.fnUntraced(function* (limits: Partial<AdmissionRequest>, id?: ChargeId, lifetime = anHour) {
  const held = yield* (yield* QuotaStore).hold(id ?? (yield* newId(ChargeId)), yield* admission(limits), lifetime)
  return "_tag" in held ? held.refusal.limit : held.tokens
})

const budgetsOfAssistants = (test: ContractTest): void => {
  test("MUST count for an assistant what was spent and reserved for it, beside the limits of the owner", function* () {
    const ledger = yield* UsageLedger
    const [one, other] = [yield* openThread, yield* openThread]
    const assistantLimits = (thread: typeof one) => ({
      ofAssistant: { id: thread.assistantId, tokensPerDay: 250, usdPerDay: 2 },
      least: amount(40),
      wanted: amount(100)
    })
    const begin = (thread: typeof one, limits: Partial<AdmissionRequest> = {}) =>
      Effect.map(beginUnder(thread.id, { ...assistantLimits(thread), ...limits }), ({ outcome }) =>
        outcome._tag === "OverLimit" ? outcome.refusal.limit : outcome._tag
      )
    yield* settleTurn(yield* startTurn(one.id), { usage: sampleUsage(50, 10, 0.5) })
    const charge = { provider: "p", model: "m", purpose: "memory", usage: sampleUsage(30, 10, 0.5) }
    yield* ledger.add(yield* newId(ChargeId), [charge], one.assistantId)
    yield* ledger.add(yield* newId(ChargeId), [charge], null)
    // Begun by a process that died.
    yield* ledger.begin(yield* newId(ChargeId), [charge], one.assistantId)
    yield* ledger.endBegun(Duration.zero, 100)
    assert.strictEqual(yield* begin(one), "Started")
    assert.strictEqual(yield* holdAmount(assistantLimits(one)), "tokensPerDayOfAssistant")
    assert.strictEqual(yield* begin(yield* openNewThread(one.assistantId)), "tokensPerDayOfAssistant")
    assert.strictEqual(yield* begin(other), "Started")
    assert.strictEqual(yield* begin(other, { tokensPerDay: 200 }), "tokensPerDay")
    // What is reserved for one assistant, by runs and other work, is not reserved for another.
    assert.strictEqual(yield* holdAmount({ ...assistantLimits(other), wanted: amount(150) }), 150)
    assert.strictEqual(yield* holdAmount(assistantLimits(other)), "tokensPerDayOfAssistant")
    assert.strictEqual(yield* holdAmount({ ...assistantLimits(yield* openThread), wanted: amount(250) }), 250)
    assert.strictEqual(yield* holdAmount({ tokensPerDay: 800 }), 20)
    const dollars = {
      ...assistantLimits(one),
      ofAssistant: { id: one.assistantId, tokensPerDay: null, usdPerDay: 1.5 }
    }
    assert.strictEqual(yield* holdAmount(dollars), "usdPerDayOfAssistant")
    const used = { requestsPerMinute: null, turnsPerMinute: null, day: yield* today, assumedPrices: null }
    const { costUsd, inputTokens } = yield* (yield* QuotaStore).used({ ...used, assistantId: one.assistantId })
    assert.deepStrictEqual([inputTokens, costUsd], [110, 1.5])
    assert.strictEqual((yield* (yield* QuotaStore).used({ ...used, assistantId: null })).inputTokens, 140)
    // A run that was deleted is charged to its assistant, too.
    const last = yield* startTurn((yield* openNewThread(one.assistantId)).id)
    yield* (yield* ThreadStore).remove(last.threadId)
    yield* settleTurn(last, { usage: sampleUsage(7, 0, 0) })
    const after = yield* (yield* QuotaStore).used({ ...used, assistantId: one.assistantId })
    assert.strictEqual(after.inputTokens, 117)
  })

  test("MUST hold a part of the budget for runs and other work until it is released or its time is over, once for an id", function* () {
    const store = yield* QuotaStore
    const limits = { tokensPerDay: 250, least: amount(60), wanted: amount(100) }
    const [first, second] = [yield* newId(ChargeId), yield* newId(ChargeId)]
    assert.strictEqual(yield* holdAmount(limits, first), 100)
    assert.strictEqual(yield* holdAmount(limits, first), 100)
    assert.strictEqual(yield* holdAmount(limits, second), 100)
    assert.strictEqual(yield* holdAmount(limits), "tokensPerDay")
    assert.strictEqual((yield* findRefusal(limits)).limit, "tokensPerDay")
    yield* asNewOwner(store.release(first))
    assert.strictEqual(yield* holdAmount(limits), "tokensPerDay")
    yield* store.release(first)
    yield* store.release(first)
    const run = yield* admitted(limits)
    assert.strictEqual(yield* holdAmount(limits), "tokensPerDay")
    yield* settleTurn(run, { usage: sampleUsage(1, 1) })
    assert.strictEqual(yield* holdAmount(limits, second, noTime), 100)
    const { outcome } = yield* beginUnder((yield* openThread).id, { ...limits, wanted: amount(188) })
    assert.deepStrictEqual(expectTag(outcome, "Started").reserved, amount(188))
    assert.strictEqual(yield* holdAmount(limits), 60)
  })

  test("MUST never hold more than is left, of ten calls at the same time", function* () {
    const held = yield* Effect.all(
      Array.from({ length: 10 }, () => holdAmount({ tokensPerDay: 350, least: amount(60), wanted: amount(100) })),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(
      held.filter((each) => each !== "tokensPerDay"),
      [100, 100, 100]
    )
  })

  test("MUST count the tokens of a charge of unknown cost at the assumed prices", function* () {
    const usage = { ...sampleUsage(1_000_000, 100_000), costUsd: null }
    const charge = { provider: "p", model: "m", purpose: "chat", usage }
    const known = { ...charge, usage: sampleUsage(1_000_000, 0, 0.25) }
    const charges = [charge, { ...charge, purpose: "embedding" }, known]
    yield* (yield* UsageLedger).add(yield* newId(ChargeId), charges, null)
    const assumedPrices = {
      inputCostPerMillionTokens: 2,
      outputCostPerMillionTokens: 10,
      embeddingCostPerMillionTokens: 0.5
    }
    const day = yield* today
    const used = (prices: typeof assumedPrices | null) =>
      Effect.flatMap(QuotaStore, (store) =>
        store.used({
          requestsPerMinute: null,
          turnsPerMinute: null,
          day,
          assistantId: null,
          assumedPrices: prices
        })
      )
    assert.strictEqual((yield* used(assumedPrices)).costUsd, 3.75)
    assert.strictEqual((yield* used(null)).costUsd, 0.25)
    assert.strictEqual((yield* findRefusal({ usdPerDay: 3.7, assumedPrices })).limit, "usdPerDay")
    yield* admitted({ usdPerDay: 3.8, assumedPrices })
  })
}

const requests = (test: ContractTest): void => {
  test("MUST take an eighth of what is free, never more than the limit together, and say when the minute ends", function* () {
    const store = yield* QuotaStore
    const taken: Array<number> = []
    for (let calls = 0; calls < 40; calls++) taken.push((yield* store.takeRequests(16, 100)).taken)
    assert.deepStrictEqual(taken.slice(0, 3), [2, 2, 2])
    assert.strictEqual(
      taken.reduce((a, b) => a + b, 0),
      16
    )
    const last = yield* store.takeRequests(16, 1)
    assert.strictEqual(last.taken, 0)
    assert.isAbove(last.waitMillis, 0)
    assert.isAtMost(last.waitMillis, 60_000)
    const theirs = yield* asNewOwner(store.takeRequests(16, 1))
    assert.strictEqual(theirs.taken, 1)
  })

  test("MUST NOT take more than a limit that is no whole number", function* () {
    const store = yield* QuotaStore
    const taken = yield* Effect.forEach([1, 2, 3, 4], () => store.takeRequests(2.5, 1))
    assert.deepStrictEqual(
      taken.map((each) => each.taken),
      [1, 1, 0, 0]
    )
  })

  test("MUST take each request once, of ten callers at the same time", function* () {
    const store = yield* QuotaStore
    const answers = yield* Effect.all(
      Array.from({ length: 10 }, () => store.takeRequests(4, 1)),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(
      answers.reduce((sum, { taken }) => sum + taken, 0),
      4
    )
  })

  test("MUST report what the principal has used, and nothing of others", function* () {
    const store = yield* QuotaStore
    const limits = {
      requestsPerMinute: 60,
      turnsPerMinute: 60,
      day: yield* today,
      assistantId: null,
      assumedPrices: null
    }
    yield* settleTurn(yield* admitted({ turnsPerMinute: 60 }), { usage: sampleUsage(5, 3, 0.25) })
    yield* store.takeRequests(60, 2)
    const used = yield* store.used(limits)
    assert.deepStrictEqual([used.inputTokens, used.outputTokens, used.costUsd], [5, 3, 0.25])
    assert.deepStrictEqual([used.turns.used, used.requests.used], [1, 2])
    assert.isAbove(used.requests.freeInMillis, 0)
    assert.isAtMost(used.requests.freeInMillis, 60_000)
    assert.deepStrictEqual([used.documents, used.bytes, used.memories, used.sessions], [0, 0, 0, 0])
    const theirs = yield* asNewOwner(store.used(limits))
    assert.deepStrictEqual([theirs.inputTokens, theirs.turns.used, theirs.requests.used], [0, 0, 0])
  })
}
