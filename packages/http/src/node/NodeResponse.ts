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
import { findWriteToSink } from "../streams/Heartbeat.ts"
import { findTexts, type TextGroups } from "../encoding/TextPieces.ts"
import { NodeSink } from "./NodeSink.ts"
import { writeWeb } from "./ThroughWeb.ts"

type KernelResponse = HttpServerResponse.HttpServerResponse

export const write = (answer: KernelResponse, to: ServerResponse, isHead: boolean): Effect.Effect<void> => {
  if (to.destroyed || to.writableEnded) return Effect.void
  try {
    return HttpServerResponse.omitsBody(answer, isHead) ? withoutBody(answer, to) : withBody(answer, to)
  } catch {
    // Node refuses this head, or the host has written one already.
    return Effect.sync(() => fault(to))
  }
}

const withoutBody = (answer: KernelResponse, to: ServerResponse): Effect.Effect<void> => {
  const { "content-length": given, ...headers } = nodeHeaders(answer)
  const length = answer.status in lengthWithout ? lengthWithout[answer.status] : given
  writeHead(answer, to, length === undefined ? headers : { ...headers, "content-length": length })
  to.end()
  return Effect.void
}

/** An answer to HEAD, and a 304, tell the length of what they leave out. */
const lengthWithout: Readonly<Record<number, string | undefined>> = { 204: undefined, 205: "0" }

const withBody = (answer: KernelResponse, to: ServerResponse): Effect.Effect<void> => {
  const { body } = answer
  switch (body._tag) {
    case "Empty":
      writeHead(answer, to, { ...nodeHeaders(answer), "content-length": "0" })
      to.end()
      return Effect.void
    case "Uint8Array":
      writeHead(answer, to, nodeHeaders(answer))
      to.end(body.text ?? body.body)
      return Effect.void
    case "Stream":
      writeHead(answer, to, nodeHeaders(answer))
      return writeStream(body.stream, to)
    default:
      // Bodies that only the platform can turn into bytes.
      return Effect.promise(() => writeWeb(HttpServerResponse.toWeb(answer), to).catch(() => fault(to)))
  }
}

const nodeHeaders = ({ cookies, headers }: KernelResponse): OutgoingHttpHeaders =>
  Cookies.isEmpty(cookies) ? headers : { ...headers, "set-cookie": Cookies.toSetCookieHeaders(cookies) }

const writeHead = ({ status, statusText }: KernelResponse, to: ServerResponse, headers: OutgoingHttpHeaders): void => {
  if (statusText === undefined) to.writeHead(status, headers)
  else to.writeHead(status, statusText, headers)
}

/** A stream that breaks off cuts the connection, so that the client does not take it for whole. */
const writeStream = (from: Stream.Stream<Uint8Array, unknown>, to: ServerResponse): Effect.Effect<void> => {
  const [writeAll, texts] = [findWriteToSink(from), findTexts(from)]
  const sink = new NodeSink(to)
  const writing =
    writeAll !== undefined ? writeAll(sink) : texts !== undefined ? pourTexts(texts, sink, to) : pour(from, sink, to)
  return Effect.matchCause(Effect.interruptible(writing), {
    onSuccess: () => {
      to.end()
    },
    onFailure: () => {
      to.destroy()
    }
  })
}

const pour = (
  from: Stream.Stream<Uint8Array, unknown>,
  sink: NodeSink,
  to: ServerResponse
): Effect.Effect<void, unknown> => {
  let isBegun = false
  // The head goes out with the first piece, or by itself when there is none yet.
  process.nextTick(() => {
    if (!isBegun && !to.writableEnded && !to.destroyed) to.flushHeaders()
  })
  return Stream.runForEachArray(from, (pieces) => {
    isBegun = true
    for (const piece of pieces) sink.write(piece)
    return sink.hasRoom() ? Effect.void : sink.room
  })
}

const pourTexts = (groups: TextGroups, sink: NodeSink, to: ServerResponse): Effect.Effect<void> =>
  Effect.forEach(
    groups,
    (group) => {
      // Not for a body in chunks: a response that is uncorked then may never emit "drain".
      if (!to.chunkedEncoding) to.cork()
      for (const piece of group) sink.write(piece.text ?? piece.body)
      if (!to.chunkedEncoding) to.uncork()
      return sink.room
    },
    { discard: true }
  )
