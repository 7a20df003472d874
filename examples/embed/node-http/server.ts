/** The API under `/ai` of a server of `node:http`, beside a route of its own. */
import { toNodeHandler } from "@colloquy/http/node"
import { createServer } from "node:http"
import { ai } from "../kernel.ts"

const mounted = toNodeHandler(ai.handler)

export const server = createServer((request, response) => {
  if (request.url?.startsWith("/ai/")) mounted(request, response)
  else response.end("Hello from node:http")
})
