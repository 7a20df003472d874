/**
 * Writes an answer of the service straight to Node's response. A body that is there goes out with its head in one write; a stream goes out
 * piece by piece, each at once, and no faster than the client takes it. Resolves when all is handed to the connection.
 */
import * as Effect from "effect/Effect"
import * as Cookies from "effect/http/Cookies"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { OutgoingHttpHeaders, ServerResponse } from "node:http"
import { fault } from "./Refusals.ts"
import { writeWeb } from "./ThroughWeb.ts"

type Answer = HttpServerResponse.HttpServerResponse

export const write = (answer: Answer, to: ServerResponse, isHead: boolean): Effect.Effect<void> => {
  if (to.destroyed || to.writableEnded) return Effect.void
  try {
    return HttpServerResponse.omitsBody(answer, isHead) ? withoutBody(answer, to) : withBody(answer, to)
  } catch {
    // A head that Node refuses, or one that the host has written.
    return Effect.sync(() => fault(to))
  }
}

const withoutBody = (answer: Answer, to: ServerResponse): Effect.Effect<void> => {
  const { "content-length": given, ...headers } = headersOf(answer)
  const length = answer.status in lengthWithout ? lengthWithout[answer.status] : given
  writeHead(answer, to, length === undefined ? headers : { ...headers, "content-length": length })
  to.end()
  return Effect.void
}

/** An answer to HEAD, and a 304, tell the length of what they leave out. */
const lengthWithout: Readonly<Record<number, string | undefined>> = { 204: undefined, 205: "0" }

const withBody = (answer: Answer, to: ServerResponse): Effect.Effect<void> => {
  const { body } = answer
  switch (body._tag) {
    case "Empty":
      writeHead(answer, to, { ...headersOf(answer), "content-length": "0" })
      to.end()
      return Effect.void
    case "Uint8Array":
      writeHead(answer, to, headersOf(answer))
      to.end(body.text ?? body.body)
      return Effect.void
    case "Stream":
      writeHead(answer, to, headersOf(answer))
      return writeStream(body.stream, to)
    default:
      // What only the platform can turn to bytes.
      return Effect.promise(() => writeWeb(HttpServerResponse.toWeb(answer), to).catch(() => fault(to)))
  }
}

const headersOf = ({ cookies, headers }: Answer): OutgoingHttpHeaders =>
  Cookies.isEmpty(cookies) ? headers : { ...headers, "set-cookie": Cookies.toSetCookieHeaders(cookies) }

const writeHead = ({ status, statusText }: Answer, to: ServerResponse, headers: OutgoingHttpHeaders): void => {
  if (statusText === undefined) to.writeHead(status, headers)
  else to.writeHead(status, statusText, headers)
}

/** A stream that breaks off cuts the connection, so that the client does not take it for whole. */
const writeStream = <E>(from: Stream.Stream<Uint8Array, E>, to: ServerResponse): Effect.Effect<void> => {
  let isBegun = false
  const run = Stream.runForEachArray(from, (pieces) => {
    isBegun = true
    return writeAll(pieces, to) ? Effect.void : drained(to)
  })
  // The head goes out with the first piece, or by itself when there is none yet.
  process.nextTick(() => {
    if (!isBegun && !to.destroyed) to.flushHeaders()
  })
  return Effect.matchCause(Effect.interruptible(run), {
    onSuccess: () => {
      isBegun = true
      to.end()
    },
    onFailure: () => {
      to.destroy()
    }
  })
}

/** False: the client reads too slowly. A connection that is closed is not written to: each write would be an error. */
const writeAll = (pieces: ReadonlyArray<Uint8Array>, to: ServerResponse): boolean => {
  let hasRoom = true
  for (const piece of pieces) hasRoom = to.destroyed || to.write(piece)
  return hasRoom
}

/**
 * Resumes in the next turn of the event loop. Node tells of room before that turn whenever the system took all bytes at once, so that a long
 * stream would go out in one turn, and many of them would keep every other request waiting. Does not end when the connection closes: the
 * fiber that runs the stream is interrupted then.
 */
const drained = (to: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const proceed = () => void setImmediate(() => resume(Effect.void))
    to.once("drain", proceed)
    return Effect.sync(() => {
      to.off("drain", proceed)
    })
  })
