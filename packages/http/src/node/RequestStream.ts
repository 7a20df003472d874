/** The body of a Node request as a web stream. Letting go of it early discards the rest, so that the answer still reaches the client. */
import type { IncomingMessage } from "node:http"

/** Bytes that may wait for the reader. */
const highWaterMark = 64 * 1024

export const readable = (message: IncomingMessage): ReadableStream<Uint8Array> => {
  let isOpen = true
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        message.on("data", (piece: Uint8Array) => {
          if (!isOpen) return
          controller.enqueue(piece)
          if ((controller.desiredSize ?? 0) <= 0) message.pause()
        })
        message.once("end", () => {
          if (isOpen) controller.close()
          isOpen = false
        })
        message.once("close", () => {
          if (isOpen) controller.error(new Error("The client went away"))
          isOpen = false
        })
        message.on("error", () => {})
        message.pause()
      },
      pull: () => {
        message.resume()
      },
      cancel: () => {
        isOpen = false
        message.resume()
      }
    },
    { highWaterMark, size: (piece) => piece.byteLength }
  )
}
