/**
 * A WebSocket to a vendor that can also write complete frames. For each message `ws` creates two buffers, writes them separately and masks the
 * message byte by byte; for pieces of audio, which are most messages of a voice session, this takes as much time as all their other work. So their
 * frames (RFC 6455, 5.2) are built here, masked four bytes at a time, and written to the connection as one string with a character for each byte:
 * the memory of buffers, which is outside of the heap, makes V8 mark the whole heap often. Opened by `Dial`.
 */
import { randomFillSync } from "node:crypto"
import { Duplex } from "node:stream"
import { WebSocket } from "ws"
import { type AudioMessage, textOfAudio } from "./VendorMapping.ts"

/** The first two bytes of a final, masked text frame whose length is in the next two bytes. Then follow the mask (four bytes) and the text. */
const finalText = 0x81
const maskedLength = 0x80 | 126
const headSize = 8
const shortest = 126
/** Up to this number of bytes, Node.js writes a string without memory outside of the heap. */
const longestFrame = 16_384

const words = new Uint32Array(longestFrame / 4)
const bytes = Buffer.from(words.buffer)
const masks = new Uint32Array(2048)
let usedMasks = masks.length

/** Masks must be unpredictable (RFC 6455, 10.3): otherwise a web page could choose audio that a proxy on the way takes for an HTTP request. */
const nextMask = (): number => {
  if (usedMasks === masks.length) {
    randomFillSync(masks)
    usedMasks = 0
  }
  return masks[usedMasks++] ?? 0
}

/** The frame of a message, with one character for each byte; null, if the message is too short or too long for this form of a frame. */
export const maskedFrame = ({ after, base64, before }: AudioMessage): string | null => {
  const length = before.length + base64.length + after.length
  const size = headSize + length
  if (length < shortest || size > longestFrame) return null
  const mask = nextMask()
  bytes.write(before, headSize, "latin1")
  bytes.write(base64, headSize + before.length, "latin1")
  bytes.write(after, size - after.length, "latin1")
  for (let index = 2; index * 4 < size; index++) words[index] = (words[index] ?? 0) ^ mask
  words[1] = mask
  bytes[0] = finalText
  bytes[1] = maskedLength
  bytes[2] = length >> 8
  bytes[3] = length & 255
  return bytes.toString("latin1", 0, size)
}

export class VendorSocket extends WebSocket {
  /** Null before the upgrade, and on Bun, which replaces `ws` by its own: then all messages are sent by `ws`. */
  private connection: Duplex | null = null

  constructor(url: string, options: WebSocket.ClientOptions) {
    super(url, options)
    this.once("upgrade", ({ socket }) => {
      if (socket instanceof Duplex && !("bun" in process.versions)) this.connection = socket
    })
  }

  /** `sent` is called when the message has left the process, or when it cannot be sent any more. */
  sendAudio(message: AudioMessage, sent?: () => void): void {
    const frame = this.connection === null || this.extensions !== "" ? null : maskedFrame(message)
    if (frame === null) this.send(textOfAudio(message), sent)
    else this.connection?.write(frame, "latin1", sent)
  }
}
