/** Voices from parts on the standalone server, of servers that speak OpenAI's dialect and vLLM's events. */
import { assert, describe, it } from "@effect/vitest"
import { createServer } from "node:http"
import { WebSocketServer } from "ws"
import { SettingsRefused } from "../src/Settings.ts"
import { serverKey, startDemo } from "./TestServer.ts"
import { talk, withHeaders } from "./VoiceTalk.ts"

/** A machine of the operator: it writes down and speaks over HTTP, and listens over a socket. */
const startMachine = async () => {
  const asked: Array<string> = []
  const http = createServer((request, response) => {
    asked.push(request.url ?? "")
    request.resume().on("end", () => {
      const isSpeech = request.url === "/v1/audio/speech"
      response.setHeader("content-type", isSpeech ? "audio/pcm" : "application/json")
      response.end(isSpeech ? Buffer.alloc(4800) : JSON.stringify({ text: "From the recording." }))
    })
  })
  const sockets = new WebSocketServer({ server: http })
  sockets.on("connection", (socket) => {
    let hasWords = false
    socket.on("message", (data) => {
      const message = JSON.parse(Buffer.isBuffer(data) ? data.toString() : "{}")
      if (message.type === "input_audio_buffer.append" && !hasWords) {
        hasWords = true
        socket.send(JSON.stringify({ type: "transcription.delta", delta: "From " }))
      }
      if (message.final === true) socket.send(JSON.stringify({ type: "transcription.done", text: "From the socket." }))
    })
  })
  const port = await new Promise<number>((resolve) => {
    http.listen(0, "127.0.0.1", () => {
      const address = http.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })
  return {
    asked,
    host: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const client of sockets.clients) client.terminate()
      await new Promise((resolve) => http.close(resolve))
    }
  }
}

const partsAt = (host: string, isLive: boolean) => ({
  hear: {
    url: `http://${host}/v1`,
    model: "ears",
    usd_per_minute: 0,
    ...(isLive ? { live: { url: `ws://${host}/v1/realtime`, dialect: "vllm" } } : {})
  },
  think: { provider: "demo", model: "demo" },
  speak: { url: `http://${host}/v1`, model: "mouth", usd_per_million_characters: 0 }
})

const loud = Buffer.from(Int16Array.from({ length: 700 * 24 }, (_, at) => (at % 2 === 0 ? 6000 : -6000)).buffer)

describe("voices from parts on the standalone server", { timeout: 120_000 }, () => {
  for (const isLive of [true, false]) {
    it(`are offered, and hear ${isLive ? "while somebody speaks" : "whole recordings"}`, async () => {
      await using machine = await startMachine()
      const server = await startDemo({ VOICE_PARTS: JSON.stringify({ house: partsAt(machine.host, isLive) }) })
      try {
        const session = talk({
          url: `${server.url.replace("http:", "ws:")}/api/threads/realtime`,
          first: { provider: "parts", model: "house" },
          open: withHeaders({ "x-api-key": serverKey(server) })
        })
        await session.heard("session.begin")
        session.client.sendAudio(loud)
        if (isLive) assert.deepInclude(await session.heard("transcript.delta"), { role: "user", text: "From " })
        session.client.sendAudio(Buffer.alloc(600 * 48))
        const { text } = await session.heard("transcript.final")
        assert.strictEqual(text, isLive ? "From the socket." : "From the recording.")
        await session.heard("response.done")
        assert.isTrue(session.events.some(({ type }) => type === "audio.delta"))
        assert.strictEqual(machine.asked.includes("/v1/audio/transcriptions"), !isLive)
        await session.client.stop()
        await session.closed()
      } finally {
        await server.stop()
      }
    })
  }

  it("go on with a session whose vendor is not there", async () => {
    await using machine = await startMachine()
    const server = await startDemo({
      VOICE_PARTS: JSON.stringify({ house: partsAt(machine.host, false) }),
      VOICE_FALLBACK: "house",
      OPENAI_REALTIME_URL: "ws://127.0.0.1:9/v1/realtime"
    })
    try {
      const session = talk({
        url: `${server.url.replace("http:", "ws:")}/api/threads/realtime`,
        first: { provider: "provider_a", model: "gpt-realtime" },
        open: withHeaders({ "x-api-key": serverKey(server) })
      })
      await session.heard("session.begin")
      session.client.sendAudio(Buffer.concat([loud, Buffer.alloc(600 * 48)]))
      assert.strictEqual((await session.heard("transcript.final")).text, "From the recording.")
      await session.client.stop()
      await session.closed()
    } finally {
      await server.stop()
    }
  })

  it("are refused at the start, with what to change, if a part is no provider that is set", async () => {
    const voice = { ...partsAt("127.0.0.1:9", false), think: { provider: "ollama" } }
    const refused = await startDemo({ VOICE_PARTS: JSON.stringify({ house: voice }) }).then(
      () => assert.fail("It started."),
      (error: unknown) => error
    )
    assert.instanceOf(refused, SettingsRefused)
    assert.match(String(refused), /house: think must name a url, or one of these providers: demo/u)
  })
})
