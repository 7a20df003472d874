/** Times of the wire are those that JavaScript writes, for every time that there is. */
import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { writeTimestamp } from "../src/wire/Fields.ts"

const latest = 8.64e15
const Moment = Schema.Int.check(Schema.isBetween({ minimum: -latest, maximum: latest }))

it.prop("times are written as by toISOString", { at: Moment, step: Moment }, ({ at, step }) => {
  for (const millis of [at, at, Math.trunc(step / 1e9), 0, -1, latest, -latest, at - (at % 86_400_000)]) {
    const date = new Date(millis)
    assert.strictEqual(writeTimestamp(date), date.toISOString())
  }
})

it("a time that is none is refused, and nothing of it stays", () => {
  assert.throws(() => writeTimestamp(new Date(Number.NaN)), RangeError)
  assert.strictEqual(writeTimestamp(new Date(0)), "1970-01-01T00:00:00.000Z")
})
