/**
 * The log of one leg, in the memory of the process that works on it. Events are pushed by plain calls (a delta costs an array push);
 * followers hold an index into the one array, so a slow reader delays nobody and costs no copy. `LogWriter` brings the events to the store.
 */
import * as Effect from "effect/Effect"
import type { LogEvent } from "./RunStore.ts"

export class RunLog<E extends LogEvent> {
  readonly events: Array<E> = []
  /** Sequence of the first event that belongs here. */
  readonly first: number
  /** What ends the followers: the end of the leg, or the loss of it to another process. */
  state: "open" | "ended" | "lost" = "open"
  private next: number
  private readonly waiting = new Set<() => void>()

  constructor(first: number) {
    this.first = first
    this.next = first
  }

  /** What the next event will be numbered. */
  get nextSequence(): number {
    return this.next
  }

  /** The event becomes visible to followers with the next `wake`. */
  push(make: (sequence: number) => E): E {
    const event = make(this.next++)
    this.events.push(event)
    return event
  }

  /** Puts an event in the place of the one with its sequence. Readers that have seen that one see nothing of it. */
  replace(event: E): void {
    const place = event.sequence - this.first
    if (this.events[place] !== undefined) this.events[place] = event
  }

  wake(): void {
    // A reader that registers during this loop has just looked; a second look does no harm.
    for (const look of this.waiting) look()
  }

  /** Calls at every `wake`, for as long as the log lives. */
  listen(look: () => void): void {
    this.waiting.add(look)
  }

  close(state: "ended" | "lost"): void {
    this.state = state
    this.wake()
  }

  /**
   * Completes at once when it is so, else with the first `wake` that finds it so. The look and the registration are one step: a fiber that
   * yields between them would sleep through the wake, and through the last one for ever.
   */
  readonly until = (isSo: () => boolean): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const look = () => {
        if (!isSo()) return
        this.waiting.delete(look)
        resume(Effect.void)
      }
      this.waiting.add(look)
      look()
      return Effect.sync(() => this.waiting.delete(look))
    })

  /** Completes when there are more than `count` events, or the log is closed. */
  readonly above = (count: number): Effect.Effect<void> =>
    this.until(() => this.events.length > count || this.state !== "open")

  /** Completes with the leg: how it ended for this process. */
  readonly closed: Effect.Effect<"ended" | "lost"> = Effect.suspend(() =>
    this.state === "open"
      ? Effect.andThen(
          this.until(() => this.state !== "open"),
          this.closed
        )
      : Effect.succeed(this.state)
  )

  /** Events with a sequence above `sequence`. They rise by one in memory, so their place is known. */
  after(sequence: number): ReadonlyArray<E> {
    return this.events.slice(Math.max(0, sequence + 1 - this.first))
  }
}
