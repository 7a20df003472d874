/**
 * A service over `node:http` in a process of its own, with its bytes in a folder, for the test of what uploads cost. Tells the most that the
 * process held beyond what it held before, while uploads were under way.
 */
import { FolderBlobs } from "@colloquy/adapters/blobs"
import { InMemory } from "@colloquy/adapters/in-memory"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { openWithDocuments } from "./DocumentService.ts"
import { keys } from "./Service.ts"

const [, , folder = ""] = process.argv
const stores = Layer.merge(InMemory.layer, FolderBlobs.layer({ folder }))
// What is indexed afterwards is not what this is about.
const service = await openWithDocuments(stores, { extract: () => Effect.never })
const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
const server = createServer(service.node)
await new Promise<void>((resolve) => {
  server.listen(0, "127.0.0.1", resolve)
})

const tell = (message: object) => process.send?.(message)

let before = 0
let most = 0
const measure = () => {
  most = Math.max(most, process.memoryUsage.rss())
}

process.on("message", (word: string) => {
  if (word === "begin") {
    globalThis.gc?.()
    before = process.memoryUsage.rss()
    setInterval(measure, 10)
    tell({ _tag: "Begun" })
  } else {
    measure()
    tell({ _tag: "Cost", bytes: most - before })
  }
})

const { port } = server.address() as AddressInfo
tell({ _tag: "Listening", port, key: keys.ada, path: `/assistants/${assistant_id}/documents` })
await new Promise((resolve) => process.once("disconnect", resolve))
process.exit(0)
