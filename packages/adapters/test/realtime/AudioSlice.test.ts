// A slice is what a parser would find, or nothing.
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { decodedLength, sliceAudioDelta } from "../../src/realtime/AudioSlice.ts"

const kind = Buffer.from('"response.output_audio.delta"')

const Message = Schema.Struct({
  order: Schema.Int,
  bytes: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))),
  itemId: Schema.String,
  extra: Schema.Json,
  pretty: Schema.Boolean
})

describe("sliceAudioDelta", () => {
  it.prop("equals the parser or leaves the message to it", { message: Message }, ({ message }) => {
    const delta = Buffer.from(message.bytes).toString("base64")
    const fields = Object.entries({
      type: "response.output_audio.delta",
      item_id: message.itemId,
      delta,
      extra: message.extra
    })
    const from = Math.abs(message.order) % fields.length
    const shuffled = Object.fromEntries([...fields.slice(from), ...fields.slice(0, from)])
    const slice = sliceAudioDelta(Buffer.from(JSON.stringify(shuffled, null, message.pretty ? 1 : 0)), kind)
    if (slice === null) return
    assert.strictEqual(Buffer.from(slice.base64).toString("latin1"), delta)
    assert.strictEqual(slice.itemId, message.itemId)
    assert.strictEqual(decodedLength(slice.base64), message.bytes.length)
  })

  it("finds the audio of a message as the vendor sends it", () => {
    const message = {
      type: "response.output_audio.delta",
      event_id: "e",
      response_id: "r",
      item_id: "i",
      delta: "AAEC"
    }
    const slice = sliceAudioDelta(Buffer.from(JSON.stringify(message)), kind)
    assert.strictEqual(slice?.itemId, "i")
    assert.strictEqual(Buffer.from(slice?.base64 ?? "").toString(), "AAEC")
  })
})
