import { makeResampler } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"

const samples = (values: ReadonlyArray<number>) => new Uint8Array(Int16Array.from(values).buffer)
const sampleValues = (bytes: Uint8Array) => [...new Int16Array(bytes.slice().buffer)]

describe("sound at another rate", () => {
  it.each([
    [24_000, 16_000, 2 / 3],
    [16_000, 24_000, 1.5],
    [22_050, 24_000, 24_000 / 22_050]
  ])("from %i to %i a ramp stays a ramp, in pieces of any length", (from, to, ratio) => {
    const ramp = Array.from({ length: 3000 }, (_, index) => index * 6)
    const bytes = samples(ramp)
    const whole = sampleValues(makeResampler(from, to)(bytes))
    assert.approximately(whole.length, 3000 * ratio, 2)
    whole.forEach((value, index) => assert.approximately(value, (index * 6) / ratio, 1))
    for (const size of [1, 3, 7, 960]) {
      const resample = makeResampler(from, to)
      const pieces: Array<number> = []
      for (let at = 0; at < bytes.length; at += size)
        pieces.push(...sampleValues(resample(bytes.subarray(at, at + size))))
      assert.deepStrictEqual(pieces, whole)
    }
  })

  it("at the same rate every byte stays", () => {
    const piece = Uint8Array.from([1, 2, 3])
    assert.strictEqual(makeResampler(24_000, 24_000)(piece), piece)
  })
})
