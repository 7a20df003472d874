/** The part of a leg's log that is not in the store yet: what `LogWriter` brings there while the leg goes on, and the settlement at its end. */
import * as Duration from "effect/Duration"
import type { RunLog } from "./RunLog.ts"
import type { LogEvent } from "./RunStore.ts"

export interface WriterSettings {
  /** How long events may wait for company. */
  readonly pause: Duration.Input
  /** So many waiting events are written without a pause. */
  readonly batch: number
}

export class LogTail<E extends LogEvent> {
  /** How long events may wait, in milliseconds. */
  readonly pause: number
  /** Nothing more is written: what is left goes with the settlement. */
  isClosed = false
  /** The store could not take it: try again no sooner than this. */
  notBefore = 0
  private written: number
  private urgentUntil = 0
  private readonly log: RunLog<E>
  private readonly batch: number
  private readonly isKept: (event: E) => boolean

  /** `stored` events are in the store already. `isKept` tells which events are for followers of the moment only. */
  constructor(log: RunLog<E>, stored: number, settings: WriterSettings, isKept: (event: E) => boolean) {
    this.log = log
    this.written = stored
    this.pause = Duration.toMillis(settings.pause)
    this.batch = settings.batch
    this.isKept = isKept
  }

  /** What was pushed so far must not wait for company. */
  urge(): void {
    this.urgentUntil = this.log.events.length
  }

  get isWaiting(): boolean {
    return !this.isClosed && this.log.events.length > this.written
  }

  get isUrgent(): boolean {
    return this.urgentUntil > this.written || this.log.events.length - this.written >= this.batch
  }

  /** What the store does not have, and the place up to which that goes. */
  rest(): { readonly events: ReadonlyArray<E>; readonly end: number } {
    return { events: this.log.events.slice(this.written).filter(this.isKept), end: this.log.events.length }
  }

  /** When the next write is due. */
  dueAt(now: number): number {
    return Math.max(this.isUrgent ? now : now + this.pause, this.notBefore)
  }

  /** Everything up to this place is in the store. */
  confirm(end: number): void {
    this.written = end
  }
}
