/** Audio both ways: whatever the sizes of its pieces, the same bytes in the same order, and few messages for tiny ones. */
import { assert, describe, it } from "@effect/vitest"
import type { IncomingMessage } from "node:http"
import { type FakeVendor, startVendor, type VendorSocket } from "../../adapters/test/realtime/FakeVendor.ts"
import { rawClient } from "./Service.ts"
import { startVendorService, voiceFrame } from "./VendorService.ts"
import { loopTurn } from "../../../test/until.ts"

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

const sound = (itemId: string, audio: Buffer) => ({
  type: "response.output_audio.delta",
  response_id: "r1",
  item_id: itemId,
  delta: audio.toString("base64")
})

const word = (text: string) => ({ type: "response.output_audio_transcript.delta", item_id: "a1", delta: text })

/** A client in a session whose vendor has begun to answer. */
const answering = async (vendor: FakeVendor, service: { readonly url: string; readonly key: string }) => {
  const client = rawClient(service.url, { key: service.key, first: voiceFrame })
  const there = await vendor.connection()
  await setUp(there)
  there.say({ type: "response.created", response: { id: "r1" } })
  await client.heard("session.begin")
  return { client, there }
}

/** What the client hears of sound and words, in its order. */
const spoken = (events: ReadonlyArray<{ readonly [field: string]: unknown }>) =>
  events.flatMap(({ data, item_id, text, type }) =>
    type === "audio.delta" ? [[item_id, data]] : type === "transcript.delta" ? [[item_id, text]] : []
  )

/** Around the sizes at which a frame's length takes more bytes, and at which a frame is made in another way. */
const sizes = [1, 2, 14, 15, 57, 60, 128, 960, 12_180, 12_204, 12_246, 12_250, 49_000, 49_074, 49_116, 49_118, 144_000]

describe("audio to the client", () => {
  it("keeps its bytes and its place among the words, whatever the sizes and the name of the item", async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const { client, there } = await answering(vendor, service)
    const expected: Array<ReadonlyArray<unknown>> = []
    for (const itemId of ["a1", "é 中 😀"]) {
      for (const size of sizes) {
        const audio = noise(size)
        there.say(sound(itemId, audio))
        there.say(word(`${size} `))
        expected.push([itemId, audio.toString("base64")], ["a1", `${size} `])
      }
    }
    there.say({ type: "response.done", response: { id: "r1", status: "completed", usage: {} } })
    await client.heard("response.done")
    assert.deepStrictEqual(spoken(client.events), expected)
    client.socket.close()
    await client.closed
    await vendor.close()
  })

  it("keeps its bytes where the vendor's messages come in pieces and together, and its fragments too", async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const { client, there } = await answering(vendor, service)
    const { socket: connection } = there.request
    const pieces = Array.from({ length: 60 }, (_, index) => Buffer.alloc(900 + index, index))
    connection.cork()
    for (const piece of pieces.slice(0, 40)) there.say(sound("a1", piece))
    connection.uncork()
    for (const piece of pieces.slice(40)) {
      const message = Buffer.from(JSON.stringify(sound("a1", piece)))
      const middle = message.length - 700
      there.socket.send(message.subarray(0, middle), { binary: false, fin: false })
      await loopTurn()
      there.socket.send(message.subarray(middle), { binary: false, fin: true })
    }
    there.say({ type: "response.done", response: { id: "r1", status: "completed", usage: {} } })
    await client.heard("response.done")
    assert.deepStrictEqual(
      spoken(client.events).map(([, data]) => data),
      pieces.map((piece) => piece.toString("base64"))
    )
    client.socket.close()
    await client.closed
    await vendor.close()
  })
})

describe("audio to the vendor", () => {
  it("keeps its bytes and its place among texts, at every size of a frame's length", async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const client = rawClient(service.url, { key: service.key, first: voiceFrame })
    const there = await vendor.connection()
    await setUp(there)
    await client.heard("session.begin")
    const audio = sizes.filter((size) => size >= 128 && size % 2 === 0).map((size) => noise(size))
    for (const [index, piece] of audio.entries()) {
      client.socket.send(piece)
      client.send({ type: "provider.event", event: { type: "input_audio_buffer.clear", event_id: `${index}` } })
    }
    await there.message(({ event_id }) => event_id === `${audio.length - 1}`)
    const heard = there.received.flatMap(({ audio: appended, event_id, type }) =>
      type === "input_audio_buffer.append" ? [appended] : type === "input_audio_buffer.clear" ? [event_id] : []
    )
    assert.deepStrictEqual(
      heard,
      audio.flatMap((piece, index) => [piece.toString("base64"), `${index}`])
    )
    client.socket.close()
    await client.closed
    await vendor.close()
  })
})
