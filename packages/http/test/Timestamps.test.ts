import { assert, it } from "@effect/vitest"
import { timestampOf } from "../src/wire/Fields.ts"

const edges = [0, -1, 1, 86_399_999, 86_400_000, 951_782_399_999, 253_402_300_800_000, -62_198_755_200_000, 8.64e15]

it("a timestamp is the ISO text of its date, whatever was asked before", () => {
  // Every hour of two years with another minute, second and millisecond each, forwards and backwards.
  const hours = Array.from({ length: 17_544 }, (_, index) => Date.UTC(2027, 0, 1) + index * 3_600_000 + index * 61_001)
  for (const time of [...edges, ...hours, ...edges.toReversed(), ...hours.toReversed()]) {
    const date = new Date(time)
    assert.strictEqual(timestampOf(date), date.toISOString())
  }
  assert.throws(() => timestampOf(new Date(Number.NaN)), RangeError)
})
