/** Audio from the client to the vendor: whatever the sizes of its pieces, the same bytes in the same order, and few messages for tiny ones. */
import { assert, describe, it } from "@effect/vitest"
import type { IncomingMessage } from "node:http"
import { startVendor, type VendorSocket } from "../../adapters/test/realtime/FakeVendor.ts"
import { rawClient } from "./Service.ts"
import { startVendorService, voiceFrame } from "./VendorService.ts"

const setUp = async (there: VendorSocket): Promise<void> => {
  there.say({ type: "session.created", session: {} })
  await there.message(({ type }) => type === "session.update")
  there.say({ type: "session.updated", session: {} })
}

const appendedTo = (there: VendorSocket): ReadonlyArray<Buffer> =>
  there.received.flatMap(({ audio }) => (typeof audio === "string" ? [Buffer.from(audio, "base64")] : []))

const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, index) => (index * 7919) % 251))

describe("audio from the client", () => {
  it("keeps its bytes and their order; tiny pieces of one moment go up as few messages, others one by one", async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const client = rawClient(service.url, { key: service.key, first: voiceFrame })
    const connected = new Promise<IncomingMessage>((resolve) => client.socket.once("upgrade", resolve))
    const there = await vendor.connection()
    await setUp(there)
    await client.heard("session.begin")

    const audio = noise(2 * 500 + 960 + 3 * 100 + 4 + 1 + 127 + 128 + 70_000)
    const sizes = [
      ...Array.from({ length: 500 }, () => 2),
      960,
      ...Array.from({ length: 100 }, () => 3),
      4,
      0,
      1,
      127,
      128,
      70_000
    ]
    const { socket: connection } = await connected
    connection.cork()
    let from = 0
    for (const size of sizes) {
      client.socket.send(audio.subarray(from, from + size))
      from += size
    }
    connection.uncork()
    await there.message(() => Buffer.concat(appendedTo(there)).length >= audio.length)
    assert.isTrue(Buffer.concat(appendedTo(there)).equals(audio))
    assert.isBelow(appendedTo(there).length, 50)

    // A microphone's pieces: none waits for the next one, even when they come together.
    const before = appendedTo(there).length
    const pieces = Array.from({ length: 10 }, (_, index) => Buffer.alloc(960, index))
    connection.cork()
    for (const piece of pieces) client.socket.send(piece)
    connection.uncork()
    await there.message(() => appendedTo(there).length >= before + pieces.length)
    assert.deepStrictEqual(appendedTo(there).slice(before), pieces)
    client.socket.close()
    await client.closed
    await vendor.close()
  })

  it("a frame that comes behind tiny pieces does not overtake them", async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const client = rawClient(service.url, {
      key: service.key,
      first: { ...voiceFrame, provider_options: { audio: { input: { turn_detection: null } } } }
    })
    const connected = new Promise<IncomingMessage>((resolve) => client.socket.once("upgrade", resolve))
    const there = await vendor.connection()
    await setUp(there)
    await client.heard("session.begin")
    const { socket: connection } = await connected
    connection.cork()
    for (let piece = 0; piece < 20; piece++) client.socket.send(Buffer.alloc(2, piece))
    client.send({ type: "commit" })
    client.socket.send(Buffer.alloc(960, 9))
    connection.uncork()
    await there.message(() => appendedTo(there).some(({ length }) => length === 960))
    const order = there.received.map(({ type }) => type).filter((type) => String(type).startsWith("input_audio_buffer"))
    assert.deepStrictEqual(order.slice(-3), [
      "input_audio_buffer.append",
      "input_audio_buffer.commit",
      "input_audio_buffer.append"
    ])
    const tiny = appendedTo(there).slice(0, -1)
    assert.isTrue(
      Buffer.concat(tiny).equals(Buffer.concat(Array.from({ length: 20 }, (_, piece) => Buffer.alloc(2, piece))))
    )
    client.socket.close()
    await client.closed
    await vendor.close()
  })
})
