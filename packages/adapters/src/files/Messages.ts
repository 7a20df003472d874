/** Puts together the messages that a reader's process sends: each has its length before it. */
import { deserialize } from "node:v8"
import type { Message } from "./answerOnce.ts"

/** All messages of an answer together, in bytes. The largest allowed text (20 million characters) with its terms and positions needs less. */
const largestAnswer = 256_000_000

const headerLength = 4

export interface Receiver<A, Part> {
  readonly message: (message: Message<A, Part>) => void
  readonly tooLarge: () => void
  /** The received bytes are no message: a fault of native code may have damaged the process that sent them. */
  readonly unreadable: () => void
}

/** Returns a function that takes the bytes that have arrived. After `tooLarge` and `unreadable` it ignores all further bytes. */
export const receiveMessages = <A, Part>(receiver: Receiver<A, Part>): ((chunk: Buffer) => void) => {
  const state = { message: Buffer.allocUnsafeSlow(headerLength), isHeader: true, at: 0, total: 0, isOver: false }

  const end = (why: () => void) => {
    state.isOver = true
    why()
  }
  const give = () => {
    try {
      receiver.message(deserialize(state.message))
    } catch {
      end(receiver.unreadable)
    }
  }
  const next = () => {
    if (!state.isHeader) give()
    const length = state.isHeader ? state.message.readUInt32LE() : headerLength
    state.total += length
    if (state.total > largestAnswer) return end(receiver.tooLarge)
    if (length === 0) return end(receiver.unreadable)
    state.isHeader = !state.isHeader
    state.at = 0
    state.message = Buffer.allocUnsafeSlow(length)
  }
  return (chunk) => {
    for (let from = 0; from < chunk.length && !state.isOver;) {
      const copied = chunk.copy(state.message, state.at, from)
      from += copied
      state.at += copied
      if (state.at === state.message.length) next()
    }
  }
}
