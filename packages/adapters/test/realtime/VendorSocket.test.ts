// Masked frames that are put together here, as RFC 6455 has them.
import { assert, describe, it } from "@effect/vitest"
import { maskedFrame } from "../../src/realtime/VendorSocket.ts"

/** A message of this text, cut into three parts. */
const messageParts = (text: string) => ({
  before: text.slice(0, 45),
  base64: text.slice(45, -2),
  after: text.slice(-2)
})

const frameBytes = (text: string): Buffer => Buffer.from(maskedFrame(messageParts(text)) ?? "", "latin1")

const unmasked = (frame: Buffer): string => {
  const mask = frame.subarray(4, 8)
  return frame
    .subarray(8)
    .map((byte, index) => byte ^ (mask[index % 4] ?? 0))
    .toString()
}

describe("a masked frame of text", () => {
  it("has its length in two bytes, its mask behind them, and becomes the text again", () => {
    for (const length of [126, 127, 128, 129, 256, 1330, 16_373, 16_374, 16_375, 16_376]) {
      const text = Array.from({ length }, (_, index) => String.fromCharCode(32 + (index % 95))).join("")
      const frame = frameBytes(text)
      assert.deepStrictEqual([...frame.subarray(0, 2)], [0x81, 0x80 | 126])
      assert.strictEqual(frame.readUInt16BE(2), length)
      assert.strictEqual(unmasked(frame), text)
    }
  })

  it("is not made of a text whose length stands in one byte, or that is long", () => {
    assert.isNull(maskedFrame(messageParts("x".repeat(125))))
    assert.isNull(maskedFrame(messageParts("x".repeat(16_377))))
  })

  it("has a mask of its own each time, from a source that cannot be guessed: hardly one repeats in 10,000", () => {
    const masks = new Set(Array.from({ length: 10_000 }, () => frameBytes("x".repeat(126)).readUInt32LE(4)))
    // Ten thousand random numbers of 32 bits meet some pair in one of hundred runs.
    assert.isAtLeast(masks.size, 9990)
  })
})
