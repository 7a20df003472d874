/**
 * Hints that runs changed, from every process on the database: one connection that listens, shared by all who read the stream. While it
 * is lost the stream stays silent and the listener tries again, soon at first and then every five seconds; the kernel polls meanwhile.
 */
import type { Notification } from "@effect/sql-pg/PgConnection"
import type { RunId, RunSignal, ThreadId } from "@colloquy/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"

/** Opens a listener; its queue fails when the connection is lost. */
export type Listen = Effect.Effect<Queue.Dequeue<Notification, SqlError>, SqlError, Scope.Scope>

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Comes back when the first attempt to listen has succeeded or failed, so that nothing after it is missed for want of time. */
export const listenForHints = (listen: Listen): Effect.Effect<Stream.Stream<RunSignal>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const hints = yield* PubSub.sliding<RunSignal>(4096)
    const tried = yield* Deferred.make<void>()
    const connected = listen.pipe(
      Effect.onExit(() => Deferred.succeed(tried, undefined)),
      Effect.retry(backoff)
    )
    const publish = ({ payload }: Notification) => PubSub.publish(hints, decodeHint(payload))
    yield* connected.pipe(
      Effect.flatMap((queue) => Effect.forever(Effect.flatMap(Queue.take(queue), publish))),
      Effect.scoped,
      Effect.ignore,
      Effect.repeat(Schedule.spaced("100 millis")),
      Effect.forkScoped
    )
    yield* Deferred.await(tried)
    return Stream.fromPubSub(hints)
  })

/** As the function `hint` of the schema writes it. */
const decodeHint = (payload: string): RunSignal => {
  const [runId, threadId, cancel] = payload.split(" ") as [RunId, ThreadId, string]
  return { runId, threadId, cancel: cancel === "true" }
}
