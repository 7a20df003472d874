/** The server of this folder unchanged, and the guide that shows its files. */
import { Client } from "@colloquy/http"
import { RealtimeClient, type RealtimeEvent } from "@colloquy/ws/client"
import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { ai, server, stop } from "./server.ts"

describe("the voice example", () => {
  it("is what the guide shows", async () => {
    const guide = await readFile(new URL("../../docs/realtime.md", import.meta.url), "utf8")
    for (const file of ["server.ts", "page.ts", "session.test.ts", "next/server.mjs"]) {
      const text = await readFile(new URL(file, import.meta.url), "utf8")
      const shown = text.slice(text.indexOf("*/\n") + 3).trim()
      assert.include(guide, shown, file)
    }
  })

  it("talks to a browser that brings a ticket", async () => {
    await ai.ready()
    await once(server.listen(0, "127.0.0.1"), "listening")
    const address = server.address()
    const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}/ai`
    const client = await Client.connect({ baseUrl: `http://${host}`, apiKey: "key-of-ada" })
    const { ticket } = await client.realtime.issueTicket()
    const events: Array<RealtimeEvent> = []
    const closed = await new Promise<number>((resolve) => {
      const session = new RealtimeClient({
        url: `ws://${host}/threads/realtime`,
        ticket,
        first: { provider: "demo", model: "demo-voice-1" },
        onEvent: (event) => {
          events.push(event)
          if (event.type === "session.begin") session.sendText("Hello")
          if (event.type === "audio.delta") void session.stop()
        },
        onClose: resolve
      })
    })
    assert.strictEqual(closed, 1000)
    assert.strictEqual(events[0]?.type, "session.begin")
    assert.strictEqual(events.at(-1)?.type, "session.ended")
    await stop()
  })
})
