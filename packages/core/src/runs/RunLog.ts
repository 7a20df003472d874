/**
 * The log of one leg, in the memory of the process that works on it. Events are pushed by plain calls (a delta costs an array push).
 * Followers hold an index into the one array, so a slow reader delays no other reader and costs no copy. `LogWriter` stores the events.
 */
import * as Effect from "effect/Effect"
import type { LogEvent } from "./LogRecords.ts"

/** Arrays that are kept for readers at one position. */
const positionsShared = 16

export class RunLog<E extends LogEvent> {
  readonly events: Array<E> = []
  /** The sequence of the first event of this log. */
  readonly first: number
  /** Not `open`: the followers end. The leg has ended, or another process has taken it over. */
  state: "open" | "ended" | "lost" = "open"
  private next: number
  /** What `after` has given since the last event: readers at one position share an array. */
  private readonly given = new Map<number, ReadonlyArray<E>>()
  private readonly waiting = new Set<() => void>()

  constructor(first: number) {
    this.first = first
    this.next = first
  }

  /** The sequence of the next event. */
  get nextSequence(): number {
    return this.next
  }

  /** Followers see the event at the next `wake`. */
  push(make: (sequence: number) => E): E {
    const event = make(this.next++)
    this.events.push(event)
    if (this.given.size > 0) this.given.clear()
    return event
  }

  /** Replaces the event with the same sequence. Readers that have passed it do not notice the change. */
  replace(event: E): void {
    const index = event.sequence - this.first
    if (this.events[index] === undefined) return
    this.events[index] = event
    this.given.clear()
  }

  wake(): void {
    // A reader that registers during this loop has just checked its condition; a second check does no harm.
    for (const check of this.waiting) check()
  }

  /** The callback is called at every `wake`, as long as the log exists. */
  listen(callback: () => void): void {
    this.waiting.add(callback)
  }

  close(state: "ended" | "lost"): void {
    this.state = state
    this.wake()
  }

  /**
   * Completes at once if the condition is true, otherwise at the first `wake` that finds it true. The check and the registration are one
   * synchronous step: if a fiber could yield between them, it would miss the wake, and after the last one it would wait for ever.
   */
  readonly until = (condition: () => boolean): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const check = () => {
        if (!condition()) return
        this.waiting.delete(check)
        resume(Effect.void)
      }
      this.waiting.add(check)
      check()
      return Effect.sync(() => this.waiting.delete(check))
    })

  /** Completes when there are more than `count` events, or the log is closed. */
  readonly above = (count: number): Effect.Effect<void> =>
    this.until(() => this.events.length > count || this.state !== "open")

  /** Completes at the end of the leg, with the way in which it ended for this process. */
  readonly closed: Effect.Effect<"ended" | "lost"> = Effect.suspend(() =>
    this.state === "open"
      ? Effect.andThen(
          this.until(() => this.state !== "open"),
          this.closed
        )
      : Effect.succeed(this.state)
  )

  /** Events with a sequence above `sequence`. In memory the sequence rises by one, so the index follows from it. */
  after(sequence: number): ReadonlyArray<E> {
    const index = Math.max(0, sequence + 1 - this.first)
    const known = this.given.get(index)
    if (known !== undefined) return known
    const events = this.events.slice(index)
    // Readers at many positions are readers that are slow, each at its own.
    if (this.given.size >= positionsShared) this.given.clear()
    if (events.length > 0) this.given.set(index, events)
    return events
  }
}
