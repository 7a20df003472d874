/**
 * Any function of web requests behind `node:http`: Node's message becomes a web request, the web response is copied to Node's. For what a
 * host wraps around the service; the service alone is served faster by `webHandler().node`.
 */
import * as Duration from "effect/Duration"
import type { ServerResponse } from "node:http"
import type { Handler } from "../App.ts"
import { defaultHttpSettings } from "../HttpSettings.ts"
import { namedSource, withSource } from "../Source.ts"
import { endHalfSent } from "./HalfSent.ts"
import {
  bodyTaken,
  type HostedMessage,
  isBodyTaken,
  isRoundabout,
  mayHaveBody,
  type NodeHandler,
  readByHost,
  requestLine
} from "./HostedMessage.ts"
import { hostHeaders } from "./HostHeaders.ts"
import { badRequest, fault, notFound, refuse } from "./Refusals.ts"
import { readable } from "./RequestStream.ts"

const bodyTimeout = Duration.toMillis(defaultHttpSettings.bodyTimeout)

/** Makes a handler of Node's messages from a handler of web requests. */
export const toNodeHandler =
  (handler: Handler): NodeHandler =>
  (message, response) => {
    endHalfSent(message, response, bodyTimeout)
    if (isRoundabout(message)) notFound(response)
    else if (isBodyTaken(message)) refuse(response, 500, bodyTaken)
    else void respond(handler, message, response)
  }

const respond = async (handler: Handler, message: HostedMessage, response: ServerResponse): Promise<void> => {
  const gone = new AbortController()
  response.once("close", () => {
    if (!response.writableFinished) gone.abort()
  })
  try {
    const request = toRequest(message, gone.signal)
    if (request === null) badRequest(response)
    else await writeWeb(await handler(withSource(request, namedSource(message))), response)
  } catch {
    fault(response)
  }
}

/** Null: the request line is refused, or the platform refuses a header. */
const toRequest = (message: HostedMessage, signal: AbortSignal): Request | null => {
  const line = requestLine(message)
  if (line === null) return null
  const init = { method: line.method, signal }
  try {
    const address = `http://localhost${line.url}`
    const headers = new Headers(hostHeaders(message))
    if (!mayHaveBody(message)) return new Request(address, { ...init, headers })
    const given = readByHost(message)
    // The parsed body is written once more, and may be longer or shorter than it was.
    if (given !== null) headers.delete("content-length")
    return new Request(address, { ...init, headers, body: given ?? readable(message), duplex: "half" })
  } catch {
    return null
  }
}

export const writeWeb = async (from: Response, to: ServerResponse): Promise<void> => {
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

/** In a turn of the event loop of its own, so that a long body leaves room for other requests. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    response.once("drain", () => setImmediate(resolve))
  })
