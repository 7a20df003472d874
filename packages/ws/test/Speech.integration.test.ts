/**
 * Real speech through the whole chain: a client, the socket, a session, the vendor's wire, and back. What is heard at each end is byte by
 * byte what was spoken at the other.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { WebSocket } from "ws"
import { startVendor } from "../../adapters/test/realtime/FakeVendor.ts"
import { RealtimeClient, type RealtimeEvent } from "../src/client/RealtimeClient.ts"
import { startVendorService } from "./VendorService.ts"

const hasSpeech = spawnSync("espeak-ng", ["--version"]).status === 0
const reason = "espeak-ng is not installed; `scripts/install-voices.sh` installs it"

/** PCM16 at 24 kHz, of the WAV at 22,050 Hz that the program writes. */
const speak = (text: string): Buffer => {
  const { stdout } = spawnSync("espeak-ng", ["--stdout", text], { maxBuffer: 64 * 1024 * 1024 })
  const wav = stdout.subarray(stdout.indexOf("data") + 8)
  const rate = stdout.readUInt32LE(24)
  const samples = Math.floor(((wav.length / 2 - 1) * 24_000) / rate)
  const audio = Buffer.alloc(samples * 2)
  for (let index = 0; index < samples; index++) {
    const place = (index * rate) / 24_000
    const before = Math.floor(place)
    const [left, right] = [wav.readInt16LE(before * 2), wav.readInt16LE((before + 1) * 2)]
    audio.writeInt16LE(Math.round(left + (right - left) * (place - before)), index * 2)
  }
  return audio
}

/** Pieces of these sizes in turn. */
function* audioPieces(audio: Buffer, ...sizes: ReadonlyArray<number>) {
  for (let from = 0, turn = 0; from < audio.length; turn++) {
    const size = sizes[turn % sizes.length] ?? audio.length
    yield audio.subarray(from, from + size)
    from += size
  }
}

describe("real speech", () => {
  const isSkipped = !hasSpeech && process.env["CI"] !== "true"
  it.skipIf(isSkipped)(`both ways, byte by byte${hasSpeech ? "" : ` (${reason})`}`, async () => {
    if (!hasSpeech) throw new Error(`With CI=true this test must run: ${reason}.`)
    const question = speak("How far is it from here to the nearest railway station?")
    const answer = speak("It is about seven hundred metres. Turn left at the church, and then right.")
    assert.isAbove(question.length, 48_000)
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const events: Array<RealtimeEvent> = []
    const closed = new Promise<number>((resolve) => {
      const client = new RealtimeClient({
        url: service.url,
        first: { provider: "provider_a", model: "voice-1" },
        open: (url) => new WebSocket(url, { headers: { "x-api-key": service.key } }),
        onEvent: (event) => {
          events.push(event)
          // 20 ms, and pieces that end in the middle of a sample.
          if (event.type === "session.begin") {
            for (const piece of audioPieces(question, 960, 961, 1, 2048)) client.sendAudio(new Uint8Array(piece))
          }
          if (event.type === "response.done") void client.stop()
        },
        onClose: resolve
      })
    })

    const there = await vendor.connection()
    there.say({ type: "session.created", session: {} })
    await there.message(({ type }) => type === "session.update")
    there.say({ type: "session.updated", session: {} })
    const heard = () =>
      Buffer.concat(
        there.received.flatMap(({ audio, type }) =>
          type === "input_audio_buffer.append" ? [Buffer.from(String(audio), "base64")] : []
        )
      )
    await there.message(() => heard().length >= question.length)
    assert.isTrue(heard().equals(question))
    there.say({ type: "input_audio_buffer.committed", item_id: "u1" })
    there.say({
      type: "conversation.item.input_audio_transcription.completed",
      item_id: "u1",
      transcript: "How far is it from here to the nearest railway station?"
    })
    there.say({ type: "response.created", response: { id: "r1" } })
    for (const piece of audioPieces(answer, 4800, 9600, 2, 24_000)) {
      there.say({
        type: "response.output_audio.delta",
        response_id: "r1",
        item_id: "a1",
        delta: piece.toString("base64")
      })
    }
    there.say({ type: "response.output_audio_transcript.done", item_id: "a1", transcript: "Seven hundred metres." })
    there.say({ type: "response.done", response: { id: "r1", status: "completed", usage: {} } })
    assert.strictEqual(await closed, 1000)
    const played = events.flatMap((event) => (event.type === "audio.delta" ? [Buffer.from(event.data, "base64")] : []))
    assert.isTrue(Buffer.concat(played).equals(answer))
    const begin = events.find((event) => event.type === "session.begin")
    assert.deepStrictEqual(await service.said(begin?.thread_id ?? ""), [
      ["user", "How far is it from here to the nearest railway station?"],
      ["assistant", "Seven hundred metres."]
    ])
    await vendor.close()
  })
})
