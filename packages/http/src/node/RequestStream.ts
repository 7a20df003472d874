/**
 * The body of a Node request as a web stream. Nothing is read before it is asked for: a body that is not wanted is left to Node, which
 * discards it; cancelling the stream discards the rest, so that the answer still reaches the client and the connection stays usable.
 */
import type { IncomingMessage } from "node:http"
import { listenToBody } from "./BodyPieces.ts"

export const readable = (message: IncomingMessage): ReadableStream<Uint8Array> => {
  let state: "untouched" | "open" | "closed" = "untouched"

  const listen = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    state = "open"
    listenToBody(message, {
      onPiece: (piece) => {
        if (state !== "open") return
        controller.enqueue(piece)
        message.pause()
      },
      onEnd: () => {
        if (state === "open") controller.close()
        state = "closed"
      },
      onGone: () => {
        if (state === "open") controller.error(new Error("The client went away"))
        state = "closed"
      }
    })
  }

  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (state === "untouched") listen(controller)
        message.resume()
      },
      cancel: () => {
        state = "closed"
        message.resume()
      }
    },
    { highWaterMark: 0 }
  )
}
