/**
 * Hints that runs changed. A process hears of its own steps at once, without the database, and of those of other processes over one connection
 * that listens. While that is lost the listener tries again, soon at first and then every five seconds; the kernel polls meanwhile.
 */
import type { Notification } from "@effect/sql-pg/PgConnection"
import type { RunId, ThreadId } from "@colloquy/core"
import type { RunSignal } from "@colloquy/core/adapters"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import { fromJson } from "./StoredText.ts"

export interface RunHints {
  readonly signals: Stream.Stream<RunSignal>
  /** Tells this process; inside the host's transaction, when that is committed. */
  readonly echo: (runId: RunId, threadId: ThreadId, cancel: boolean) => Effect.Effect<void>
}

/** Opens a listener; its queue fails when the connection is lost. */
export type Listen = Effect.Effect<Queue.Dequeue<Notification, SqlError>, SqlError, Scope.Scope>

export interface HintOptions {
  /** Without a way to listen, a process hears of itself only. */
  readonly listen: Listen | null
  /** Runs an effect when what was written last is committed. */
  readonly whenWritten: (effect: Effect.Effect<void>) => Effect.Effect<void>
}

export const makeRunHints = ({ listen, whenWritten }: HintOptions): Effect.Effect<RunHints, never, Scope.Scope> =>
  Effect.gen(function* () {
    const hints = yield* PubSub.sliding<RunSignal>(4096)
    if (listen !== null) yield* listenForHints(hints, listen)
    return {
      signals: Stream.fromPubSub(hints),
      echo: (runId, threadId, cancel) => whenWritten(tell(hints, { runId, threadId, cancel }))
    }
  })

/** At once; only who makes room for it has more to do. */
const tell = (hints: PubSub.PubSub<RunSignal>, hint: RunSignal): Effect.Effect<void> =>
  Effect.suspend(() => (PubSub.publishUnsafe(hints, hint) ? Effect.void : Effect.asVoid(PubSub.publish(hints, hint))))

const shortestPause = 100
const longestPause = 5000

/** Comes back when the first attempt has succeeded or failed, so that nothing after it is missed for want of time. */
const listenForHints = (hints: PubSub.PubSub<RunSignal>, listen: Listen): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const tried = yield* Deferred.make<void>()
    let pause = shortestPause
    const publish = (each: Notification) => Effect.flatMap(decodeHint(each), (hint) => PubSub.publish(hints, hint))
    const attempt = listen.pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          pause = shortestPause
        })
      ),
      Effect.onExit(() => Deferred.succeed(tried, undefined)),
      Effect.flatMap((queue) =>
        Effect.forever(Effect.flatMap(Queue.take(queue), (each) => Effect.ignore(publish(each))))
      ),
      Effect.scoped,
      Effect.ignore
    )
    const rest = Effect.suspend(() => {
      const now = pause
      pause = Math.min(pause * 2, longestPause)
      return Effect.sleep(now)
    })
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(attempt, rest)))
    yield* Deferred.await(tried)
  })

/** The schema's function `notify_change` writes a `RunSignal` as JSON. Anything else on the channel is passed over. */
const decodeHint = ({ payload }: Notification) =>
  Effect.try({ try: () => fromJson<RunSignal>(payload), catch: () => "not a hint" })
