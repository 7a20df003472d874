/**
 * How the body of a Node message comes and ends, in one place: pieces, then its end, or the end of a connection that closed before. Used
 * for bodies that are read whole and for those that are read as a stream.
 */
import type { IncomingMessage } from "node:http"

export interface PieceListener {
  readonly onPiece: (piece: Uint8Array) => void
  readonly onEnd: () => void
  /** Called when the connection closes; after `onEnd`, if the body was complete. */
  readonly onGone: () => void
}

export const listenToBody = (message: IncomingMessage, { onEnd, onGone, onPiece }: PieceListener): void => {
  message.on("data", onPiece)
  message.once("end", onEnd)
  message.once("close", onGone)
  // The close that follows an error says all that is needed; without a listener, Node would throw it.
  message.on("error", () => {})
}
