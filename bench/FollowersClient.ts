/** A client that follows one run of a server many times: sockets that are read and not looked at, so that the client takes little of the machine. */
import { createServer } from "node:http"
import { connect } from "node:net"
import { once } from "node:events"
import { serve } from "./Child.ts"

const port = Number(process.env["BENCH_PORT"])
const path = process.env["BENCH_PATH"] ?? ""
const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: bench-key\r\n\r\n`

/** A follower is there when the first bytes of its stream are. */
const follow = async (): Promise<void> => {
  const socket = connect(port, "127.0.0.1")
  socket.write(head)
  const [bytes] = await once(socket, "data")
  if (!String(bytes).startsWith("HTTP/1.1 200")) throw new Error(`A follower was answered with ${bytes}`)
  socket.resume()
}

process.on("message", (asked) => {
  if (typeof asked !== "number") return
  const more = async () => {
    for (let left = asked; left > 0; left -= 100) await Promise.all(Array.from({ length: Math.min(100, left) }, follow))
    process.send?.("following")
  }
  void more()
})

await serve(createServer())
