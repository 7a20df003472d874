/**
 * One connection on which several statements may be under way; the server answers them in their order. A session counts its statements and
 * remembers when the last one was answered, so that `StatementScheduler` sends nothing on a connection that is held up by a slow statement.
 */
import type { PgConnection } from "@effect/sql-pg/PgConnection"

/** How long a statement should at most wait for the earlier statements of its connection, in milliseconds. */
export const waitLimit = 20

export class Session {
  /** Undefined until the connection is open. */
  connection: PgConnection | undefined
  openedAt = Infinity
  /** The number of statements under way. */
  depth = 0
  /** Whether one statement has the session to itself. */
  isExclusive = false
  /** Whether the session takes no more statements and closes after the last one. */
  isClosing = false
  /** Whether the pool has been told to drop the connection. */
  isReplaced = false
  /** Whether a statement was sent since the scheduler last looked for unused sessions. */
  used = true
  /** When the last statement was answered, or when the first one was sent on the idle session. */
  private lastProgress = 0
  private release: (() => void) | undefined

  opened(connection: PgConnection, release: () => void, now: number): void {
    this.connection = connection
    this.release = release
    this.openedAt = now
  }

  isStuck(now: number): boolean {
    return this.depth > 0 && now - this.lastProgress >= waitLimit
  }

  isOpenTo(capacity: number, now: number): boolean {
    if (this.connection === undefined || this.isClosing || this.isExclusive) return false
    return this.depth < capacity && !this.isStuck(now)
  }

  begin(now: number, exclusive: boolean): void {
    if (this.depth === 0) this.lastProgress = now
    this.depth++
    this.used = true
    if (exclusive) this.isExclusive = true
  }

  /** Returns the time since the previous answer, which is about how long the server took for this statement. */
  end(now: number, exclusive: boolean): number {
    const taken = now - this.lastProgress
    this.depth--
    this.lastProgress = now
    if (exclusive) this.isExclusive = false
    if (this.isClosing) this.closeWhenEmpty()
    return taken
  }

  closeWhenEmpty(): void {
    this.isClosing = true
    if (this.depth === 0) this.close()
  }

  close(): void {
    this.isClosing = true
    this.release?.()
  }
}
