/**
 * A service over `node:http` in a process of its own, with a run that waits to be begun and then says a word every 50 ms, for the test of its many
 * followers. Tells what the process holds, and how long the longest turn of its event loop computed.
 */
import { gate, pause, say } from "@colloquy/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { keys, open, readEvents } from "./Service.ts"

const words = Array.from({ length: 20 }, (_, index) => [pause("50 millis"), say(`word ${index} `)]).flat()
await using service = await open([[gate(), ...words]])
const events = readEvents(await service.fetch("POST", "/threads/messages", { content: "Talk", stream: true }))
const { value: first } = await events.next()
const server = createServer(service.node)
await new Promise<void>((resolve) => {
  server.listen(0, "127.0.0.1", resolve)
})

/** Milliseconds of computing, whatever else the machine does. */
const computed = () => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}

let longest = 0
const watch = (before: number) => {
  const now = computed()
  longest = Math.max(longest, now - before)
  setTimeout(watch, 1, now)
}

process.on("message", (wanted) => {
  if (wanted === "begin") {
    watch(computed())
    void service.run(service.model.release())
    return
  }
  globalThis.gc?.()
  process.send?.({ _tag: "Figures", resident: process.memoryUsage.rss(), longest })
})
const { port } = server.address() as AddressInfo
const { run_id, thread_id } = first?.data ?? {}
process.send?.({ _tag: "Listening", port, key: keys.ada, path: `/threads/${thread_id}/runs/${run_id}/events` })
await new Promise((resolve) => process.once("disconnect", resolve))
server.closeAllConnections()
server.close()
