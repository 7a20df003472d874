/**
 * The web handler behind `node:http`, and so behind Express and Fastify: a request is read as it is asked for, a response is written as
 * fast as the client takes it. A body that a parser of the host has read already is taken from `req.body`.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { readable } from "./RequestStream.ts"

type Handler = (request: Request) => Promise<Response>

/** What frameworks add to Node's request. */
interface HostedMessage extends IncomingMessage {
  readonly originalUrl?: string
  readonly body?: unknown
}

export const toNodeHandler =
  (handler: Handler) =>
  (message: HostedMessage, response: ServerResponse): void => {
    void respond(handler, message, response)
  }

const respond = async (handler: Handler, message: HostedMessage, response: ServerResponse): Promise<void> => {
  const gone = new AbortController()
  response.once("close", () => {
    if (!response.writableFinished) gone.abort()
  })
  try {
    const request = toRequest(message, gone.signal)
    await write(request === null ? refusal(400, "Bad Request") : await handler(request), response)
  } catch {
    if (response.headersSent) response.destroy()
    else await write(refusal(500, "Internal Server Error"), response)
  }
}

const refusal = (status: number, detail: string): Response => Response.json({ detail }, { status })

/** Null: the request line cannot be made an address, or has a method that the platform refuses. */
const toRequest = (message: HostedMessage, signal: AbortSignal): Request | null => {
  const url = message.originalUrl ?? message.url ?? "/"
  const method = message.method ?? "GET"
  const hasBody = method !== "GET" && method !== "HEAD"
  try {
    return new Request(new URL(url.startsWith("/") ? `http://localhost${url}` : url), {
      method,
      headers: headersOf(message),
      signal,
      ...(hasBody ? { body: bodyOf(message), duplex: "half" } : {})
    })
  } catch {
    return null
  }
}

const headersOf = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2)
    if (!name.startsWith(":")) headers.append(name, value)
  }
  return headers
}

const bodyOf = (message: HostedMessage): ReadableStream<Uint8Array> | string | Uint8Array<ArrayBuffer> => {
  const { body } = message
  if (!message.readableEnded) return readable(message)
  if (body === undefined || body === null) return ""
  if (typeof body === "string") return body
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return isForm(message) && typeof body === "object" ? formText(body) : JSON.stringify(body)
}

const isForm = ({ headers }: IncomingMessage): boolean =>
  headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true

/** Fields as they were before a parser made more of them: of repeated ones the last, of nested ones their JSON. */
const formText = (fields: object): string => {
  const pairs = Object.entries(fields).map(([name, value]: [string, unknown]): [string, string] => {
    const last: unknown = Array.isArray(value) ? value.at(-1) : value
    return [name, typeof last === "string" ? last : JSON.stringify(last)]
  })
  return new URLSearchParams(pairs).toString()
}

const write = async (from: Response, to: ServerResponse): Promise<void> => {
  to.statusCode = from.status
  for (const [name, value] of from.headers) if (name !== "set-cookie") to.setHeader(name, value)
  const cookies = from.headers.getSetCookie()
  if (cookies.length > 0) to.setHeader("set-cookie", cookies)
  if (from.body === null) {
    to.end()
    return
  }
  if (Number(from.headers.get("content-length") ?? Number.NaN) <= wholeBytes) {
    // Head and body go out together.
    to.end(new Uint8Array(await from.arrayBuffer()))
    return
  }
  to.flushHeaders()
  await pump(from.body.getReader(), to)
}

/** A body that is known to be no larger than this is written at once. */
const wholeBytes = 64 * 1024

/** One piece at a time; the next is asked for when the connection has room for it. */
const pump = async (from: ReadableStreamDefaultReader<Uint8Array>, to: ServerResponse): Promise<void> => {
  const closed = new Promise<void>((resolve) => to.once("close", resolve))
  const stop = () => void from.cancel().catch(() => {})
  to.once("close", stop)
  for (let piece = await from.read(); !piece.done; piece = await from.read()) {
    if (!to.write(piece.value)) await Promise.race([drained(to), closed])
  }
  to.off("close", stop)
  to.end()
}

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    response.once("drain", resolve)
  })
