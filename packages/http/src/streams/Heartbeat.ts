/**
 * Writes batches of events as fast as they are taken and no faster, and a comment line at the start and whenever nothing came for a while,
 * so that proxies keep the connection. There is no queue: a reader that does not read delays only itself.
 *
 * `withHeartbeat` gives a stream of bytes, for every platform. A server of Node writes to its connection directly (`findWriteToSink`), because
 * a stream between the events and the connection would cost time for every batch.
 */
import type { StoreUnavailable } from "@colloquy/core"
import { pullStream } from "@colloquy/core/adapters"
import type * as Clock from "effect/Clock"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Pull from "effect/Pull"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { OpenStreams } from "./OpenStreams.ts"

const encoder = new TextEncoder()
const ping = encoder.encode(": ping\n\n")

/** Makes a function that gives bytes from one that gives text. */
export const inBytes =
  <A>(encode: (batch: ReadonlyArray<A>) => string) =>
  (batch: ReadonlyArray<A>): Uint8Array =>
    encoder.encode(encode(batch))

/** The most events in one piece of bytes: a reader that is far behind needs the memory of one piece, and not of all that it missed. */
const eventsAtOnce = 256

interface Heartbeat<A> {
  readonly events: Stream.Stream<A, StoreUnavailable>
  /** May give nothing for a batch; then nothing is written for it. */
  readonly encode: (batch: ReadonlyArray<A>) => Uint8Array
  readonly interval: Duration.Input
  readonly clock: Clock.Clock
}

/** Takes the bytes of a stream. */
export interface Sink {
  readonly hasRoom: () => boolean
  readonly write: (bytes: Uint8Array) => void
  /** Completes when there is room. */
  readonly room: Effect.Effect<void>
}

/** Writes all of a stream. */
export type WriteToSink = (sink: Sink) => Effect.Effect<void, StoreUnavailable>

const sinkWrites = new WeakMap<object, WriteToSink>()

/** The function that writes the body of a stream to a sink, for a server that has one of its own; undefined for any other stream. */
export const findWriteToSink = (stream: object): WriteToSink | undefined => sinkWrites.get(stream)

export const withHeartbeat = <A>(heartbeat: Heartbeat<A>): Stream.Stream<Uint8Array, StoreUnavailable> => {
  const writeToSink: WriteToSink = (sink) => writeEvents(heartbeat, sink)
  const stream = byteStream(writeToSink)
  sinkWrites.set(stream, writeToSink)
  return stream
}

const writeEvents = Effect.fnUntraced(function* <A>({ clock, encode, events, interval }: Heartbeat<A>, sink: Sink) {
  const pulse = new Pulse(sink, clock, Duration.toMillis(interval))
  yield* sink.room
  pulse.write(ping)
  const timer = Effect.runForkWith(yield* Effect.context())(pulse.beats)
  const streams = yield* OpenStreams
  /** With many open streams, lets other streams go first, and pauses after a piece. */
  const writeAmongMany = (batch: ReadonlyArray<A>) =>
    Effect.andThen(
      Effect.andThen(
        Effect.yieldNow,
        Effect.suspend(() => writeBatch(batch, 0, encode, pulse))
      ),
      Effect.suspend(() => clock.sleep(Duration.millis(streams.pause)))
    )
  yield* Effect.onExit(
    Stream.runForEachArray(events, (batch) =>
      streams.pause === 0 ? writeBatch(batch, 0, encode, pulse) : writeAmongMany(batch)
    ),
    () => Effect.sync(() => timer.interruptUnsafe())
  )
})

/** Writes the events of a batch from the index `start` on. Waits while there is no room. */
const writeBatch = <A>(
  batch: ReadonlyArray<A>,
  start: number,
  encode: Heartbeat<A>["encode"],
  pulse: Pulse
): Effect.Effect<void> => {
  const { sink } = pulse
  for (let from = start; from < batch.length; from += eventsAtOnce) {
    if (!sink.hasRoom())
      return Effect.andThen(
        sink.room,
        Effect.suspend(() => writeBatch(batch, from, encode, pulse))
      )
    const bytes = encode(batch.length <= eventsAtOnce ? batch : batch.slice(from, from + eventsAtOnce))
    if (bytes.length > 0) pulse.write(bytes)
  }
  return Effect.void
}

/** Holds the time of the last write. */
class Pulse {
  readonly sink: Sink
  private readonly clock: Clock.Clock
  private readonly interval: number
  private lastWrite = 0

  constructor(sink: Sink, clock: Clock.Clock, interval: number) {
    this.sink = sink
    this.clock = clock
    this.interval = interval
  }

  write(bytes: Uint8Array): void {
    this.lastWrite = this.clock.currentTimeMillisUnsafe()
    this.sink.write(bytes)
  }

  /** One timer for a stream, not one for an event: it looks at the time of the last bytes when it fires. A reader that does not read gets none. */
  readonly beats: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() => {
      const now = this.clock.currentTimeMillisUnsafe()
      const silence = now - this.lastWrite
      if (silence < this.interval) return this.clock.sleep(Duration.millis(this.interval - silence))
      if (this.sink.hasRoom()) this.write(ping)
      else this.lastWrite = now
      return Effect.void
    })
  )
}

const byteStream = (writeToSink: WriteToSink): Stream.Stream<Uint8Array, StoreUnavailable> =>
  pullStream((scope) =>
    Effect.contextWith((context: Context.Context<never>) => {
      const pieces = new Pieces(writeToSink, context)
      return Effect.as(Scope.addFinalizer(scope, pieces.close), pieces.pull)
    })
  )

type PiecePull = Pull.Pull<NonEmptyReadonlyArray<Uint8Array>, StoreUnavailable>

/** A sink that gives one piece of bytes for each pull of its reader. */
class Pieces implements Sink {
  private readonly writeToSink: WriteToSink
  private readonly context: Context.Context<never>
  private fiber: Fiber.Fiber<void, StoreUnavailable> | null = null
  /** Waits for a piece. */
  private reader: ((piece: PiecePull) => void) | null = null
  /** Waits for the reader. */
  private writer: (() => void) | null = null
  private end: PiecePull | null = null

  constructor(writeToSink: WriteToSink, context: Context.Context<never>) {
    this.writeToSink = writeToSink
    this.context = context
  }

  readonly pull: PiecePull = Effect.callback((resume) => {
    this.reader = resume
    if (this.end !== null) resume(this.end)
    else if (this.fiber === null) this.begin()
    else this.writer?.()
    return Effect.sync(() => {
      this.reader = null
    })
  })

  private begin(): void {
    this.fiber = Effect.runForkWith(this.context)(this.writeToSink(this))
    this.fiber.addObserver((exit) => {
      this.end = Exit.isSuccess(exit) ? Cause.done() : Effect.failCause(exit.cause)
      this.reader?.(this.end)
    })
  }

  readonly hasRoom = (): boolean => this.reader !== null

  readonly write = (bytes: Uint8Array): void => {
    const { reader } = this
    this.reader = null
    reader?.(Effect.succeed([bytes]))
  }

  readonly room: Effect.Effect<void> = Effect.callback((resume) => {
    this.writer = () => {
      this.writer = null
      resume(Effect.void)
    }
    if (this.hasRoom()) this.writer()
    return Effect.sync(() => {
      this.writer = null
    })
  })

  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    this.fiber === null ? Effect.void : Fiber.interrupt(this.fiber)
  )
}
