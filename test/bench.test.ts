/** The benchmark's own arithmetic: a wrong median or a row that is compared with the wrong side would be believed. */
import { assert, describe, it } from "@effect/vitest"
import { ticksIn } from "../bench/DatabaseCpu.ts"
import { inBlocks, inRounds, inTurns } from "../bench/Figures.ts"
import { median, percentile } from "../bench/Load.ts"
import { baselineRatio, holds, type Row, table } from "../bench/Report.ts"
import { chosen, runs } from "../bench/Runs.ts"

describe("figures of the benchmark", () => {
  it("takes the middle of an odd number of figures, and what is between the two middle ones of an even number", () => {
    assert.strictEqual(median([9, 1, 5]), 5)
    assert.strictEqual(median([1, 9, 2, 4]), 3)
    assert.isNaN(median([]))
  })

  it("finds the figure that only a part of them passes", () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index)
    assert.strictEqual(percentile(values, 0.99), 199)
    assert.strictEqual(percentile([3], 0.99), 3)
  })

  it("shows medians, and between which ratios the rounds lie: the ratio of each round, not of the extremes", () => {
    assert.deepStrictEqual(inRounds([10, 30, 20], [10, 15, 40]), {
      kernel: 20,
      baseline: 15,
      spread: { rounds: 3, lowest: 0.5, highest: 2 }
    })
    assert.deepStrictEqual(inRounds([4, 2], null), {
      kernel: 3,
      baseline: null,
      spread: { rounds: 2, lowest: 2, highest: 4 }
    })
  })

  it("makes rounds of figures that were taken one by one, and loses none", () => {
    assert.deepStrictEqual(inBlocks([1, 2, 9, 4, 5], 3), [2, 4.5])
  })

  it("visits the sides the other way round in every second round", () => {
    assert.deepStrictEqual(inTurns(["kernel", "baseline"], 0), [
      [0, "kernel"],
      [1, "baseline"]
    ])
    assert.deepStrictEqual(inTurns(["kernel", "baseline"], 1), [
      [1, "baseline"],
      [0, "kernel"]
    ])
  })

  it("reads the CPU time of a process whose name has spaces and brackets", () => {
    const stat = "4242 (postgres: a) (b) S 1 4242 4242 0 -1 4194560 900 0 0 0 321 45 0 0 20 0 1 0 777"
    assert.strictEqual(ticksIn(stat), 366)
  })
})

describe("the table of the benchmark", () => {
  const row: Row = {
    store: "postgres",
    what: "plain turns",
    unit: "CPU ms/turn",
    kernel: 3,
    baseline: 2,
    target: { of: "ratio", sense: "at most", bound: 1.8 }
  }

  it("judges a row by its ratio to the baseline or to the leanest program, or by its figure", () => {
    assert.strictEqual(baselineRatio(row), 1.5)
    assert.strictEqual(holds(row), true)
    assert.strictEqual(holds({ ...row, kernel: 4 }), false)
    assert.strictEqual(holds({ ...row, target: { of: "value", sense: "at least", bound: 4 } }), false)
    const toRaw: Row = { ...row, raw: 1.5, target: { of: "to raw", sense: "at most", bound: 1.9 } }
    assert.strictEqual(holds(toRaw), false)
    assert.strictEqual(holds({ ...toRaw, raw: 1.6 }), true)
    assert.strictEqual(holds({ ...row, target: null }), null)
  })

  it("calls a target missed that could not be measured", () => {
    assert.strictEqual(holds({ ...row, kernel: Number.NaN }), false)
    assert.strictEqual(holds({ ...row, baseline: null }), false)
    assert.strictEqual(holds({ ...row, target: { of: "to raw", sense: "at most", bound: 1.8 } }), false)
  })

  it("says in each line how far the rounds lie apart, or that it was measured once", () => {
    const [, , first, second] = table([{ ...row, spread: { rounds: 7, lowest: 1.4, highest: 1.62 } }, row]).split("\n")
    assert.include(first, "1.40 to 1.62 (7)")
    assert.include(second, "once")
  })
})

describe("the runs of the benchmark", () => {
  const named = (wish: Partial<Parameters<typeof chosen>[0]>) =>
    chosen({ only: undefined, stores: undefined, isQuick: false, ...wish }).map(
      ([store, { name }]) => `${name} ${store}`
    )

  it("makes one run by its name, on the stores that were named", () => {
    assert.deepStrictEqual(named({ only: "stream", stores: "in-memory" }), ["stream in-memory"])
    assert.deepStrictEqual(named({ only: "wings" }), ["wings postgres"])
  })

  it("makes a run that was asked for by its name in a quick call, too, though a quick call alone leaves it out", () => {
    assert.notInclude(named({ isQuick: true }), "others postgres")
    assert.deepStrictEqual(named({ isQuick: true, only: "others" }), ["others postgres"])
  })

  it("refuses a name that it does not know, and says those that it does", () => {
    assert.throws(() => named({ only: "turn" }), /no run "turn".*turns/u)
    assert.throws(() => named({ stores: "mysql" }), /no store "mysql".*pglite/u)
  })

  it("has a name of its own for each run", () => {
    assert.strictEqual(new Set(runs.map(({ name }) => name)).size, runs.length)
  })
})
