/**
 * Whole frames of a server's text (RFC 6455, 5.2), a character for each byte. `ws` makes two buffers and a write of each for a message, which
 * costs as much as all else that is done for a piece of audio, and memory outside of the heap makes V8 mark the whole heap again and again.
 * So the frames of audio are put together here, as one text, and written to the connection past `ws`.
 */
import type { WebSocket } from "ws"

/** A final frame of text that is not masked, whose length stands in two bytes. */
const finalText = 0x81
const lengthInTwo = 126
const headSize = 4
const shortest = 126
/** Node writes a text of so many bytes without memory outside of the heap. */
const longestFrame = 16_384

const bytes = Buffer.allocUnsafe(longestFrame)

/** The frame of a text in three parts; null: it is too short or too long. */
export const textFrame = (opening: Uint8Array, middle: Uint8Array, ending: Uint8Array): string | null => {
  const length = opening.byteLength + middle.byteLength + ending.byteLength
  if (length < shortest || headSize + length > longestFrame) return null
  bytes[0] = finalText
  bytes[1] = lengthInTwo
  bytes[2] = length >> 8
  bytes[3] = length & 255
  bytes.set(opening, headSize)
  bytes.set(middle, headSize + opening.byteLength)
  bytes.set(ending, headSize + length - ending.byteLength)
  return bytes.toString("latin1", 0, headSize + length)
}

/**
 * Whether whole frames may be written to the connection under this socket: `ws` writes its own at once and in one piece, unless an extension
 * changes them. Bun's `ws` is another one, which does not write to the connection of the upgrade.
 */
export const takesFrames = (socket: WebSocket): boolean => socket.extensions === "" && !("bun" in process.versions)
