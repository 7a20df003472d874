/**
 * Events as an async iterable. The first step of a loop begins to read them; the last event, the reader (`break`, `return`) or the
 * watch (a signal, the end of the kernel) ends it. The source is informed when the reader leaves before the end.
 */
import type * as Stream from "effect/Stream"
import type { Calls, Watch } from "./Calls.ts"

export interface Source<Event> {
  readonly events: Stream.Stream<Event, unknown>
  readonly watch: Watch
  /** Called when the reader leaves before the terminal event. */
  readonly leave: () => Promise<void>
}

export interface ReadableEvents<Event, Shown> {
  /** Each event as the caller gets it. */
  readonly show: (event: Event) => Shown
  readonly isLast: (event: Event) => boolean
}

export const readable = <Services, Event, Shown>(
  calls: Calls<Services>,
  events: ReadableEvents<Event, Shown>,
  open: () => Promise<Source<Event>>
): AsyncIterable<Shown> => ({
  [Symbol.asyncIterator]: () => new Reader(calls, events, open)
})

/** Written by hand instead of as a generator, so that `return` works at once, also while the next event is awaited. */
class Reader<Services, Event, Shown> implements AsyncIterator<Shown> {
  private readonly calls: Calls<Services>
  private readonly events: ReadableEvents<Event, Shown>
  private readonly open: () => Promise<Source<Event>>
  private reading: Promise<{ readonly events: AsyncIterator<Event>; readonly leave: Source<Event>["leave"] }> | null =
    null
  private leaving: Promise<void> | null = null
  /** Why the reader had to leave; null when the caller did so. */
  private fault: { readonly reason: unknown } | null = null
  private last: Promise<unknown> = Promise.resolve()
  private isOver = false
  private unwatch = () => false

  constructor(calls: Calls<Services>, events: ReadableEvents<Event, Shown>, open: () => Promise<Source<Event>>) {
    this.calls = calls
    this.events = events
    this.open = open
  }

  /** Steps that are asked for before the one before them is there come in their order, as a generator gives them. */
  next(): Promise<IteratorResult<Shown>> {
    const step = this.calls.underWay(this.last.then(() => this.step()))
    this.last = step.catch(() => {})
    return step
  }

  private async step(): Promise<IteratorResult<Shown>> {
    if (this.leaving !== null) return this.afterLeaving(this.leaving)
    this.reading ??= this.begin()
    const { events } = await this.reading
    const step = await events.next().catch((error: unknown) => {
      this.end()
      throw error
    })
    if (this.leaving !== null) return this.afterLeaving(this.leaving)
    if (step.done === true) {
      this.end()
      return { done: true, value: undefined }
    }
    if (this.events.isLast(step.value)) this.end()
    return { done: false, value: this.events.show(step.value) }
  }

  /** Does not repeat what `next` has rejected with: `Array.fromAsync` of V8 would call it again for ever. */
  async return(): Promise<IteratorResult<Shown>> {
    await this.leave(null)
    return { done: true, value: undefined }
  }

  private async begin() {
    const { events, leave, watch } = await this.open()
    const iterator = this.calls.iterator(events)
    this.unwatch = watch((reason) => {
      // The waiting call of `next` rejects with the reason; without one, the next call does.
      this.leave({ reason }).catch(() => {})
    })
    return { events: iterator, leave }
  }

  private end(): void {
    this.isOver = true
    this.unwatch()
  }

  private leave(fault: { readonly reason: unknown } | null): Promise<void> {
    if (this.leaving === null) {
      this.fault = fault
      this.leaving = this.closeEvents()
    }
    return this.leaving
  }

  private async closeEvents(): Promise<void> {
    const wasOver = this.isOver
    this.end()
    // What could not be begun has nothing to close.
    const reading = await this.reading?.catch(() => null)
    if (reading == null) return
    // It may have begun to watch since.
    this.unwatch()
    await reading.events.return?.()
    if (!wasOver) await reading.leave()
  }

  private async afterLeaving(leaving: Promise<void>): Promise<IteratorResult<Shown>> {
    await leaving
    if (this.fault !== null) throw this.fault.reason
    return { done: true, value: undefined }
  }
}
