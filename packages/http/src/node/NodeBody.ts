/**
 * The body of a Node request, whole or in pieces. Nothing is read before it is asked for: a body that is not wanted is left to Node, which
 * discards it. What is over the limit is discarded too, so that the answer still reaches the client and the connection stays usable.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { listenToBody } from "./BodyPieces.ts"
import { type HostedMessage, mayHaveBody, readByHost } from "./HostedMessage.ts"
import { readable } from "./RequestStream.ts"

export type BodyFault = "too_large" | "gone"

type BodyOutcome = Exit.Exit<ArrayBuffer, BodyFault>

const encoder = new TextEncoder()

export class NodeBody {
  private readonly message: HostedMessage
  private answer: BodyOutcome | null = null
  private readonly waiting = new Set<(answer: BodyOutcome) => void>()
  private isRead = false
  private size = 0
  private pieces: Array<Uint8Array> = []

  constructor(message: HostedMessage) {
    this.message = message
  }

  /** Read once, under the limit of the first call; later calls get the same result. Returns a function that ends the wait. */
  whole(limit: number, resume: (answer: Effect.Effect<ArrayBuffer, BodyFault>) => void): () => void {
    if (!this.isRead) this.read(limit)
    if (this.answer !== null) {
      resume(this.answer)
      return nothing
    }
    // Many bodies may end in one turn of the event loop: the work that follows takes turns.
    const wait = (answer: BodyOutcome) => resume(Effect.andThen(Effect.yieldNow, answer))
    this.waiting.add(wait)
    return () => {
      this.waiting.delete(wait)
      if (this.waiting.size === 0) this.settle(gone)
    }
  }

  /** In pieces, read from the connection no faster than the stream is. */
  get stream(): Stream.Stream<Uint8Array, BodyFault> {
    return Stream.suspend(() => {
      const { ready } = this
      if (ready !== null) return Stream.succeed(ready)
      return Stream.fromReadableStream({ evaluate: () => readable(this.message), onError: (): BodyFault => "gone" })
    })
  }

  /** The body if it need not be read from the connection. Null: it must be read. */
  private get ready(): Uint8Array<ArrayBuffer> | null {
    if (!mayHaveBody(this.message)) return new Uint8Array()
    const body = readByHost(this.message)
    return typeof body === "string" ? encoder.encode(body) : body
  }

  private read(limit: number): void {
    this.isRead = true
    const { message, ready } = this
    if (ready !== null) return this.settle(ready.byteLength > limit ? tooLarge : Exit.succeed(ready.buffer))
    if (Number(message.headers["content-length"] ?? 0) > limit) return this.settle(tooLarge)
    if (message.destroyed) return this.settle(gone)
    listenToBody(message, {
      onPiece: (piece) => this.take(piece, limit),
      onEnd: () => this.settle(Exit.succeed(joined(this.pieces, this.size))),
      onGone: () => this.settle(gone)
    })
  }

  private take(piece: Uint8Array, limit: number): void {
    if (this.answer !== null) return
    this.size += piece.byteLength
    if (this.size > limit) this.settle(tooLarge)
    else this.pieces.push(piece)
  }

  private settle(answer: BodyOutcome): void {
    if (this.answer !== null) return
    this.answer = answer
    this.pieces = []
    for (const resume of this.waiting) resume(answer)
    this.waiting.clear()
  }
}

const nothing = () => {}

const tooLarge = Exit.fail<BodyFault>("too_large")
const gone = Exit.fail<BodyFault>("gone")

/** Copied even when it is one piece: Node cuts pieces from larger buffers, which would be kept alive. */
const joined = (pieces: ReadonlyArray<Uint8Array>, size: number): ArrayBuffer => {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.byteLength
  }
  return bytes.buffer
}
