// Frames that are put together here, as RFC 6455 has them.
import { assert, describe, it } from "@effect/vitest"
import { textFrame } from "../src/TextFrames.ts"

const frameOfLength = (length: number): string | null =>
  textFrame(Buffer.from("<é"), Buffer.alloc(Math.max(0, length - 4), 120), Buffer.from(">"))

describe("a frame of text", () => {
  it("has its length in two bytes and its text behind them, a character for each byte", () => {
    for (const length of [126, 127, 255, 256, 1400, 16_380]) {
      const frame = Buffer.from(frameOfLength(length) ?? "", "latin1")
      assert.deepStrictEqual([...frame.subarray(0, 2)], [0x81, 126])
      assert.strictEqual(frame.readUInt16BE(2), length)
      assert.strictEqual(frame.subarray(4).toString("utf8"), `<é${"x".repeat(length - 4)}>`)
    }
  })

  it("is not made of a text whose length stands in one byte, or that is long", () => {
    assert.isNull(frameOfLength(125))
    assert.isNull(frameOfLength(16_381))
  })

  it("is not changed by the next one", () => {
    const first = frameOfLength(200)
    frameOfLength(300)
    assert.strictEqual(Buffer.from(first ?? "", "latin1").toString("utf8", 4), `<é${"x".repeat(196)}>`)
  })
})
