/** The wire of the service itself: JSON text frames and binary audio, at `/threads/realtime`. */
import type { Connection, FrontDoor, SessionWire } from "./FrontDoor.ts"
import { firstHeader } from "./Headers.ts"
import { makeAudioWriter, readText, writeEvent } from "./Wire.ts"

/**
 * A smaller piece of audio, in bytes, waits for others of the same tick of the event loop. Pieces from a microphone are larger and are passed on at
 * once: a microtask for each of them would cost CPU time and join nothing.
 */
const tinyPiece = 128

const ownWire = ({ receive, send, takesFrames, documentUrl }: Connection): SessionWire => {
  let isFirst = true
  let pieces: Array<Buffer> = []
  let writeAudio: ReturnType<typeof makeAudioWriter> | null = null

  /** Passes on tiny pieces of audio as one: a client may send hundreds of them in one tick. */
  const passAudio = (): void => {
    if (pieces.length === 0) return
    const [only] = pieces
    const audio = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
    pieces = []
    receive({ _tag: "Audio", audio })
  }

  return {
    onText: (text) => {
      passAudio()
      const input = readText(text, isFirst)
      isFirst = false
      receive(input)
    },
    onBinary: (bytes) => {
      if (isFirst) {
        isFirst = false
        return receive({
          _tag: "Malformed",
          code: "invalid_first_frame",
          message: "The first frame is JSON text.",
          bytes: bytes.byteLength
        })
      }
      if (pieces.length === 0 && bytes.byteLength >= tinyPiece) return receive({ _tag: "Audio", audio: bytes })
      if (pieces.length === 0) queueMicrotask(passAudio)
      pieces.push(bytes)
    },
    event: (event) => {
      if (event._tag !== "ApprovalNeeded" && event._tag !== "SessionChanged")
        send(writeEvent(event, documentUrl), false)
    },
    audio: (itemId, base64, format) => {
      writeAudio ??= makeAudioWriter(format, takesFrames())
      send(writeAudio(itemId, base64), true)
    },
    tooLarge: (message) => writeEvent({ _tag: "Error", code: "frame_too_large", message })
  }
}

export const ownDoor: FrontDoor = {
  path: "/threads/realtime",
  proof: ({ headers }, query) => ({ key: firstHeader(headers["x-api-key"]) ?? null, ticket: query.get("ticket") }),
  subprotocol: () => false,
  wire: ownWire
}
