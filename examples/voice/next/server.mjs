/**
 * Voice beside a Next application. Next's own server has no place for upgrades, so a custom one stands before it: what begins with `/ai` is
 * the kernel's, over HTTP and WebSocket, and everything else is Next's, its own upgrades included.
 */
import next from "next"
import { once } from "node:events"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { ai, stop, voice } from "../server.ts"

const application = next({
  dev: process.env["NODE_ENV"] !== "production",
  dir: fileURLToPath(new URL(".", import.meta.url))
})
await application.prepare()
const pages = application.getRequestHandler()

const server = createServer((request, response) => {
  if (request.url?.startsWith("/ai/") === true) ai.node(request, response)
  else void pages(request, response)
})
voice.attach(server)
await once(server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1"), "listening")
const address = server.address()
console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`)

const end = async () => {
  await stop()
  server.closeAllConnections()
  await application.close()
  process.exit(0)
}
process.once("SIGTERM", () => void end())
