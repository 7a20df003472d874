/**
 * The contract of `Metering`. The port tells only balances, and a host may count in a unit of its own, so each host brings a way to read what
 * was counted, and its prices.
 */
import { Metering, type MeteringPort, type Principal, RunId, ThreadId } from "@colloquy/core"
import { ChargeId, type ChargeReport, type CreditNeed, newId, noUsage, type UsageReport } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import { type Sentence, storeSuite } from "./ContractTest.ts"
import { asNewOwner, sampleUsage } from "./Samples.ts"
import { tenTimes } from "./Scenes.ts"

/** The accounts of a host. Every effect is run for one owner, whom the host has not seen before. */
export interface MeterAccounts<R = never> {
  /** Everything that was counted for the owner, in the host's own unit: dollars, tokens, answers. Waits for what is counted later. */
  readonly counted: Effect.Effect<number, unknown, Principal | R>
  /** What a report counts, in the same unit. */
  readonly price: (report: UsageReport | ChargeReport) => number
  /** Opens an account with credit. Absent: every owner has one. */
  readonly open?: Effect.Effect<void, unknown, Principal | R>
  /** Uses up the owner's credit. Absent: nobody is refused. */
  readonly exhaust?: Effect.Effect<void, unknown, Principal | R>
  /** A model that has a price. Absent: `sample-model` of `sample-provider`. */
  readonly model?: { readonly provider: string; readonly model: string }
}

type Report = UsageReport | ChargeReport

const chat: CreditNeed = { purpose: "chat", amountUsd: null }

/** What parts and tools may ask for. */
const otherNeeds: ReadonlyArray<CreditNeed> = [
  { purpose: "search", amountUsd: 0.005 },
  { purpose: "image", amountUsd: null },
  { purpose: "a word of the host ☃", amountUsd: 0 },
  { purpose: "video", amountUsd: 1e9 }
]

const failed = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "nothing"

/** What every meter must do, over accounts of its host. */
export const meteringSuite = <R>(name: string, meter: Layer.Layer<R, unknown>, accounts: MeterAccounts<R>): void =>
  storeSuite<R>(`the contract of Metering: ${name}`, meter, (test) => meteringContract(test, accounts))

/** Its cases. */
export const meteringContract = <R>(
  test: Sentence<R>,
  {
    counted,
    exhaust,
    model: payee = { provider: "sample-provider", model: "sample-model" },
    open = Effect.void,
    price
  }: MeterAccounts<R>
): void => {
  const answered = { ...payee, purpose: "chat", usage: sampleUsage(1000, 200, 0.5) }
  const searched = { provider: "web", model: "search", purpose: "search", usage: { ...noUsage, costUsd: 0.25 } }

  /** A leg of a run that no meter has heard of. */
  const newLeg = Effect.gen(function* () {
    const [runId, threadId] = [yield* newId(RunId), yield* newId(ThreadId)]
    const report: UsageReport = { runId, leg: 0, threadId, ...payee, usage: answered.usage, charges: [answered] }
    if (!(price(report) > 0)) assert.fail("An answer has no price, so nothing is tested. Name a `model` with a price.")
    return report
  })

  const newCharge = (runId: RunId | null): Effect.Effect<ChargeReport> =>
    Effect.map(newId(ChargeId), (id) => ({ id, runId, charges: [{ ...answered, purpose: "memory" }] }))

  /** `must`: what a meter does that takes a report. */
  const take = Effect.fnUntraced(function* <E, R2>(
    on: string,
    taking: Effect.Effect<void, E, R2>,
    must = "count it, and fail only where its store is away"
  ) {
    const exit = yield* Effect.exit(taking)
    if (Exit.isFailure(exit)) assert.fail(`The meter failed ${on} (${failed(exit)}). It must ${must}.`)
  })

  /** Runs the reports, and compares what they add with the prices of those that must be counted. */
  const expectCounted = Effect.fnUntraced(function* <E, R2>(
    on: string,
    reports: ReadonlyArray<Report>,
    reporting: Effect.Effect<unknown, E, R2>,
    must = "count each report once"
  ) {
    const before = yield* counted
    yield* reporting
    const added = (yield* counted) - before
    const wanted = reports.reduce((sum, report) => sum + price(report), 0)
    const isSame = Math.abs(added - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted))
    if (!isSame) assert.fail(`The meter counted ${added} ${on}, where the prices sum up to ${wanted}. It must ${must}.`)
  })

  /** Fails where the meter has a defect, or another error than those of the port. */
  const ask = Effect.fnUntraced(function* (meter: MeteringPort, need: CreditNeed) {
    const exit = yield* Effect.exit(meter.ensureCredit(need))
    if (Exit.isSuccess(exit)) return null
    const error = Cause.findErrorOption(exit.cause)
    const refusal = error._tag === "Some" && error.value._tag === "InsufficientCredit" ? error.value : null
    return (
      refusal ??
      assert.fail(
        `The meter failed on ${JSON.stringify(need)} (${failed(exit)}). It must refuse with \`InsufficientCredit\`.`
      )
    )
  })

  const reportsAtOnce = (times: ReadonlyArray<Exit.Exit<void, unknown>>): void => {
    if (!times.some(Exit.isSuccess)) assert.fail("The meter took none of ten equal reports at once. It must take one.")
  }

  test("MUST count nothing when it is asked for credit, and permit who has some, also where no price is known", function* () {
    yield* open
    const meter = yield* Metering
    const asking = Effect.gen(function* () {
      if ((yield* ask(meter, chat)) !== null)
        assert.fail(
          "The meter refuses a chat to an owner with credit. It must permit it, also where no price is known."
        )
      for (const need of otherNeeds) yield* ask(meter, need)
    })
    yield* expectCounted("when it was asked for credit", [], asking, "count what was spent alone")
  })

  test("MUST refuse an owner without credit with `InsufficientCredit`, and count nothing", function* () {
    if (exhaust === undefined) return
    yield* open
    yield* exhaust
    const meter = yield* Metering
    const asking = Effect.gen(function* () {
      const { waitMillis = 0 } =
        (yield* ask(meter, chat)) ??
        assert.fail("The meter permits a chat without credit. It must refuse it, also where no price is known.")
      if (!(waitMillis >= 0)) assert.fail(`The meter tells to wait ${waitMillis} ms.`)
    })
    yield* expectCounted("when it refused", [], asking, "count what was spent alone")
  })

  test("MUST count a leg once that is reported again, also ten times at once, and not fail", function* () {
    yield* open
    const meter = yield* Metering
    const [first, second] = [yield* newLeg, yield* newLeg]
    const repeating = Effect.gen(function* () {
      yield* take("on a report", meter.record(first))
      yield* take("on a repeated report", meter.record(first), "take a repeat, and count nothing")
      reportsAtOnce(yield* tenTimes(Effect.exit(meter.record(second))))
      yield* take("on a repeated report", meter.record(second), "take a repeat, and count nothing")
    })
    yield* expectCounted("for two legs that were reported often", [first, second], repeating, "count each leg once")
  })

  test("MUST count every leg of every run, in any order", function* () {
    yield* open
    const meter = yield* Metering
    const runs = [yield* newLeg, yield* newLeg]
    const legs = [2, 0, 1].flatMap((leg) => runs.map((run) => ({ ...run, leg })))
    const reporting = Effect.forEach(legs, (leg) => take("on a report", meter.record(leg)))
    yield* expectCounted("for the legs 2, 0 and 1 of two runs", legs, reporting, "count each of them")
  })

  test("MUST count all charges of a leg, whatever they are", function* () {
    yield* open
    const meter = yield* Metering
    for (const [what, charges] of [
      ["with two equal charges", [answered, searched, searched]],
      ["with charges and no answer", [searched]],
      ["with a charge whose cost is unknown", [{ ...answered, usage: sampleUsage(10, 20) }]],
      ["with a call whose end nobody saw", [{ ...answered, usage: { ...noUsage, estimated: true } }]],
      ["with a cost below a millionth", [{ ...answered, usage: sampleUsage(1, 1, 1.5e-7) }]],
      ["with more tokens than 32 bits hold", [{ ...answered, usage: sampleUsage(3e9, 1, 900) }]],
      ["with a name in other letters", [{ ...searched, model: 'it\'s a "model" ☃ 世界', purpose: "ein Wort" }]],
      ["without charges", []]
    ] as const) {
      const leg: UsageReport = { ...(yield* newLeg), charges, usage: charges[0]?.usage ?? noUsage }
      const on = `for a leg ${what}`
      yield* expectCounted(on, [leg], take(on, meter.record(leg)), "count each charge of the leg once")
    }
    // Each charge of a voice session is a leg.
    const session = { ...(yield* newLeg), leg: 5000, charges: [{ ...answered, purpose: "realtime" }] }
    yield* expectCounted("for a voice session", [session], take("on a voice session", meter.record(session)))
  })

  test("MUST count for the principal, and nothing for others", function* () {
    yield* open
    const meter = yield* Metering
    const [leg, charge] = [yield* newLeg, yield* newCharge(null)]
    const theirs = Effect.gen(function* () {
      yield* open
      yield* take("on a report", meter.record(leg))
      if (meter.recordCharges !== undefined) yield* take("on a charge", meter.recordCharges(charge))
    })
    yield* expectCounted("for an owner who used nothing", [], asNewOwner(theirs), "count for the principal alone")
  })

  test("MUST count what the credit does not cover", function* () {
    if (exhaust === undefined) return
    yield* open
    yield* exhaust
    const meter = yield* Metering
    const [leg, charge] = [yield* newLeg, yield* newCharge(null)]
    const must = "count what was used, also where there is no credit"
    yield* expectCounted("without credit", [leg], take("without credit", meter.record(leg), must), must)
    if (meter.recordCharges === undefined) return
    yield* expectCounted("without credit", [charge], take("without credit", meter.recordCharges(charge), must), must)
  })

  test("MUST count a charge outside of a turn once, also ten times at once, and beside the legs of its run", function* () {
    yield* open
    const { record, recordCharges } = yield* Metering
    if (recordCharges === undefined) return
    const leg = yield* newLeg
    const ofRun = [yield* newCharge(leg.runId), yield* newCharge(leg.runId)] as const
    const ofNone = [yield* newCharge(null), yield* newCharge(null)]
    const atOnce = yield* newCharge(null)
    const reporting = Effect.gen(function* () {
      yield* take("on a report", record(leg))
      for (const charge of [...ofRun, ...ofNone, ...ofRun]) yield* take("on a charge", recordCharges(charge))
      reportsAtOnce(yield* tenTimes(Effect.exit(recordCharges(atOnce))))
    })
    const all = [leg, ...ofRun, ...ofNone, atOnce]
    yield* expectCounted("for a leg and five charges outside of it", all, reporting, "count each of them once")
  })

  test("MUST tell a finite balance, or none", function* () {
    yield* open
    const { balance, record } = yield* Metering
    if (balance === undefined) return
    const leg = yield* newLeg
    for (const step of [Effect.void, exhaust ?? Effect.void, take("on a report", record(leg))]) {
      yield* step
      const told: number | null = yield* balance
      if (told !== null && !Number.isFinite(told)) assert.fail(`The meter told ${told} as its balance.`)
    }
  })
}
