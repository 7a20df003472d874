/** An MCP server of the official SDK of 2026, which speaks the revision of its client: the stateless one, or those that begin with `initialize`. */
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
  type McpRequestContext
} from "@modelcontextprotocol/server"
import * as z from "zod"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"

export interface SeenRequest {
  readonly method: string
  readonly revision: string | undefined
  readonly authorization: string | undefined
}

const seatsForm = {
  type: "object" as const,
  properties: { seats: { type: "integer" as const, minimum: 1 } },
  required: ["seats"]
}
const ask = (message: string) => inputRequired.elicit({ message, requestedSchema: seatsForm })
const said = (words: string) => ({ content: [{ type: "text" as const, text: words }] })

/** Tools that ask a person: one form, two at once, and one after the other. */
const registerQuestions = (server: McpServer): void => {
  server.registerTool("book", {}, (context) => {
    const view = inputResponse(context.mcpReq.inputResponses, "seats")
    if (view.kind === "missing")
      return inputRequired({ inputRequests: { seats: ask("How many seats?") }, requestState: "kept" })
    return said(JSON.stringify([context.mcpReq.requestState(), view]))
  })
  server.registerTool("both", {}, ({ mcpReq }) => {
    const views = ["a", "b"].map((key) => inputResponse(mcpReq.inputResponses, key))
    if (views.some(({ kind }) => kind === "missing"))
      return inputRequired({ inputRequests: { a: ask("Seats at noon?"), b: ask("Seats at night?") } })
    return said(JSON.stringify(views.map((view) => (view.kind === "elicit" ? view.content : view.kind))))
  })
  server.registerTool("twice", {}, ({ mcpReq }) => {
    const first = inputResponse(mcpReq.inputResponses, "first")
    const second = inputResponse(mcpReq.inputResponses, "second")
    if (second.kind === "elicit") return said(JSON.stringify([mcpReq.requestState(), second.content]))
    if (first.kind === "elicit")
      return inputRequired({ inputRequests: { second: ask("Second?") }, requestState: JSON.stringify(first.content) })
    return inputRequired({ inputRequests: { first: ask("First?") } })
  })
  server.registerTool("endless", {}, () => inputRequired({ requestState: "more" }))
  server.registerTool("sample", {}, () => inputRequired({ inputRequests: { a: { method: "roots/list" } } }))
}

const registerShared = (server: McpServer): void => {
  server.registerResource(
    "menu",
    "desk://menu",
    { mimeType: "text/plain", description: "What there is" },
    ({ href }) => ({
      contents: [
        { uri: href, text: "Soup" },
        { uri: "desk://photo", mimeType: "image/png", blob: "iVBORw0KGgo=" }
      ]
    })
  )
  server.registerResource("book", "desk://book", {}, ({ href }) => ({
    contents: [{ uri: href, text: "x".repeat(500_000) }]
  }))
  server.registerPrompt(
    "greet",
    { description: "Greets a guest", argsSchema: z.object({ guest: z.string() }) },
    ({ guest }) => ({
      messages: [{ role: "user", content: { type: "text", text: `Greet ${guest}.` } }]
    })
  )
}

export const makeDesk = ({ era }: McpRequestContext): McpServer => {
  const server = new McpServer({ name: "desk", version: "1.0.0" })
  server.registerTool("revision", { description: "Says which kind of revision is spoken." }, () => ({
    content: [{ type: "text", text: era }]
  }))
  registerQuestions(server)
  registerShared(server)
  return server
}

/** `allow` may refuse a request. */
export const openDesk = async (
  make: typeof makeDesk = makeDesk,
  allow: (request: Request) => Response | null = () => null
) => {
  const handler = createMcpHandler(make)
  const seen: Array<SeenRequest> = []
  const answer = async (request: Request): Promise<Response> => {
    const body = await request.clone().text()
    seen.push({
      method: /"method":"([^"]+)"/u.exec(body)?.[1] ?? request.method,
      revision: request.headers.get("mcp-protocol-version") ?? undefined,
      authorization: request.headers.get("authorization") ?? undefined
    })
    return allow(request) ?? handler.fetch(request)
  }
  const served = await serve(answer)
  return {
    ...served,
    url: `${served.url}/mcp`,
    seen,
    notify: handler.notify,
    [Symbol.asyncDispose]: async () => {
      await handler.close()
      await served.stop()
    }
  }
}

/** A server of Node for a function of web requests. */
export const serve = async (answer: (request: Request) => Promise<Response>) => {
  const server: Server = createServer((incoming, outgoing) => {
    const reply = async () => {
      const { headers, method = "GET", url = "/" } = incoming
      const body = method === "GET" || method === "HEAD" ? {} : { body: await text(incoming) }
      const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
      const gone = new AbortController()
      outgoing.on("close", () => gone.abort())
      const address = `http://${headers.host ?? "localhost"}${url}`
      const response = await answer(new Request(address, { method, headers: sent, signal: gone.signal, ...body }))
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      if (response.body === null) outgoing.end()
      else
        Readable.fromWeb(response.body)
          .on("error", () => outgoing.destroy())
          .pipe(outgoing)
    }
    void reply()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${port}`, stop, [Symbol.asyncDispose]: stop }
}
