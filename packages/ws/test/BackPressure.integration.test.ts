/**
 * A peer that does not read, over real sockets: what it costs is bounded, it is cut off, and the other sessions of the process hear every
 * byte meanwhile.
 */
import { assert, describe, it } from "@effect/vitest"
import { type RawData, WebSocket } from "ws"
import { startVendor, type VendorSocket } from "../../adapters/test/realtime/FakeVendor.ts"
import { rawClient } from "./Service.ts"
import { startVendorService, voiceFrame } from "./VendorService.ts"
import { loopTurn, until } from "../../../test/until.ts"

const mebibyte = 1024 * 1024
/** What would be sent to a peer that reads. */
const endless = 256 * mebibyte
/** Far above the limits of the service (some 5 MiB) and the buffers of four sockets of the system, and far below what would be sent. */
const bound = 64 * mebibyte

const frameText = (data: RawData): string => (Buffer.isBuffer(data) ? data.toString() : "null")

/** Answers each piece of audio with the same piece, and the setup as a vendor does. */
const echo = (there: VendorSocket): void => {
  there.say({ type: "session.created", session: {} })
  there.socket.on("message", (data) => {
    const message: { readonly type: string; readonly audio?: string } = JSON.parse(frameText(data))
    if (message.type === "session.update") {
      there.say({ type: "session.updated", session: {} })
      there.say({ type: "response.created", response: { id: "r1" } })
    }
    if (message.type === "input_audio_buffer.append") {
      there.say({ type: "response.output_audio.delta", response_id: "r1", item_id: "a1", delta: message.audio })
    }
  })
}

/** Sends pieces as fast as they are taken; answers how many bytes were. */
const flood = (socket: WebSocket, piece: Buffer | string): { readonly taken: () => number } => {
  let taken = 0
  const next = (error?: Error | null): void => {
    if (error !== undefined && error !== null) return
    taken += piece.length
    if (taken < endless && socket.readyState === WebSocket.OPEN) socket.send(piece, next)
  }
  next()
  return { taken: () => taken }
}

/** Bytes of one piece: the small ones are written as whole frames, past the library. */
const pieceSizes = [4800, 48_000]

describe.each(pieceSizes)("back pressure with pieces of %d bytes", (pieceSize) => {
  it("a slow client costs bounded memory, is cut off, and disturbs no other", { timeout: 120_000 }, async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url, { stuck: "1 second" })
    const connect = async () => {
      const client = rawClient(service.url, { key: service.key, first: voiceFrame })
      const there = await vendor.connection()
      echo(there)
      await client.heard("session.begin")
      return { client, there }
    }
    const slow = await connect()
    const others = await Promise.all(Array.from({ length: 10 }, connect))
    slow.client.socket.pause()
    const encoded = Buffer.alloc(pieceSize).toString("base64")
    const sound = `{"type":"response.output_audio.delta","response_id":"r1","item_id":"a1","delta":"${encoded}"}`
    const flooded = flood(slow.there.socket, sound)

    const spoken = Buffer.from(Array.from({ length: 96_000 }, (_, index) => (index * 7919) % 256))
    const heardBy = async ({ client: { socket } }: (typeof others)[number]) => {
      const heard: Array<Buffer> = []
      let length = 0
      const all = new Promise<void>((resolve) => {
        socket.on("message", (data) => {
          const event: { readonly type: string; readonly data?: string } = JSON.parse(frameText(data))
          if (event.type !== "audio.delta") return
          const piece = Buffer.from(event.data ?? "", "base64")
          heard.push(piece)
          length += piece.length
          if (length >= spoken.length) resolve()
        })
      })
      for (let from = 0; from < spoken.length; from += 960) {
        socket.send(spoken.subarray(from, from + 960))
        await loopTurn()
      }
      await all
      return Buffer.concat(heard)
    }
    for (const heard of await Promise.all(others.map(heardBy))) assert.isTrue(heard.equals(spoken))
    // The vendor is told of the end at once, although it cannot get rid of what it has to say.
    await until(() => slow.there.socket.readyState !== WebSocket.OPEN)
    assert.isBelow(flooded.taken(), bound)
    slow.client.socket.resume()
    assert.notStrictEqual(await slow.client.closed, 1000)
    for (const { client } of others) {
      assert.strictEqual(client.socket.readyState, WebSocket.OPEN)
      client.socket.terminate()
    }
    await vendor.close()
  })

  it(
    "a slow vendor costs bounded memory: the client is not read any more, and then told provider_closed",
    { timeout: 120_000 },
    async () => {
      const vendor = await startVendor()
      await using service = await startVendorService(vendor.url, { stuck: "1 second", inputBytes: 2 * endless })
      const client = rawClient(service.url, { key: service.key, first: voiceFrame })
      const there = await vendor.connection()
      echo(there)
      await client.heard("session.begin")
      there.socket.pause()
      const flooded = flood(client.socket, Buffer.alloc(pieceSize))
      assert.strictEqual((await client.heard("error"))["code"], "provider_closed")
      assert.strictEqual(await client.closed, 1011)
      assert.isBelow(flooded.taken(), bound)
      await vendor.close()
    }
  )

  it("an interruption arrives at a client that has fallen behind before the audio that it did not read yet", async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const client = rawClient(service.url, { key: service.key, first: voiceFrame })
    const there = await vendor.connection()
    echo(there)
    await client.heard("session.begin")
    client.socket.pause()
    const encoded = Buffer.alloc(pieceSize).toString("base64")
    // More than the buffers of the system take, so that what follows waits in the service; and then less than what makes it read no more.
    there.say({ type: "rate_limits.updated", filler: "x".repeat(15 * mebibyte) })
    const pieces = Math.floor((3 * mebibyte) / (encoded.length + 200))
    const sound = { type: "response.output_audio.delta", response_id: "r1", item_id: "a1", delta: encoded }
    for (let piece = 0; piece < pieces; piece++) there.say(sound)
    there.say({ type: "input_audio_buffer.speech_started" })
    await there.message(({ type }) => type === "conversation.item.truncate")
    client.socket.resume()
    there.say({ type: "response.done", response: { id: "r1", status: "cancelled", usage: {} } })
    await client.heard("response.done")
    const heard = client.events.map(({ type }) => type)
    const interrupted = heard.indexOf("interrupted")
    assert.isAbove(interrupted, 0)
    assert.isFalse(heard.slice(interrupted).includes("audio.delta"))
    assert.isBelow(heard.filter((type) => type === "audio.delta").length, pieces)
    client.socket.close()
    await client.closed
    await vendor.close()
  })
})
