/**
 * Writes a streamed body to its client: each piece immediately, and no faster than the client reads. Nothing is written to a closed
 * connection, because Node would report each write as an error. The fiber that writes is interrupted when the connection closes.
 */
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import type { Sink } from "../streams/Heartbeat.ts"

export class NodeSink implements Sink {
  private readonly to: ServerResponse
  private isFull = false
  private waiting: (() => void) | null = null

  constructor(to: ServerResponse) {
    this.to = to
  }

  hasRoom(): boolean {
    return !this.isFull
  }

  write(piece: Uint8Array | string): void {
    if (this.to.destroyed || this.to.write(piece) || this.isFull) return
    this.isFull = true
    // Waits for the next turn of the event loop: when the system takes all bytes immediately, Node emits "drain" in the same turn. A long
    // stream would then be written in one turn, and many of them would block all other requests.
    this.to.once("drain", () => setImmediate(() => this.drain()))
  }

  private drain(): void {
    this.isFull = false
    this.waiting?.()
  }

  readonly room: Effect.Effect<void> = Effect.callback((resume) => {
    this.waiting = () => resume(Effect.void)
    if (!this.isFull) this.waiting()
    return Effect.sync(() => {
      this.waiting = null
    })
  })
}
