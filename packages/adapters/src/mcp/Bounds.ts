/**
 * The bounds of what an MCP server may send. A server that exceeds them is disconnected. It loses its own tools, and nothing else becomes
 * slower or larger.
 */
import type { FetchLike, Transport } from "@modelcontextprotocol/client"

/** The largest message, in bytes. Parsing such a message takes some hundredths of a second. */
export const mostBytes = 2 * 1024 * 1024

/** The most messages within a second, answers and notifications together. */
const mostMessages = 200

export type Misbehaved = (problem: string) => void

export const tooLarge = `sent a message of more than ${mostBytes / 1024 / 1024} MB`

/** Counts the messages of a server, which may be notifications that nobody asked for. */
export const messageCounter = (misbehaved: Misbehaved, now: () => number = () => performance.now()): (() => void) => {
  let since = now()
  let count = 0
  return () => {
    const at = now()
    if (at - since > 1000) {
      since = at
      count = 0
    }
    count += 1
    if (count > mostMessages) misbehaved(`sent more than ${mostMessages} messages within a second`)
  }
}

/**
 * Counts the messages that arrive. The client replaces our listener while it finds out the revision of the server, so messages are counted
 * then too. A listener calls the one before it, so one message may come here more than once.
 */
export const countMessages = (transport: Transport, misbehaved: Misbehaved): void => {
  const count = messageCounter(misbehaved)
  let last: unknown
  let listener: Transport["onmessage"]
  Object.defineProperty(transport, "onmessage", {
    get: () => listener,
    set: (next: Transport["onmessage"]) => {
      listener =
        next === undefined
          ? undefined
          : (message, extra) => {
              if (message !== last) count()
              last = message
              next(message, extra)
            }
    }
  })
}

/** Whether an error of the SDK means that a program wrote a line of more than `mostBytes`. */
export const isTooLarge = (error: Error): boolean => error.message.startsWith("ReadBuffer exceeded")

/** `fetch` whose answers end with an error when one message of them is too large. */
export const boundedFetch =
  (misbehaved: Misbehaved): FetchLike =>
  async (url, init) => {
    const response = await fetch(url, init)
    if (response.body === null) return response
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true
    const { headers, status, statusText } = response
    return new Response(response.body.pipeThrough(byteLimit(isStream, misbehaved)), { headers, status, statusText })
  }

const lineFeed = 10

/** The whole body is one message; of a stream each event is one, and a blank line ends it. */
const byteLimit = (isStream: boolean, misbehaved: Misbehaved): TransformStream<Uint8Array, Uint8Array> => {
  let size = 0
  /** The last bytes before: a blank line may arrive in two pieces. */
  let before: Uint8Array = new Uint8Array()
  return new TransformStream({
    transform: (bytes, controller) => {
      const all = isStream ? Buffer.concat([before, bytes]) : bytes
      const end = isStream ? lastBlankLine(all) : -1
      size = end === -1 ? size + bytes.length : all.length - end
      before = new Uint8Array(all.subarray(-2))
      if (size > mostBytes) {
        misbehaved(tooLarge)
        controller.error(new Error(tooLarge))
      } else controller.enqueue(bytes)
    }
  })
}

const lastBlankLine = (bytes: Uint8Array): number => {
  for (let at = bytes.lastIndexOf(lineFeed); at > 0; at = bytes.lastIndexOf(lineFeed, at - 1)) {
    if (bytes[at - 1] === lineFeed || (bytes[at - 1] === 13 && bytes[at - 2] === lineFeed)) return at
  }
  return -1
}
