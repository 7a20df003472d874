/**
 * Hints that a run has changed. A process gets hints of its own changes directly, and hints of other processes' changes over one connection
 * that listens for notifications. If this connection is lost, it is opened again, after a tenth of a second at first and later every five
 * seconds. In the meantime the kernel polls the database.
 */
import type { Notification } from "@effect/sql-pg/PgConnection"
import type { RunId, ThreadId } from "@colloquy/core"
import type { RunSignal } from "@colloquy/core/adapters"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { fromJson } from "./StoredText.ts"

type HintListener = (hint: RunSignal) => void

export interface RunHints {
  readonly onChange: (listener: HintListener) => Effect.Effect<void, never, Scope.Scope>
  /** Sends a hint to the listeners of this process, in a transaction of the host only after its commit. */
  readonly echo: (runId: RunId, threadId: ThreadId, cancel: boolean) => Effect.Effect<void>
}

/** Opens a connection that listens. The queue of notifications fails when the connection is lost. */
export type Listen = Effect.Effect<Queue.Dequeue<Notification, SqlError>, SqlError, Scope.Scope>

export interface HintOptions {
  /** Null: the process gets hints of its own changes only. */
  readonly listen: Listen | null
  /** Runs an effect as soon as the caller's writes are committed. */
  readonly whenWritten: (effect: Effect.Effect<void>) => Effect.Effect<void>
}

export const makeRunHints = ({ listen, whenWritten }: HintOptions): Effect.Effect<RunHints, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new Set<HintListener>()
    const tell: HintListener = (hint) => {
      for (const listener of listeners) listener(hint)
    }
    if (listen !== null) yield* listenForHints(tell, listen)
    return {
      onChange: (listener) =>
        Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        ),
      echo: (runId, threadId, cancel) => whenWritten(Effect.sync(() => tell({ runId, threadId, cancel })))
    }
  })

/** In milliseconds. */
const shortestPause = 100
const longestPause = 5000

/** Returns when the first attempt to listen has succeeded or failed. So with a good connection, no change after the start is missed. */
const listenForHints = Effect.fnUntraced(function* (
  tell: HintListener,
  listen: Listen
): Effect.fn.Return<void, never, Scope.Scope> {
  const tried = yield* Deferred.make<void>()
  let pause = shortestPause
  const publish = (each: Notification) => Effect.map(decodeHint(each), tell)
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

/** The schema's function `notify_change` writes a `RunSignal` as JSON. Other notifications on the channel are ignored. */
const decodeHint = ({ payload }: Notification) =>
  Effect.try({ try: () => fromJson<RunSignal>(payload), catch: () => "not a hint" })
