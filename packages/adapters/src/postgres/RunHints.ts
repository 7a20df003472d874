/**
 * Hints that runs changed, from every process on the database: one connection that listens, shared by all who read the stream. While it
 * is lost the stream stays silent and the listener tries again, soon at first and then every five seconds; the kernel polls meanwhile.
 */
import type { Notification } from "@effect/sql-pg/PgConnection"
import type { RunSignal } from "@colloquy/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import { fromJson } from "./StoredText.ts"

/** Opens a listener; its queue fails when the connection is lost. */
export type Listen = Effect.Effect<Queue.Dequeue<Notification, SqlError>, SqlError, Scope.Scope>

const longestPause = 5000

/** Comes back when the first attempt to listen has succeeded or failed, so that nothing after it is missed for want of time. */
export const listenForHints = (listen: Listen): Effect.Effect<Stream.Stream<RunSignal>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const hints = yield* PubSub.sliding<RunSignal>(4096)
    const tried = yield* Deferred.make<void>()
    let pause = 100
    const publish = ({ payload }: Notification) =>
      Effect.flatMap(decodeHint(payload), (hint) => PubSub.publish(hints, hint))
    const attempt = listen.pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          pause = 100
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
    return Stream.fromPubSub(hints)
  })

/** The schema's function `hint` writes a `RunSignal` as JSON. Whatever else somebody sends to the channel is passed over. */
const decodeHint = (payload: string) =>
  Effect.try({ try: () => fromJson<RunSignal>(payload), catch: () => "not a hint" })
