/**
 * Builds complete text frames of a server (RFC 6455, 5.2), as strings with one character for each byte. For each message `ws` creates two
 * buffers and writes them separately, which takes as much time as all other work for a piece of audio. The memory of buffers is outside of
 * the heap, and makes V8 mark the whole heap often. So frames of audio are built here and written to the connection without `ws`.
 */
import type { WebSocket } from "ws"

/** The first two bytes of a final, unmasked text frame whose length is in the next two bytes. */
const finalText = 0x81
const lengthInTwo = 126
const headSize = 4
const shortest = 126
/** Up to this number of bytes, Node.js writes a string without memory outside of the heap. */
const longestFrame = 16_384

const bytes = Buffer.allocUnsafe(longestFrame)

/** The frame of a text that is given in three parts; null, if the text is too short or too long for this form of a frame. */
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
 * Whether complete frames may be written directly to the connection of this socket. Without extensions, `ws` writes each of its own frames
 * immediately and as a whole, so frames cannot mix. Bun replaces `ws` by its own, which does not write to the connection of the upgrade.
 */
export const takesFrames = (socket: WebSocket): boolean => socket.extensions === "" && !("bun" in process.versions)
