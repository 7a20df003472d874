/**
 * Answers requests in JSON that a server of `node:http` refuses before any handler sees them: malformed requests, headers that are too
 * large, an unknown expectation, no `Host`. For a host whose server serves the API alone, or wants JSON everywhere.
 */
import { IncomingMessage, type Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { noSniffing } from "../App.ts"
import { refuse } from "./Refusals.ts"

interface Refusal {
  readonly status: string
  readonly detail: string
}

const malformed: Refusal = { status: "400 Bad Request", detail: "Bad Request" }

const refusals: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: "408 Request Timeout", detail: "The rest of the request did not come in time" },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: "413 Payload Too Large", detail: "The chunk extensions are too large" },
  HPE_HEADER_OVERFLOW: { status: "431 Request Header Fields Too Large", detail: "The headers are too large" }
}

/** Makes the server's own refusals JSON, and gives the server back: `refuseInJson(createServer(…))`. */
export const refuseInJson = <S extends Server>(server: S): S => {
  /** Connections on which an answer has begun: there, a refusal would be taken for a part of that answer. */
  const answering = new WeakMap<Duplex, ServerResponse>()
  server.on("request", (message, response) => void answering.set(message.socket, response))
  server.on("checkExpectation", (_message: IncomingMessage, response: ServerResponse) =>
    refuse(response, 417, "Expectation Failed", { connection: "close" })
  )
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const response = answering.get(socket)
    const isAnswering = response !== undefined && response.headersSent && !response.writableFinished
    if (socket.writable && !isAnswering) socket.write(asText(refusals[error.code ?? ""] ?? malformed))
    socket.destroy()
  })
  refuseWithoutHost(server)
  return server
}

/** Node answers a request without `Host` by itself and cannot be given a body for it: the check is made here in its place. */
const refuseWithoutHost = (server: Server): void => {
  if (Reflect.get(server, "requireHostHeader") !== true) return
  Reflect.set(server, "requireHostHeader", false)
  const emit: (event: string, ...args: ReadonlyArray<unknown>) => boolean = server.emit.bind(server)
  const checked = (event: string, ...args: ReadonlyArray<unknown>): boolean => {
    const [message, response] = args
    const isRequest = message instanceof IncomingMessage && response instanceof ServerResponse
    if (!isRequest || message.headers.host !== undefined || message.httpVersion !== "1.1") return emit(event, ...args)
    refuse(response, 400, "The header Host is missing", { connection: "close" })
    return true
  }
  Object.defineProperty(server, "emit", { configurable: true, writable: true, value: checked })
}

const asText = ({ detail, status }: Refusal): string => {
  const body = JSON.stringify({ detail })
  const headers = {
    ...noSniffing,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    connection: "close"
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`
}
