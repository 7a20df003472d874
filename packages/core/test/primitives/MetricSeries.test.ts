/** A metric's series: each counts by itself, under the name that a reader of metrics expects. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { metricSeries } from "../../src/primitives/MetricSeries.ts"

describe("metricSeries", () => {
  it.effect("counts each set of labels by itself, and all under one name", () =>
    Effect.gen(function* () {
      const seriesFor = metricSeries(() => Metric.counter("asked", { description: "Questions" }))
      const context = yield* Effect.context<never>()
      for (const [model, count] of [
        ["a", 2],
        ["b", 3],
        ["a", 5]
      ] as const)
        seriesFor({ model }).updateUnsafe(count, context)
      assert.strictEqual(seriesFor({ model: "a" }), seriesFor({ model: "a" }))
      const found = (yield* Metric.snapshot).filter(({ id }) => id === "asked")
      assert.sameDeepMembers(
        found.map(({ attributes, state }) => ({ attributes, state })),
        [
          { attributes: { model: "a" }, state: { count: 7, incremental: false } },
          { attributes: { model: "b" }, state: { count: 3, incremental: false } }
        ]
      )
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
