/**
 * Brings batches of events to bytes as fast as they are asked for and no faster, and writes a comment line at the start and whenever
 * nothing came for a while, so that proxies keep the connection. There is no queue: a reader that does not read delays only itself.
 * One timer runs for a stream, not one for an event: it looks at the time of the last bytes when it fires.
 */
import type { StoreUnavailable } from "@colloquy/core"
import type { NonEmptyReadonlyArray } from "effect/Array"
import type * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"

const encoder = new TextEncoder()
const ping = encoder.encode(": ping\n\n")

/** So many events become one piece of bytes at the most: a reader that is far behind costs one piece, not all that it missed. */
const eventsAtOnce = 256

type Pieces = NonEmptyReadonlyArray<Uint8Array>

interface Heartbeat<A> {
  readonly events: Stream.Stream<A, StoreUnavailable>
  /** May give no text for a batch; then nothing is written for it. */
  readonly encode: (batch: ReadonlyArray<A>) => string
  readonly interval: Duration.Input
  readonly clock: Clock.Clock
}

export const withHeartbeat = <A>(heartbeat: Heartbeat<A>): Stream.Stream<Uint8Array, StoreUnavailable> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { clock, encode, events, interval } = heartbeat
      const upstream = yield* Stream.toPull(events)
      const context = yield* Effect.context()
      const pieces = new EventPieces({ upstream, encode, interval: Duration.toMillis(interval), clock, context })
      yield* Effect.addFinalizer(() => pieces.close)
      return Stream.fromPull(Effect.succeed(pieces.pull))
    })
  )

interface Parts<A> {
  readonly upstream: Pull.Pull<NonEmptyReadonlyArray<A>, StoreUnavailable>
  readonly encode: (batch: ReadonlyArray<A>) => string
  readonly interval: number
  readonly clock: Clock.Clock
  readonly context: Context.Context<never>
}

type Answer<A> = Exit.Exit<NonEmptyReadonlyArray<A>, StoreUnavailable | Cause.Done>

class EventPieces<A> {
  private readonly parts: Parts<A>
  /** The pull that was begun and has not been answered yet. It goes on while comments are written. */
  private pending: Fiber.Fiber<NonEmptyReadonlyArray<A>, StoreUnavailable | Cause.Done> | null = null
  /** Gives the reader that waits a comment to write; null: none waits. */
  private beat: (() => void) | null = null
  /** Events that came and are not all written yet: `done` of them are. */
  private batch: ReadonlyArray<A> = []
  private done = 0
  private lastWrite = 0
  private isStarted = false
  private timer: Fiber.Fiber<void> | null = null

  constructor(parts: Parts<A>) {
    this.parts = parts
  }

  readonly pull: Pull.Pull<Pieces, StoreUnavailable> = Effect.suspend(() => {
    if (this.isStarted) return this.next
    this.isStarted = true
    return this.write(ping)
  })

  private readonly next: Pull.Pull<Pieces, StoreUnavailable> = Effect.suspend(() => {
    while (this.done < this.batch.length) {
      const text = this.encoded
      if (text !== "") return this.write(encoder.encode(text))
    }
    return this.more
  })

  private readonly more: Pull.Pull<Pieces, StoreUnavailable> = Effect.suspend(() => {
    this.pending ??= this.begin(this.parts.upstream)
    const answer = this.pending.pollUnsafe()
    return answer === undefined ? this.wait(this.pending) : this.take(answer)
  })

  /** At once, and not tied to a scope one by one: `close` ends what is left. */
  private begin<B, E>(effect: Effect.Effect<B, E>): Fiber.Fiber<B, E> {
    return Effect.runForkWith(this.parts.context)(effect)
  }

  private take(answer: Answer<A>): Pull.Pull<Pieces, StoreUnavailable> {
    this.pending = null
    if (Exit.isFailure(answer)) return Effect.failCause(answer.cause)
    this.batch = answer.value
    this.done = 0
    return this.next
  }

  private get encoded(): string {
    const part = this.batch.slice(this.done, this.done + eventsAtOnce)
    this.done += part.length
    return this.parts.encode(part)
  }

  private write(bytes: Uint8Array): Effect.Effect<Pieces> {
    this.lastWrite = this.now
    return Effect.succeed([bytes])
  }

  private wait(
    fiber: Fiber.Fiber<NonEmptyReadonlyArray<A>, StoreUnavailable | Cause.Done>
  ): Pull.Pull<Pieces, StoreUnavailable> {
    return Effect.callback((resume) => {
      const forget = fiber.addObserver((answer) => {
        this.beat = null
        resume(this.take(answer))
      })
      const leave = () => {
        this.beat = null
        forget()
      }
      this.beat = () => {
        leave()
        resume(this.write(ping))
      }
      this.timer ??= this.begin(this.watch)
      return Effect.sync(leave)
    })
  }

  private readonly watch: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() =>
      this.parts.clock.sleep(Duration.millis(Math.max(0, this.lastWrite + this.parts.interval - this.now)))
    ).pipe(
      Effect.andThen(
        Effect.sync(() => {
          if (this.now - this.lastWrite < this.parts.interval) return
          this.lastWrite = this.now
          this.beat?.()
        })
      )
    )
  )

  private get now(): number {
    return this.parts.clock.currentTimeMillisUnsafe()
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    Fiber.interruptAll([this.pending, this.timer].filter((fiber) => fiber !== null))
  )
}
