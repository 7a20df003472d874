/**
 * A PGlite database as the one backend of any number of sessions that follow each other. It speaks the wire protocol of Postgres; what
 * it answers is passed on as it is, and notifications are picked out of it for those who listen in this process.
 */
import type { PGlite } from "@electric-sql/pglite"
import { FrameReader } from "./FrameReader.ts"

type Heard = (notification: { readonly processId: number; readonly channel: string; readonly payload: string }) => void

const notificationResponse = 0x41

export class Backend {
  private readonly database: PGlite
  private readonly listeners = new Map<string, Set<Heard>>()
  private readonly frames = new FrameReader((type, body) => {
    if (type === notificationResponse) this.hear(body)
  })

  constructor(database: PGlite) {
    this.database = database
  }

  /** Messages of a client, whole; the answer comes in pieces before the promise is kept. */
  readonly send = (messages: Uint8Array, answer: (bytes: Buffer) => void): Promise<void> =>
    this.database.runExclusive(() =>
      this.database.execProtocolRawStream(messages, {
        onRawData: (bytes) => {
          const copy = Buffer.from(bytes)
          this.frames.read(copy)
          answer(copy)
        }
      })
    )

  /** What a server does when a client goes away: its transaction and its prepared statements end with it. */
  readonly reset = async (): Promise<void> => {
    if (this.database.closed) return
    await this.database.exec("rollback; discard all")
    for (const channel of this.listeners.keys()) await this.database.exec(`listen "${channel}"`)
  }

  /** Listens on a channel until the answered function is called. */
  readonly listen = async (channel: string, heard: Heard): Promise<() => Promise<void>> => {
    const others = this.listeners.get(channel) ?? new Set()
    this.listeners.set(channel, others.add(heard))
    if (others.size === 1) await this.database.exec(`listen "${channel}"`)
    return async () => {
      others.delete(heard)
      if (others.size > 0 || this.database.closed) return
      this.listeners.delete(channel)
      await this.database.exec(`unlisten "${channel}"`)
    }
  }

  private hear(body: Buffer): void {
    const [channel = "", payload = ""] = body.toString("utf8", 4).split("\0")
    for (const heard of this.listeners.get(channel) ?? []) heard({ processId: body.readInt32BE(0), channel, payload })
  }
}
