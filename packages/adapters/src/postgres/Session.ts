/**
 * One connection on which statements travel one behind the other, and are answered in that order. A session knows how busy it is and when
 * it last moved, so that nothing is put behind a statement that is stuck.
 */
import type { PgConnection } from "@effect/sql-pg/PgConnection"

/** How long a statement may be held up by those before it, in milliseconds. */
export const waitLimit = 20

export class Session {
  /** None while it is being opened. */
  connection: PgConnection | undefined
  openedAt = Infinity
  /** Statements under way. */
  depth = 0
  /** Taken by one statement. */
  alone = false
  /** Takes no more statements, and closes behind the last one. */
  leaving = false
  /** Its connection is not used again. */
  replaced = false
  /** Since the last look at it. */
  used = true
  /** When a first statement set out, or one was answered. */
  private moved = 0
  private release: (() => void) | undefined

  opened(connection: PgConnection, release: () => void, now: number): void {
    this.connection = connection
    this.release = release
    this.openedAt = now
  }

  isStuck(now: number): boolean {
    return this.depth > 0 && now - this.moved >= waitLimit
  }

  isOpenTo(capacity: number, now: number): boolean {
    if (this.connection === undefined || this.leaving || this.alone) return false
    return this.depth < capacity && !this.isStuck(now)
  }

  enter(now: number, alone: boolean): void {
    if (this.depth === 0) this.moved = now
    this.depth++
    this.used = true
    if (alone) this.alone = true
  }

  /** Tells how long the session took since it last moved. */
  leave(now: number, alone: boolean): number {
    const taken = now - this.moved
    this.depth--
    this.moved = now
    if (alone) this.alone = false
    if (this.leaving) this.leaveWhenEmpty()
    return taken
  }

  leaveWhenEmpty(): void {
    this.leaving = true
    if (this.depth === 0) this.close()
  }

  close(): void {
    this.leaving = true
    this.release?.()
  }
}
