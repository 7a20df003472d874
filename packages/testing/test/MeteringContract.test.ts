// What the contract of `Metering` permits and what it finds, on meters that keep their accounts in maps.
import { InsufficientCredit, Metering, type MeteringPort, Principal, StoreUnavailable } from "@colloquy/core"
import type { ChargeReport, UsageReport } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Sentence } from "../src/contracts/ContractTest.ts"
import { type MeterAccounts, meteringContract, meteringSuite } from "../src/contracts/MeteringContract.ts"
import { asNewOwner } from "../src/contracts/Samples.ts"

type Report = UsageReport | ChargeReport

interface Meter {
  readonly port: MeteringPort
  readonly accounts: MeterAccounts
}

/** The tools of a host that keeps an account for each owner, in a unit of its own. */
interface Host {
  readonly price: (report: Report) => number
  /** Counts what was not counted under this key. */
  readonly count: (key: string, report: Report) => Effect.Effect<void, never, Principal>
  readonly balance: Effect.Effect<number, never, Principal>
  /** Adds to what was counted, without a key. */
  readonly add: (amount: number) => Effect.Effect<void, never, Principal>
}

const dollars = ({ charges }: Report): number => charges.reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0)

const legKey = ({ leg, runId }: UsageReport): string => `${runId}/${leg}`

const inDollars = (host: Host): MeteringPort => ({
  ensureCredit: () => Effect.flatMap(host.balance, (balance) => (balance > 0 ? Effect.void : new InsufficientCredit())),
  record: (report) => host.count(legKey(report), report),
  recordCharges: (report) => host.count(report.id, report),
  balance: host.balance
})

/** `change`: how the port differs from a good one. */
const meter = (change: (host: Host) => Partial<MeteringPort> = () => ({}), price = dollars): Meter => {
  const owners = new Map<string, { credit: number; counted: number; readonly keys: Set<string> }>()
  const account = Effect.map(Principal, ({ ownerId }) => {
    const found = owners.get(ownerId) ?? { credit: 10, counted: 0, keys: new Set() }
    owners.set(ownerId, found)
    return found
  })
  const host: Host = {
    price,
    balance: Effect.map(account, ({ counted, credit }) => credit - counted),
    add: (amount) => Effect.map(account, (mine) => void (mine.counted += amount)),
    count: (key, report) =>
      Effect.map(account, (mine) => {
        if (!mine.keys.has(key)) mine.counted += price(report)
        mine.keys.add(key)
      })
  }
  return {
    port: { ...inDollars(host), ...change(host) },
    accounts: {
      price,
      counted: Effect.map(account, ({ counted }) => counted),
      exhaust: Effect.map(account, (mine) => void (mine.credit = mine.counted))
    }
  }
}

const usual = meter()
meteringSuite("a host with dollars", Layer.succeed(Metering, usual.port), usual.accounts)

/** The cases that find something, with what they say. */
const foundBy = ({ accounts, port }: Meter) =>
  Effect.gen(function* () {
    const cases: Array<readonly [title: string, run: Effect.Effect<void, unknown>]> = []
    const take: Sentence<never> = (title, body) => void cases.push([title, asNewOwner(Effect.gen(body))])
    meteringContract(take, accounts)
    const found: Array<string> = []
    for (const [title, run] of cases) {
      const exit = yield* Effect.exit(Effect.provideService(run, Metering, port))
      if (Exit.isFailure(exit)) found.push(`${title}: ${String(Cause.squash(exit.cause))}`)
    }
    return found
  })

const tokens = ({ charges }: Report): number =>
  charges.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0)

const without = <Key extends "exhaust" | "recordCharges" | "balance", A extends { readonly [K in Key]?: unknown }>(
  from: A,
  key: Key
): Omit<A, Key> => {
  const { [key]: _, ...rest } = from
  return rest
}

const quick = meter()
const free = meter(() => ({ ensureCredit: () => Effect.void, balance: Effect.succeed(null) }))
const inTurns = meter()

/** Counts in the background. */
const later = (): Meter => {
  const { accounts, port } = meter()
  let open = Promise.resolve()
  const record: MeteringPort["record"] = (report) =>
    Effect.map(Effect.context<Principal>(), (context) => {
      open = open.then(() => Effect.runPromiseWith(context)(port.record(report)))
    })
  const counted = Effect.andThen(
    Effect.promise(() => open),
    accounts.counted
  )
  return { port: without({ ...port, record }, "recordCharges"), accounts: { ...accounts, counted } }
}

/** Takes one of the reports that come at once, and asks to come again with the others. */
const locking = (): Meter => {
  const { accounts, port } = meter()
  const locked = new Set<string>()
  const record: MeteringPort["record"] = (report) =>
    Effect.suspend(() => {
      const key = legKey(report)
      if (locked.has(key)) return new StoreUnavailable({ operation: "record", cause: "locked" })
      locked.add(key)
      return Effect.yieldNow.pipe(
        Effect.andThen(port.record(report)),
        Effect.ensuring(Effect.sync(() => void locked.delete(key)))
      )
    })
  return { port: { ...port, record }, accounts }
}

const together = (): Meter => {
  const { accounts, port } = meter()
  const forAll = Principal.provide("all")
  return {
    port: { ...port, record: (report) => forAll(port.record(report)) },
    accounts: { ...accounts, counted: forAll(accounts.counted) }
  }
}

describe("the contract of Metering", () => {
  for (const [what, each] of [
    ["counts dollars", quick],
    ["counts tokens", meter(() => ({}), tokens)],
    [
      "counts answers, whatever they cost",
      meter(
        () => ({}),
        () => 1
      )
    ],
    ["refuses nobody and has no balances", { port: free.port, accounts: without(free.accounts, "exhaust") }],
    ["hears of turns only", { ...inTurns, port: without(inTurns.port, "recordCharges") }],
    ["counts later", later()],
    ["is asked to come again when it counts the same", locking()],
    [
      "refuses some purposes",
      meter(({ balance }) => ({
        ensureCredit: ({ purpose }) =>
          Effect.flatMap(balance, (left) =>
            left > 0 && purpose === "chat" ? Effect.void : new InsufficientCredit({ reason: "Ask for more." })
          )
      }))
    ]
  ] as const) {
    it.effect(`permits a meter that ${what}`, () =>
      Effect.map(foundBy(each), (found) => assert.deepStrictEqual(found, []))
    )
  }

  const once = "MUST count a leg once that is reported again"
  const inOrder = "MUST count every leg of every run, in any order"
  const allCharges = "MUST count all charges of a leg"
  const outside = "MUST count a charge outside of a turn once"
  const permits = "MUST count nothing when it is asked for credit"
  const refuses = "MUST refuse an owner without credit"
  const uncovered = "MUST count what the credit does not cover"
  const lastLegs = new Map<string, number>()
  for (const [what, foundIn, each] of [
    ["counts each report", once, meter(({ add }) => ({ record: (report) => add(dollars(report)) }))],
    [
      "looks whether a leg is known, and counts it a moment later",
      once,
      meter(({ add }) => {
        const known = new Set<string>()
        return {
          record: Effect.fnUntraced(function* (report) {
            if (known.has(legKey(report))) return
            yield* Effect.yieldNow
            known.add(legKey(report))
            yield* add(dollars(report))
          })
        }
      })
    ],
    [
      "fails on a leg that is known",
      `${once}, also ten times at once, and not fail: AssertionError: The meter failed on a repeated report`,
      meter(({ count }) => {
        const known = new Set<string>()
        return {
          record: Effect.fnUntraced(function* (report) {
            if (known.has(legKey(report))) return yield* new StoreUnavailable({ operation: "record", cause: "unique" })
            known.add(legKey(report))
            yield* count(legKey(report), report)
          })
        }
      })
    ],
    ["counts each run once", inOrder, meter(({ count }) => ({ record: (report) => count(report.runId, report) }))],
    [
      "counts each number of a leg once",
      inOrder,
      meter(({ count }) => ({ record: (report) => count(`${report.leg}`, report) }))
    ],
    [
      "counts no leg before the last one that it has counted",
      inOrder,
      meter(({ count }) => ({
        record: (report) => {
          if (report.leg <= (lastLegs.get(report.runId) ?? -1)) return Effect.void
          lastLegs.set(report.runId, report.leg)
          return count(legKey(report), report)
        }
      }))
    ],
    [
      "counts equal charges once",
      allCharges,
      meter(({ count }) => ({
        record: (report) => {
          const names = new Map(report.charges.map((charge) => [`${charge.model} ${charge.purpose}`, charge]))
          return count(legKey(report), { ...report, charges: [...names.values()] })
        }
      }))
    ],
    [
      "counts usage and charges",
      allCharges,
      meter(({ add, count }) => ({
        record: (report) =>
          Effect.andThen(count(legKey(report), report), report.leg === 0 ? add(report.usage.costUsd ?? 0) : Effect.void)
      }))
    ],
    [
      "has 32 bits for tokens",
      allCharges,
      meter(({ count }) => ({
        record: (report) =>
          report.usage.inputTokens > 2 ** 31
            ? Effect.die(new RangeError("out of range for type integer"))
            : count(legKey(report), report)
      }))
    ],
    [
      "counts NaN where the cost is unknown",
      allCharges,
      meter(({ add, count }) => ({
        record: (report) =>
          report.charges.some(({ usage }) => usage.costUsd === null) ? add(NaN) : count(legKey(report), report)
      }))
    ],
    ["has one account for all owners", "MUST count for the principal, and nothing for others", together()],
    ["counts when it is asked", permits, meter(({ add }) => ({ ensureCredit: () => add(0.01) }))],
    [
      "refuses what has no price",
      permits,
      meter(({ balance }) => ({
        ensureCredit: ({ amountUsd }) =>
          Effect.flatMap(balance, (left) =>
            amountUsd !== null && left > amountUsd ? Effect.void : new InsufficientCredit()
          )
      }))
    ],
    [
      "has a defect on a purpose that it does not know",
      permits,
      meter(() => ({
        ensureCredit: ({ purpose }) =>
          ["chat", "search", "image"].includes(purpose) ? Effect.void : Effect.die(new Error("unknown purpose"))
      }))
    ],
    ["permits everything", refuses, meter(() => ({ ensureCredit: () => Effect.void }))],
    [
      "takes what has no price for free",
      refuses,
      meter(({ balance }) => ({
        ensureCredit: ({ amountUsd }) =>
          Effect.flatMap(balance, (left) => (left >= (amountUsd ?? 0) ? Effect.void : new InsufficientCredit()))
      }))
    ],
    [
      "refuses as a store that is away",
      refuses,
      meter(({ balance }) => ({
        ensureCredit: () =>
          Effect.flatMap(balance, (left) =>
            left > 0 ? Effect.void : new StoreUnavailable({ operation: "credit", cause: "poor" })
          )
      }))
    ],
    [
      "keeps its balance above 0",
      uncovered,
      meter(({ balance, count }) => ({
        record: (report) =>
          Effect.flatMap(balance, (left) =>
            left < dollars(report) && left < 1 ? Effect.die(new Error("check")) : count(legKey(report), report)
          )
      }))
    ],
    [
      "loses charges that the credit does not cover",
      uncovered,
      meter(({ balance, count }) => ({
        recordCharges: (report) =>
          Effect.flatMap(balance, (left) => (left <= 0 ? Effect.void : count(report.id, report)))
      }))
    ],
    [
      "counts one charge of a run",
      outside,
      meter(({ count }) => ({ recordCharges: (report) => count(report.runId ?? report.id, report) }))
    ],
    [
      "counts no charge of a run that has legs",
      outside,
      meter(({ count }) => {
        const runs = new Set<string>()
        return {
          record: (report) => {
            runs.add(report.runId)
            return count(legKey(report), report)
          },
          recordCharges: (report) => (runs.has(report.runId ?? "") ? Effect.void : count(report.id, report))
        }
      })
    ],
    [
      "counts each report of a charge",
      outside,
      meter(({ add }) => ({ recordCharges: (report) => add(dollars(report)) }))
    ],
    [
      "has no number as its balance",
      "MUST tell a finite balance, or none",
      meter(({ balance }) => ({ balance: Effect.map(balance, (left) => Math.log(left)) }))
    ]
  ] as const) {
    it.effect(`finds a meter that ${what}`, () =>
      Effect.map(foundBy(each), (found) =>
        assert.isTrue(
          found.some((sentence) => sentence.startsWith(foundIn)),
          `It was expected to be found in "${foundIn}", and was found in: ${found.join("\n")}`
        )
      )
    )
  }

  it.effect("tells a host whose answers have no price that nothing would be tested", () =>
    Effect.map(
      foundBy(
        meter(
          () => ({}),
          () => 0
        )
      ),
      (found) => {
        assert.isAbove(found.length, 3)
        for (const sentence of found) assert.include(sentence, "Name a `model` with a price.")
      }
    )
  )
})
