/** The part of a leg's log that is not stored yet. `LogWriter` stores it while the leg goes on, and the settlement stores the rest. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { RunLog } from "./RunLog.ts"
import type { LogEvent } from "./LogRecords.ts"

export interface WriterSettings {
  /** How long an event may wait, so that later events are written with it. */
  readonly pause: Duration.Input
  /** This number of waiting events is written without a pause. */
  readonly batch: number
}

export class LogTail<E extends LogEvent> {
  /** How long events may wait, in milliseconds. */
  readonly pause: number
  private hasClosed = false
  /** The store could not accept the last write. The next attempt is not before this time. */
  notBefore = 0
  private written: number
  private urgentUntil = 0
  private readonly waiting = new Set<() => void>()
  private readonly log: RunLog<E>
  private readonly batch: number
  private readonly isKept: (event: E) => boolean

  /** `stored` is the number of events that the store already has. `isKept` returns false for events that are never stored. */
  constructor(log: RunLog<E>, stored: number, settings: WriterSettings, isKept: (event: E) => boolean) {
    this.log = log
    this.written = stored
    this.pause = Duration.toMillis(settings.pause)
    this.batch = settings.batch
    this.isKept = isKept
  }

  /** Makes the events so far due at once, without the pause. */
  writeSoon(): void {
    this.urgentUntil = this.log.events.length
  }

  /** True: the settlement stores the rest, and nothing more is written before it. */
  get isClosed(): boolean {
    return this.hasClosed
  }

  close(): void {
    this.hasClosed = true
    for (const check of this.waiting) check()
  }

  get isWaiting(): boolean {
    return !this.isClosed && this.log.events.length > this.written
  }

  get isUrgent(): boolean {
    return this.urgentUntil > this.written || this.log.events.length - this.written >= this.batch
  }

  /** The events that the store does not have, and the end of that range. */
  rest(): { readonly events: ReadonlyArray<E>; readonly end: number } {
    return { events: this.log.events.slice(this.written).filter(this.isKept), end: this.log.events.length }
  }

  /** When the next write is due. */
  dueAt(now: number): number {
    return Math.max(this.isUrgent ? now : now + this.pause, this.notBefore)
  }

  /** Records that all events up to this index are stored. */
  confirm(end: number): void {
    this.written = end
    for (const check of this.waiting) check()
  }

  /** True when the store has everything that is in the log now; asks for that at once. False: it is not written before the settlement. */
  readonly stored: Effect.Effect<boolean> = Effect.callback<boolean>((resume) => {
    const end = this.log.events.length
    const check = (): void => {
      const isStored = this.written >= end
      if (!isStored && !this.isClosed) return
      this.waiting.delete(check)
      resume(Effect.succeed(isStored))
    }
    this.waiting.add(check)
    this.writeSoon()
    this.log.wake()
    check()
    return Effect.sync(() => this.waiting.delete(check))
  })
}
