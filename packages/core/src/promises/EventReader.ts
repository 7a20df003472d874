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

  async return(): Promise<IteratorResult<Shown>> {
    return this.afterLeaving(this.leave(null))
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
    this.leaving ??= this.closeEvents().then(() => {
      if (fault !== null) throw fault.reason
    })
    return this.leaving
  }

  private async closeEvents(): Promise<void> {
    const wasOver = this.isOver
    this.end()
    if (this.reading === null) return
    const { events, leave } = await this.reading
    await events.return?.()
    if (!wasOver) await leave()
  }

  private async afterLeaving(leaving: Promise<void>): Promise<IteratorResult<Shown>> {
    await leaving
    return { done: true, value: undefined }
  }
}
