/** A server for frameworks that speak web requests, as thin as possible: the test's own, so that what it proves is not our Node glue. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { listen, type Running } from "./Sockets.ts"

type FetchHandler = (request: Request) => Response | Promise<Response>

export const serveWeb = (handler: FetchHandler): Promise<Running> =>
  listen(createServer((message, response) => void answer(handler, message, response)))

const answer = async (handler: FetchHandler, message: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { method = "GET", url = "/" } = message
  const hasBody = method !== "GET" && method !== "HEAD"
  const request = new Request(`http://127.0.0.1${url}`, {
    method,
    headers: Object.entries(message.headers).map(([name, value]): [string, string] => [name, String(value)]),
    ...(hasBody ? { body: Readable.toWeb(message) as ReadableStream, duplex: "half" } : {})
  })
  const { body, headers, status } = await handler(request)
  response.writeHead(status, Object.fromEntries(headers))
  if (body === null) response.end()
  else await pipeline(Readable.fromWeb(body), response)
}
