/**
 * A service in a process of its own, for the test of what requests leave behind. Tells how many bytes a request leaves in the old part of
 * the heap that only a full collection frees.
 */
import { say } from "@colloquy/testing"
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"
import { allEvents, open } from "./Service.ts"

// As in the server: where V8 allocates what lived long at the start at once as old, it does so for every request.
setFlagsFromString("--no-allocation-site-pretenuring")

const requests = 150

await using service = await open(Array.from({ length: 2000 }, () => say("It ", "is ", "sunny.")))

const kinds: Readonly<Record<string, () => Promise<unknown>>> = {
  plain: async () => (await service.fetch("POST", "/threads/messages", { content: "Hello" })).text(),
  streamed: async () => allEvents(await service.fetch("POST", "/threads/messages", { content: "Hello", stream: true })),
  refused: async () => (await service.fetch("POST", "/threads/messages", { content: 7 })).text(),
  list: async () => (await service.fetch("GET", "/threads?limit=1")).text()
}

const oldSize = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space")?.space_used_size ?? 0

const collect = globalThis.gc
if (collect === undefined) throw new Error("Start this program with --expose-gc")

/** Bytes a request. */
const left = async (send: () => Promise<unknown>): Promise<number> => {
  for (let n = 0; n < requests; n++) await send()
  for (let n = 0; n < 3; n++) collect()
  for (let n = 0; n < requests; n++) await send()
  for (let n = 0; n < 3; n++) collect({ type: "minor" })
  const before = oldSize()
  for (let n = 0; n < 3; n++) collect()
  return (before - oldSize()) / requests
}

const found: Record<string, number> = {}
for (const [name, send] of Object.entries(kinds)) found[name] = await left(send)
process.send?.({ _tag: "Left", found })
