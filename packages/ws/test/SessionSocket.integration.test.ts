/** The client's side of a session over a real socket, without the session. */
import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { WebSocket, WebSocketServer } from "ws"
import { ownDoor } from "../src/OwnDoor.ts"
import { sessionSocket } from "../src/SessionSocket.ts"
import { until } from "../../../test/until.ts"

const connect = async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" })
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const connected = new Promise<readonly [socket: WebSocket, request: IncomingMessage]>((resolve) =>
    server.once("connection", (...connection) => resolve(connection))
  )
  const client = new WebSocket(`ws://127.0.0.1:${port}`)
  await once(client, "open")
  const [socket, request] = await connected
  return {
    client,
    socket,
    connection: request.socket,
    [Symbol.asyncDispose]: async () => {
      client.terminate()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

describe("the socket of a session", () => {
  it(
    "a client that reads none of the answers to its frames is not read either, and goes on when it reads",
    { timeout: 60_000 },
    async () => {
      await using peers = await connect()
      const { client, connection, socket } = peers
      socket.pause()
      const session = sessionSocket(socket, connection, {
        door: ownDoor,
        query: new URLSearchParams(),
        models: [],
        documentUrl: undefined,
        onBegin: () => {}
      })
      let received = 0
      session.listen(() => {
        received++
        session.send({ _tag: "Error", code: "invalid_frame", message: `${received}` })
      })
      const answers: Array<string> = []
      client.pause()
      client.on("message", (data) => {
        if (Buffer.isBuffer(data) && data.length < 1000) answers.push(data.toString())
      })
      // More than the system takes, so that every answer waits.
      session.send({ _tag: "ProviderEvent", json: JSON.stringify("x".repeat(32 * 1024 * 1024)) })
      const frames = 40_000
      for (let index = 0; index < frames; index++) client.send("{}")
      await until(() => socket.isPaused)
      assert.isAbove(received, 10_000)
      // Beside the limit: what came in the same piece of the stream.
      assert.isBelow(received, 20_000)
      // The session may hold and release it meanwhile: it is read again only when both allow it.
      session.pause()
      session.resume()
      assert.isTrue(socket.isPaused)

      client.resume()
      await until(() => answers.length >= frames)
      assert.strictEqual(answers.at(-1), JSON.stringify({ type: "error", code: "invalid_frame", message: `${frames}` }))
      assert.isFalse(socket.isPaused)
    }
  )
})
