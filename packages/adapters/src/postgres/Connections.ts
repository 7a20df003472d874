/**
 * The connections of our own pool. Short statements share them, because a process spends less on statements that are written and read
 * together; a statement of unknown length has one to itself. One that gets no answer within its time is given up and cancelled on the
 * server. The pool opens connections, closes unused ones, and replaces dead ones; `StatementScheduler` decides which statement goes where.
 */
import type { Row } from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { StatementScheduler, type Statement } from "./StatementScheduler.ts"

export interface Connections {
  readonly run: (statement: Statement) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Whether statements share connections. */
  readonly shared: boolean
}

const sharedBy = 16

/** Nothing is connected before the first statement. */
export const makeConnections = (
  config: PgPool.Config,
  timeout: Duration.Input
): Effect.Effect<Connections, never, Scope.Scope> =>
  Effect.gen(function* () {
    // Where statements cannot be prepared there is a pooler between, which may not take one before it has answered another.
    const multiplex = config.multiplex ?? config.prepare !== false
    const capacity = multiplex ? Math.max(1, config.multiplexConcurrency ?? sharedBy) : 1
    const sessions = new StatementScheduler({
      // A session holds its connection for itself as long as it is open.
      pool: yield* Effect.orDie(PgPool.make({ ...config, multiplex: capacity > 1, multiplexConcurrency: 1 })),
      capacity,
      size: Math.max(1, config.maxConnections ?? 10),
      timeout: millis(timeout),
      lifetime: config.connectionTTL === undefined ? Infinity : millis(config.connectionTTL),
      clock: yield* Clock.Clock,
      fork: Effect.runForkWith(yield* Effect.context<never>())
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => sessions.close()))
    yield* Effect.forkScoped(sessions.watch)
    return { run: sessions.run, shared: capacity > 1 }
  })

const millis = (input: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(input))
