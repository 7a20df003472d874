/** The API under `/ai` of a server of `node:http`, beside its own routes. */
import { type HostCredentials, webHandler } from "@colloquy/http"
import { createServer, type IncomingMessage } from "node:http"
import { kernel } from "../kernel.ts"
import { sessionCookie, userFromCookie } from "../sessions.ts"

const ai = webHandler({
  kernel,
  basePath: "/ai",
  authenticate: ({ source }: HostCredentials<IncomingMessage>) => userFromCookie(source.headers.cookie)
})

export const server = createServer((request, response) => {
  const { url = "/" } = request
  if (url.startsWith("/ai/")) ai.node(request, response)
  else if (url.startsWith("/login/")) response.setHeader("set-cookie", sessionCookie(url.slice("/login/".length))).end()
  else response.end("Hello from node:http")
})
