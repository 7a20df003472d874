/** The statistics against published values. */
import { assert, describe, it } from "@effect/vitest"
import { calibrate, mcNemar, pairedBootstrap, wilsonInterval } from "@colloquy/core/evals"

describe("the Wilson interval", () => {
  // Newcombe, "Two-sided confidence intervals for the single proportion" (Statistics in Medicine 17, 1998), table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718]
  ])("of %i in %i is that of Newcombe", (hits, cases, low, high) => {
    const interval = wilsonInterval(hits, cases)
    assert.closeTo(interval.low, low, 0.00005)
    assert.closeTo(interval.high, high, 0.00005)
  })
})

describe("McNemar's exact test", () => {
  it("gives the values of the sign test of Darwin's maize: 13 of 15 pairs are taller", () => {
    // 2 (1 + 15 + 105) / 2^15
    assert.closeTo(mcNemar(13, 2), 0.00739, 0.000005)
  })

  it("gives half of Arbuthnot's probability on each side: more boys in all of 82 years", () => {
    assert.closeTo(mcNemar(82, 0) * 1e25, 4.1359, 0.0001)
  })

  it("gives the binomial test of R, and the sums of exact fractions", () => {
    // binom.test(1, 10)$p.value
    assert.closeTo(mcNemar(1, 9), 0.021484375, 1e-12)
    // 121 better and 59 worse, by exact fractions.
    assert.closeTo(mcNemar(121, 59) * 1e6, 4.434449263755, 1e-11)
    assert.closeTo(mcNemar(14, 3), 0.012725830078125, 1e-12)
  })

  it("is symmetric, is 1 where the pairs are as equal as they can be, and works for many pairs", () => {
    assert.strictEqual(mcNemar(3, 14), mcNemar(14, 3))
    assert.deepStrictEqual([mcNemar(0, 0), mcNemar(4, 4), mcNemar(1, 0), mcNemar(5, 4)], [1, 1, 1, 1])
    // 10,000 pairs, by exact fractions.
    assert.closeTo(mcNemar(5100, 4900), 0.04658552770495, 1e-12)
  })
})

describe("the paired bootstrap", () => {
  // Darwin's maize, differences of 15 pairs in eighths of an inch (Fisher, The Design of Experiments, chapter III).
  const maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]

  it("has the mean of the pairs, and the standard error of Darwin's maize", () => {
    const found = pairedBootstrap(maize, { resamples: 20_000 })
    assert.closeTo(found?.mean ?? Number.NaN, 20.93, 0.005)
    // Bootstrap standard error: 9.41. The percentiles lie about 1.96 of them around the mean.
    const { high = Number.NaN, low = Number.NaN } = found?.interval ?? {}
    assert.closeTo((high - low) / (2 * 1.96), 9.41, 0.4)
    assert.isAbove(low, 0)
  })

  it("is the same for the same seed, and has no interval to tell where all pairs are equal or none is there", () => {
    assert.deepStrictEqual(pairedBootstrap(maize, { seed: 7 }), pairedBootstrap(maize, { seed: 7 }))
    assert.notDeepEqual(pairedBootstrap(maize, { seed: 7 }), pairedBootstrap(maize, { seed: 8 }))
    assert.deepStrictEqual(pairedBootstrap([2, 2, 2]), { mean: 2, interval: { low: 2, high: 2 } })
    assert.isNull(pairedBootstrap([]))
  })
})

describe("calibration", () => {
  it("gives Brier's own example", () => {
    // Brier, "Verification of forecasts expressed in terms of probability" (1950): ten forecasts of rain, P = 0.19 over both classes.
    const forecasts = [0.7, 0.9, 0.8, 0.4, 0.2, 0, 0, 0, 0, 0.1]
    const rained = [false, true, true, true, false, false, false, false, false, false]
    const { brierScore, cases } = calibrate(
      forecasts.map((probability, day) => ({ probability, cameTrue: rained[day] ?? false }))
    )
    assert.strictEqual(cases, 10)
    assert.closeTo(2 * brierScore, 0.19, 1e-12)
  })
})
