/**
 * A request as Node and frameworks pass it on: the address before a mount shortened it, and a body that a parser of the host has read
 * already.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

/** A handler that `node:http` calls for each request. Frameworks pass the same two objects. */
export type NodeHandler = (message: IncomingMessage, response: ServerResponse) => void

export interface HostedMessage extends IncomingMessage {
  readonly originalUrl?: string
  readonly body?: unknown
}

/**
 * Whether a path goes through `.` or `..`, or has a backslash. The platform would make another path of it, and a proxy in front, which may
 * guard paths, would perhaps not: no such path has an answer here.
 */
export const isRoundabout = ({ originalUrl, url }: HostedMessage): boolean =>
  roundabout.test((originalUrl ?? url ?? "/").split("?", 1)[0] ?? "")

const roundabout = /\\|\/(?:\.|%2e){1,2}(?:[/;#]|$)/iu

export interface RequestLine {
  readonly method: string
  /** Path and query, as the platform would write them. */
  readonly url: string
  readonly originalUrl: string
}

/** Null: the target cannot be made an address, or the method is one that a web request cannot have. */
export const requestLine = (message: HostedMessage): RequestLine | null => {
  const method = (message.method ?? "GET").toUpperCase()
  const originalUrl = message.originalUrl ?? message.url ?? "/"
  const url = normalizedTarget(originalUrl)
  return url === null || refusedMethods.has(method) ? null : { method, url, originalUrl }
}

const refusedMethods: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"])

/** Addresses that `URL` would not change; almost all are such. */
const plain = /^\/[\w\-.~!$&()*+,;=:@%/?]*$/u
const dots = /\/(?:\.|%2e)/iu

const normalizedTarget = (target: string): string | null => {
  if (plain.test(target) && !dots.test(target)) return target
  const url = URL.parse(target.startsWith("/") ? `http://localhost${target}` : target)
  return url === null || url.username !== "" || url.password !== "" ? null : `${url.pathname}${url.search}`
}

export const mayHaveBody = ({ method = "GET" }: IncomingMessage): boolean => method !== "GET" && method !== "HEAD"

/** The message of the error when code of the host has read a body and has left nothing of it for this API. */
export const bodyTaken =
  "The body of this request was read before the request came to this API, and nothing of it is left. " +
  "Mount the API before parsers of bodies, or keep them off its path."

/** Whether a parser has read the body and has kept none of it, or only the fields of a form with files. */
export const isBodyTaken = (message: HostedMessage): boolean => {
  if (!message.readableEnded || !mayHaveBody(message)) return false
  const { body, headers } = message
  if (headers["content-type"]?.startsWith("multipart/") === true) return !(body instanceof Uint8Array)
  return body == null && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
}

/** The body in the form in which it was sent; null: the host has not read it. */
export const readByHost = (message: HostedMessage): string | Uint8Array<ArrayBuffer> | null => {
  const { body } = message
  if (!message.readableEnded) return null
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
