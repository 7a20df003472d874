/** What it costs the service when clients ask for a long stream and do not read it. */
import { assert, describe, it } from "@effect/vitest"
import { connect, type Socket } from "node:net"
import { startService } from "./ForkedService.ts"

/** The first ones pay for what all of them share: pages of the log, and code that is compiled. */
const first = 50
const more = 200

describe("a reader that does not read", () => {
  it("costs less than 300 KB", { timeout: 120_000 }, async () => {
    const { child, next } = startService("StalledReadersProcess.ts")
    const sockets: Array<Socket> = []
    try {
      const { key, path, port } = await next("Listening")
      const heldWith = async (count: number) => {
        while (sockets.length < count) {
          const socket = connect(port, "127.0.0.1")
          socket.pause()
          socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\n`)
          sockets.push(socket)
        }
        child.send(count)
        return (await next("Stalled")).held
      }
      const before = await heldWith(first)
      const after = await heldWith(first + more)
      assert.isBelow((after - before) / more, 300_000)
    } finally {
      for (const socket of sockets) socket.destroy()
      child.kill("SIGKILL")
    }
  })
})
