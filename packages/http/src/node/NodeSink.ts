/**
 * The way of a streamed body to its client: piece by piece, each at once, and no faster than the client takes it. A connection that is
 * closed is not written to, because each write would be an error; nor does it get room again: the fiber that writes is interrupted then.
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

  write(bytes: Uint8Array): void {
    if (this.to.destroyed || this.to.write(bytes)) return
    this.isFull = true
    // In the next turn of the event loop: Node tells of room before that whenever the system took all bytes at once, so that a long stream
    // would go out in one turn, and many of them would keep every other request waiting.
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
