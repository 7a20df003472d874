/**
 * A WebSocket to a vendor that also writes whole frames. `ws` makes two buffers and a write of each for a message, and masks it byte by byte;
 * for the pieces of audio, of which a voice session has the most, that costs as much as all else that is done for them. So their frames
 * (RFC 6455, 5.2) are put together here, masked by words, and written to the connection as one text of single bytes: memory outside of the
 * heap, as a buffer's, makes V8 mark the whole heap again and again. `SocketLink` uses it.
 */
import { randomFillSync } from "node:crypto"
import { Duplex } from "node:stream"
import { WebSocket } from "ws"
import { type AudioMessage, textOfAudio } from "./VendorMapping.ts"

/** A final text frame, masked, whose length stands in two bytes. Its mask is the second word, and its payload begins with the third. */
const finalText = 0x81
const maskedLength = 0x80 | 126
const headSize = 8
const shortest = 126
/** Node writes a text of so many bytes without memory outside of the heap. */
const longestFrame = 16_384

const words = new Uint32Array(longestFrame / 4)
const bytes = Buffer.from(words.buffer)
const masks = new Uint32Array(2048)
let usedMasks = masks.length

/** Nobody may guess a mask before it is sent, or a page could make a proxy take its sound for a request. */
const nextMask = (): number => {
  if (usedMasks === masks.length) {
    randomFillSync(masks)
    usedMasks = 0
  }
  return masks[usedMasks++] ?? 0
}

/** The frame of this message, a character for each byte; null: it is too short or too long. */
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
  /** Null: frames cannot be written past `ws`. Bun has a `ws` of its own. */
  private connection: Duplex | null = null

  constructor(url: string, options: WebSocket.ClientOptions) {
    super(url, options)
    this.once("upgrade", ({ socket }) => {
      if (socket instanceof Duplex && !("bun" in process.versions)) this.connection = socket
    })
  }

  /** `sent` is called when the message has left the process, or cannot any more. */
  sendAudio(message: AudioMessage, sent?: () => void): void {
    const frame = this.connection === null || this.extensions !== "" ? null : maskedFrame(message)
    if (frame === null) this.send(textOfAudio(message), sent)
    else this.connection?.write(frame, "latin1", sent)
  }
}
