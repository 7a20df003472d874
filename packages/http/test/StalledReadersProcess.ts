/**
 * A service over `node:http` in a process of its own, with one long finished run, for the test of readers that do not read. Tells what
 * the process holds when so many have come and every one of them has stopped taking more.
 */
import { say } from "@colloquy/testing"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { allEvents, keys, open } from "./Service.ts"
import { until } from "../../../test/until.ts"

const pieces = Array.from({ length: 20_000 }, (_, index) => `${index} ${"x".repeat(200)}`)

await using service = await open([say(...pieces)])
// A turn that nobody streams keeps what came together as one event.
const begun = await service.fetch("POST", "/threads/messages", { content: "Talk", stream: true })
const place = (await allEvents(begun))[0]?.data
const readers = new Set<ServerResponse>()
const server = createServer((message, response) => {
  readers.add(response)
  service.node(message, response)
})
await new Promise<void>((resolve) => {
  server.listen(0, "127.0.0.1", resolve)
})

/** Of the heap and of buffers beside it, after a collection. */
const held = (): number => {
  globalThis.gc?.()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

/** Resolves when that many readers are there and none of them takes more. */
const stalled = async (count: number): Promise<void> => {
  await until(() => readers.size === count && [...readers].every((response) => response.writableNeedDrain))
}

const tell = (message: object) => process.send?.(message)

process.on("message", (count: number) => void stalled(count).then(() => tell({ _tag: "Stalled", held: held() })))

const { port } = server.address() as AddressInfo
tell({
  _tag: "Listening",
  port,
  key: keys.ada,
  path: `/threads/${place?.thread_id}/runs/${place?.run_id}/events`
})
await new Promise((resolve) => process.once("disconnect", resolve))
server.closeAllConnections()
server.close()
