/**
 * A service over `node:http` in a process of its own, with a run that waits to be begun and then says a word every 50 ms, for the test of its many
 * followers. Tells what the process holds, and how long the longest turn of its event loop computed.
 */
import { gate, pause, say } from "@colloquy/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { longestStretch } from "../../../test/LongestStretch.ts"
import { keys, open, readEvents } from "./Service.ts"

const words = Array.from({ length: 20 }, (_, index) => [pause("50 millis"), say(`word ${index} `)]).flat()
await using service = await open([[gate(), ...words]])
const events = readEvents(await service.fetch("POST", "/threads/messages", { content: "Talk", stream: true }))
const { value: first } = await events.next()
const server = createServer(service.node)
await new Promise<void>((resolve) => {
  server.listen(0, "127.0.0.1", resolve)
})

let stretch: ReturnType<typeof longestStretch> | undefined

process.on("message", (wanted) => {
  if (wanted === "begin") {
    stretch = longestStretch()
    void service.run(service.model.release())
    return
  }
  const longest = stretch?.end() ?? 0
  globalThis.gc?.()
  process.send?.({ _tag: "Figures", resident: process.memoryUsage.rss(), longest })
})
const { port } = server.address() as AddressInfo
const { run_id, thread_id } = first?.data ?? {}
process.send?.({ _tag: "Listening", port, key: keys.ada, path: `/threads/${thread_id}/runs/${run_id}/events` })
await new Promise((resolve) => process.once("disconnect", resolve))
server.closeAllConnections()
server.close()
