/**
 * A request as Node and the frameworks around it hand it over: the address before a mount cut it, and a body that a parser of the host has
 * read already.
 */
import type { IncomingMessage } from "node:http"

export interface HostedMessage extends IncomingMessage {
  readonly originalUrl?: string
  readonly body?: unknown
}

export const mayHaveBody = ({ method = "GET" }: IncomingMessage): boolean => method !== "GET" && method !== "HEAD"

/** The body in the form in which it was sent; null: nobody has read it. */
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
