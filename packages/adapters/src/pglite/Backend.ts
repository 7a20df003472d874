/**
 * Passes messages of the PostgreSQL protocol to a PGlite database, and its answers back unchanged. Sessions use the database one after the
 * other. Notifications in the answers are also passed to the listeners of this process.
 */
import type { PGlite } from "@electric-sql/pglite"
import { setImmediate as nextTurn } from "node:timers/promises"
import { FrameReader } from "./FrameReader.ts"
import { executeRows, ListStatements, portionEnd, sync } from "./Portions.ts"

/** For how many milliseconds statements run one after the other before the event loop gets a turn. */
const longest = 5

/** A portion of a list begins with so many rows, and grows while it has less than so many bytes. */
const fewestRows = 4
const usualPortion = 256 * 1024

type NotificationListener = (notification: {
  readonly processId: number
  readonly channel: string
  readonly payload: string
}) => void

const notificationResponse = 0x41

export class Backend {
  private readonly database: PGlite
  /** When the first statement of this turn of the event loop was sent. */
  private turnBegan: number | undefined
  private readonly lists = new ListStatements()
  private readonly listeners = new Map<string, Set<NotificationListener>>()
  private readonly frames = new FrameReader((type, body) => {
    if (type === notificationResponse) this.notify(body)
  })

  constructor(database: PGlite) {
    this.database = database
  }

  /** Sends whole messages of a client. `answer` gets the answer in pieces, before the promise is resolved. */
  readonly send = (messages: Buffer, answer: (bytes: Buffer) => void): Promise<void> =>
    this.database.runExclusive(async () => {
      await this.letOthersRun()
      const beginning = this.lists.readBeginning(messages)
      if (beginning !== null) return this.sendInPortions(beginning, answer)
      await this.database.execProtocolRawStream(messages, {
        onRawData: (bytes) => this.pass(Buffer.from(bytes), answer)
      })
    })

  /**
   * Requests the rows of a list in portions, and lets other work of the process run in between. A list may have a hundred records of a
   * megabyte.
   */
  private async sendInPortions(beginning: Buffer, answer: (bytes: Buffer) => void): Promise<void> {
    let rows = fewestRows
    for (let messages: Uint8Array = Buffer.concat([beginning, executeRows(rows)]); ; messages = executeRows(rows)) {
      let size = 0
      // The message that ends the portion is not passed to the client. It may arrive in two pieces.
      let last: Uint8Array = new Uint8Array()
      await this.database.execProtocolRawStream(messages, {
        onRawData: (bytes) => {
          const all = Buffer.concat([last, bytes])
          size += bytes.length
          last = all.subarray(-portionEnd.length)
          this.pass(all.subarray(0, -portionEnd.length), answer)
        }
      })
      if (!portionEnd.equals(last)) {
        this.pass(Buffer.from(last), answer)
        break
      }
      if (size < usualPortion) rows *= 4
      await this.letOthersRun()
    }
    await this.database.execProtocolRawStream(sync, { onRawData: (bytes) => this.pass(Buffer.from(bytes), answer) })
  }

  private pass(bytes: Buffer, answer: (bytes: Buffer) => void): void {
    this.frames.read(bytes)
    answer(bytes)
  }

  private async letOthersRun(): Promise<void> {
    if (this.hasHeldTheLoop()) await nextTurn()
  }

  /** The database computes on this thread, and its promises are resolved without a turn of the event loop. */
  private hasHeldTheLoop(): boolean {
    if (this.turnBegan === undefined) {
      this.turnBegan = performance.now()
      setImmediate(() => {
        this.turnBegan = undefined
      })
    }
    return performance.now() - this.turnBegan >= longest
  }

  /** Ends the transaction and the prepared statements of a client, as a server does when a client disconnects. */
  readonly reset = async (): Promise<void> => {
    if (this.database.closed) return
    await this.database.exec("rollback; discard all")
    for (const channel of this.listeners.keys()) await this.database.exec(`listen "${channel}"`)
  }

  /** Listens on a channel until the returned function is called. */
  readonly listen = async (channel: string, listener: NotificationListener): Promise<() => Promise<void>> => {
    const others = this.listeners.get(channel) ?? new Set()
    this.listeners.set(channel, others.add(listener))
    if (others.size === 1) await this.database.exec(`listen "${channel}"`)
    return async () => {
      others.delete(listener)
      if (others.size > 0 || this.database.closed) return
      this.listeners.delete(channel)
      await this.database.exec(`unlisten "${channel}"`)
    }
  }

  private notify(body: Buffer): void {
    const [channel = "", payload = ""] = body.toString("utf8", 4).split("\0")
    for (const listener of this.listeners.get(channel) ?? [])
      listener({ processId: body.readInt32BE(0), channel, payload })
  }
}
