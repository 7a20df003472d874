/**
 * Runs statements on a pool of connections that this adapter opens itself. Short statements share a connection, because the process needs
 * less CPU time for statements that it writes and reads together; a statement of unknown duration gets a connection of its own. A statement
 * without an answer within the timeout fails and is cancelled on the server. The pool opens connections, closes idle ones and replaces dead
 * ones; `StatementScheduler` chooses the connection of each statement.
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

/** How many statements may be under way on a shared connection, unless the host chooses a number. */
const statementsPerConnection = 16

/** Opens no connection before the first statement. */
export const makeConnections = (
  config: PgPool.Config,
  timeout: Duration.Input
): Effect.Effect<Connections, never, Scope.Scope> =>
  Effect.gen(function* () {
    // A host that forbids prepared statements uses a pooler, and a pooler may not accept a statement before it has answered the previous one.
    const multiplex = config.multiplex ?? config.prepare !== false
    const capacity = multiplex ? Math.max(1, config.multiplexConcurrency ?? statementsPerConnection) : 1
    const sessions = new StatementScheduler({
      // `multiplexConcurrency: 1`: the pool lends a connection to one session only; the scheduler shares it among statements.
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
