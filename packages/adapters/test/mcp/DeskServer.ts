/** An MCP server of the official SDK of 2026, which speaks the revision of its client: the stateless one, or those that begin with `initialize`. */
import { createMcpHandler, McpServer, type McpRequestContext } from "@modelcontextprotocol/server"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"

export interface SeenRequest {
  readonly method: string
  readonly revision: string | undefined
  readonly authorization: string | undefined
}

export const makeDesk = ({ era }: McpRequestContext): McpServer => {
  const server = new McpServer({ name: "desk", version: "1.0.0" })
  server.registerTool("revision", { description: "Says which kind of revision is spoken." }, () => ({
    content: [{ type: "text", text: era }]
  }))
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
const serve = async (answer: (request: Request) => Promise<Response>) => {
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
