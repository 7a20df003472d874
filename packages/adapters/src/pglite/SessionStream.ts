/**
 * Replaces the socket of the PostgreSQL client: written bytes go to the backend in this process, and its answers can be read. The client always
 * writes whole messages, often several at once.
 */
import { Duplex } from "node:stream"
import type { Backend } from "./Backend.ts"

/** Two messages are not passed to the backend: a single thread cannot cancel its own statement, and the backend stays open after a session. */
const cancelRequest = 80877102
const terminate = 0x58

export class SessionStream extends Duplex {
  private readonly backend: Backend
  private started = false

  constructor(backend: Backend) {
    super()
    this.backend = backend
  }

  override _read(): void {}

  override _write(messages: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (!this.started && messages.readInt32BE(4) === cancelRequest) return this.finish(done)
    if (this.started && messages.readUInt8(0) === terminate) return this.finish(done)
    this.started = true
    this.backend.send(messages, (bytes) => this.push(bytes)).then(() => done(), done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.finish(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.started) return done(error)
    this.backend.reset().then(
      () => done(error),
      (failed: Error) => done(error ?? failed)
    )
  }

  private finish(done: () => void): void {
    this.push(null)
    done()
  }
}
