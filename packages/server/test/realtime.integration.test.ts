/**
 * Voice sessions on the standalone server, as a page has them: a ticket, the client file, a spoken turn, the end; and a process that ends.
 * Only that last test uses a process, because its start takes tens of seconds on a busy machine.
 */
import { joinBytes } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import { WebSocket } from "ws"
import { silence, tone } from "../src/demo/DemoSound.ts"
import { spawnServer } from "./ServerProcess.ts"
import { serverKey, startDemo } from "./TestServer.ts"
import { firstFrame as first, talk, withHeaders } from "./VoiceTalk.ts"

const startHere = async () => {
  const server = await startDemo()
  const api = `${server.url}/api`
  const key = serverKey(server)
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${api}${path}`, {
      method,
      headers: { "x-api-key": key, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    // oxlint-disable-next-line typescript/no-explicit-any
    const read: any = await answer.json()
    return { status: answer.status, body: read }
  }
  return { api, key, call, socket: socketUrl(api), [Symbol.asyncDispose]: server.stop }
}

const socketUrl = (api: string): string => `${api.replace("http:", "ws:")}/threads/realtime`

describe("voice on the standalone server", { timeout: 180_000 }, () => {
  it("a spoken turn with a ticket: echoed byte by byte, kept as messages", async () => {
    await using server = await startHere()
    const { api, call, socket } = server
    const { body: ticket } = await call("POST", "/threads/realtime/tickets", {}, { origin: "http://page.example" })
    assert.strictEqual(ticket.websocket_path, "/threads/realtime")
    assert.isTrue(socket.endsWith(`/api${ticket.websocket_path}`))
    const session = talk({
      url: socket,
      ticket: ticket.ticket,
      first,
      open: withHeaders({ origin: "http://page.example" })
    })
    const begin = await session.heard("session.begin")
    assert.deepInclude(begin, { thread_id: ticket.thread_id, assistant_id: ticket.assistant_id, provider: "demo" })
    const spoken = tone(300, 200)
    session.client.sendAudio(Buffer.from(joinBytes([spoken, silence(600)])))
    await session.heard("response.done")
    const audio = Buffer.concat(
      session.events.map((event) => (event.type === "audio.delta" ? Buffer.from(event.data, "base64") : Buffer.of()))
    )
    assert.isTrue(audio.includes(Buffer.from(spoken)))
    await session.client.stop()
    assert.strictEqual(await session.closed(), 1000)
    assert.deepInclude(session.events.at(-1), { type: "session.ended", provider_cost_usd: 0, charged_usd: 0 })
    const thread = await call("GET", `/threads/${ticket.thread_id}`)
    assert.deepStrictEqual(
      thread.body.messages.map(({ content, role }: Record<string, unknown>) => [role, content]),
      [
        ["user", "(0.2 seconds of sound)"],
        ["assistant", "I heard 0.2 seconds of sound. Here it is again."]
      ]
    )
    const file = await fetch(new URL("/realtime-client.js", api))
    assert.match(file.headers.get("content-type") ?? "", /^text\/javascript/)
    const code = await file.text()
    const module: { readonly RealtimeClient: unknown } = await import(
      `data:text/javascript,${encodeURIComponent(code)}`
    )
    assert.isFunction(module.RealtimeClient)
  })

  it("the socket's path without an upgrade is 426, with a key in the address 400", async () => {
    await using server = await startHere()
    const { api, call, key, socket } = server
    assert.strictEqual((await call("GET", "/threads/realtime")).status, 426)
    const status = await new Promise((resolve) => {
      const refused = new WebSocket(`${socket}?api_key=${key}`)
      refused.on("unexpected-response", (_, { statusCode }) => resolve(statusCode))
      refused.on("error", () => {})
    })
    assert.strictEqual(status, 400)
    const absent = talk({ url: socket, first: { provider: "provider_a", model: "x" }, open: withKey(key) })
    assert.deepInclude(await absent.heard("error"), { code: "provider_unavailable" })
    const models = await call("GET", "/models?model_type=realtime")
    assert.deepStrictEqual(
      models.body.models.map(({ name, provider }: Record<string, unknown>) => [provider, name]),
      [["demo", "demo-voice-1"]]
    )
    assert.match(api, /^http:/)
  })

  it(
    "SIGTERM ends a session with session.ended and 1001, and what was said is stored",
    { timeout: 180_000 },
    async () => {
      await using server = spawnServer({ COLLOQUY_DATA_DIR: "memory://", PORT: "0" })
      const text = await server.printed(/Documentation: /)
      const api = /listens on (\S+),/.exec(text)?.[1] ?? assert.fail(text)
      const key = /#key=(\S+)/.exec(text)?.[1] ?? assert.fail(text)
      const session = talk({ url: socketUrl(api), first, open: withKey(key) })
      await session.heard("session.begin")
      session.client.sendText("Hello")
      await session.heard("audio.delta")
      server.child.kill("SIGTERM")
      assert.strictEqual(await session.closed(), 1001)
      assert.strictEqual(session.events.at(-1)?.type, "session.ended")
      assert.strictEqual(await server.ended, 0)
    }
  )
})

const withKey = (key: string) => withHeaders({ "x-api-key": key })
