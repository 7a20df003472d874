/**
 * Brings a leg's events from memory to the store while the leg goes on: batches, so that the price is one append for each pause and not
 * one for each delta. What is left at the end goes with the settlement. Used by the turn; one fiber a leg.
 */
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { RunLog } from "./RunLog.ts"
import type { Lease, LogEvent, RunStore } from "./RunStore.ts"

export interface WriterSettings {
  /** How long events may wait for company. */
  readonly pause: Duration.Input
  /** So many waiting events are written without a pause. */
  readonly batch: number
}

/** Another process has taken the run over, or it was deleted: whoever works on it must stop. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

export class LogWriter<E extends LogEvent> {
  private written = 0
  private urgentUntil = 0
  private readonly log: RunLog<E>
  private readonly isKept: (event: E) => boolean

  /** `stored` events are in the store already. `isKept` tells which events are for followers of the moment only. */
  constructor(log: RunLog<E>, stored: number, isKept: (event: E) => boolean) {
    this.log = log
    this.written = stored
    this.isKept = isKept
  }

  /** What was pushed so far must not wait for the pause. */
  urge(): void {
    this.urgentUntil = this.log.events.length
  }

  /** Everything that is not in the store yet. */
  rest(): ReadonlyArray<E> {
    return this.log.events.slice(this.written).filter(this.isKept)
  }

  /** Writes until it is interrupted, or the lease is lost. An append that has begun is always awaited. */
  readonly run = (
    store: typeof RunStore.Service,
    lease: Lease,
    settings: WriterSettings
  ): Effect.Effect<never, LeaseLost, Principal> =>
    Effect.forever(
      Effect.suspend(() => this.log.above(this.written)).pipe(
        Effect.andThen(Effect.raceFirst(Effect.sleep(settings.pause), this.enough(settings.batch))),
        Effect.andThen(Effect.uninterruptible(this.flush(store, lease)))
      )
    )

  private readonly enough = (batch: number): Effect.Effect<void> =>
    this.log.until(() => this.urgentUntil > this.written || this.log.events.length - this.written >= batch)

  private readonly flush = (store: typeof RunStore.Service, lease: Lease): Effect.Effect<void, LeaseLost, Principal> =>
    Effect.suspend(() => {
      const end = this.log.events.length
      const events = this.rest()
      const append = events.length === 0 ? Effect.succeed(true) : store.append(lease, events)
      return append.pipe(
        // An unreachable store keeps the events waiting: the next pause tries again, and so does the settlement.
        Effect.catchTag("StoreUnavailable", () => Effect.succeed(null)),
        Effect.flatMap((kept) => {
          if (kept === false) return Effect.fail(new LeaseLost())
          if (kept) this.written = end
          return Effect.void
        })
      )
    })
}
