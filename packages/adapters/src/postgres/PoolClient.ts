/**
 * A host's `pg.Pool` as a client of `@effect/sql-pg`, so that the stores, their migrations and everything else that asks for such a client
 * work on the connections that the host has already, and inside the host's transactions. Statements are not prepared by name, so that a
 * pooler may stand between.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import type { Notification } from "@effect/sql-pg/PgConnection"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import { commitFault, poolFault } from "./PoolFault.ts"
import { PoolStatements } from "./PoolStatements.ts"
import type { LeasedConnection, Pool, PoolConnection, PoolNotification } from "./PoolTypes.ts"
import { rowTypes } from "./PoolValues.ts"

/** The pool whose transactions can be joined. `layerClientOfPool` and `layerFromPool` give it; `joinTransaction` asks for it. */
export class HostPool extends Context.Service<
  HostPool,
  { readonly pool: Pool; readonly client: SqlClient.SqlClient }
>()("@colloquy/adapters/HostPool") {}

export const poolDriver = "pg-pool"

/** The pool stays the host's: it is not closed with the layer. */
export const layerClientOfPool = (pool: Pool): Layer.Layer<PgClient.PgClient | HostPool> =>
  Layer.effect(
    HostPool,
    Effect.map(PgClient.PgClient, (client) => ({ pool, client }))
  ).pipe(Layer.provideMerge(PgClient.layerFrom(makeClient(pool))))

/**
 * Runs an effect inside the transaction that the host has begun on a connection of its pool: the host alone commits what the stores write,
 * or rolls it back. Statements that come after the effect has ended are refused.
 */
export const joinTransaction =
  (connection: PoolConnection) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | HostPool> =>
    HostPool.use(({ client, pool }) => {
      const statements = new PoolStatements(pool, connection, true)
      return Effect.ensuring(
        Effect.provideService(self, client.transactionService, [statements, 0]),
        Effect.sync(() => statements.end())
      )
    })

/** Whether the caller is inside of a transaction that `joinTransaction` joined, whose end only the host sees. */
export const hasJoined = (client: SqlClient.SqlClient): Effect.Effect<boolean> =>
  Effect.map(
    Effect.serviceOption(client.transactionService),
    (found) => Option.isSome(found) && found.value[0] instanceof PoolStatements && found.value[0].joined
  )

const makeClient = (pool: Pool) =>
  Effect.map(
    SqlClient.make({
      acquirer: Effect.map(take(pool), (connection) => connection.statements),
      compiler: PgClient.makeCompiler(),
      driver: poolDriver,
      spanAttributes: [["db.system.name", "postgresql"]],
      commit,
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`
    }),
    (client) =>
      Object.assign(client, {
        [PgClient.TypeId]: PgClient.TypeId,
        config: {},
        json: (value: unknown) => client.literal(`${literal(JSON.stringify(value))}::jsonb`),
        listen: (channel: string) => listen(pool, channel),
        notify: (channel: string, payload: string) =>
          Effect.asVoid(client.unsafe("select pg_notify($1, $2)", [channel, payload]))
      })
  )

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The server answers the COMMIT of a transaction that has failed with a ROLLBACK. */
const commit = (statements: Connection): Effect.Effect<void, SqlError> =>
  Effect.flatMap(statements.executeRaw("commit", []), (answer) =>
    typeof answer === "object" && answer !== null && "command" in answer && answer.command === "ROLLBACK"
      ? Effect.fail(commitFault())
      : Effect.void
  )

interface Taken {
  readonly connection: LeasedConnection
  readonly statements: PoolStatements
}

/** How long a connection may take to come to rest after one of its statements was given up. */
const restLimit = "2 seconds"

/** While a connection is taken, its errors need a listener: without one they end the process. The running statement gets them as well. */
const take = (pool: Pool): Effect.Effect<Taken, SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(connect(pool), (connection): Taken => {
      connection.on("error", ignoreError)
      return { connection, statements: new PoolStatements(pool, connection, false) }
    }),
    ({ connection, statements }) => {
      const release = (destroy: boolean) =>
        Effect.sync(() => {
          connection.removeListener("error", ignoreError)
          connection.release(destroy)
        })
      const { givenUp } = statements
      if (givenUp === undefined) return release(false)
      const rest = Effect.timeoutOption(
        Effect.promise(() => givenUp),
        restLimit
      )
      return Effect.forkDetach(Effect.flatMap(rest, (rested) => release(Option.isNone(rested))))
    },
    { interruptible: true }
  )

const ignoreError = (): void => undefined

/** A connection whose caller was interrupted meanwhile is given back at once. */
const connect = (pool: Pool): Effect.Effect<LeasedConnection, SqlError> =>
  Effect.callback((resume) => {
    let waits = true
    pool.connect().then(
      (connection) => (waits ? resume(Effect.succeed(connection)) : connection.release()),
      (cause: unknown) => resume(Effect.fail(poolFault(cause, "connect")))
    )
    return Effect.sync(() => {
      waits = false
    })
  })

/** One connection of the pool as long as the scope is open; then it is closed, so that no other user of the pool goes on listening. */
const listen = (
  pool: Pool,
  channel: string
): Effect.Effect<Queue.Dequeue<Notification, SqlError>, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<Notification, SqlError>()
    const lost = (cause: Error) => Queue.failCauseUnsafe(queue, Cause.fail(poolFault(cause, "connect")))
    const ended = () => lost(new Error("The connection that listens was closed"))
    const heard = ({ payload = "", ...message }: PoolNotification) => {
      if (message.channel === channel) Queue.offerUnsafe(queue, { ...message, payload })
    }
    const connection = yield* Effect.acquireRelease(
      connect(pool),
      (taken) =>
        Effect.sync(() => {
          taken.on("error", ignoreError)
          taken.removeListener("error", lost)
          taken.removeListener("end", ended)
          taken.removeListener("notification", heard)
          taken.release(true)
        }),
      { interruptible: true }
    )
    connection.on("error", lost)
    connection.on("end", ended)
    connection.on("notification", heard)
    yield* Effect.tryPromise({
      try: () => connection.query({ text: `listen "${channel}"`, values: [], types: rowTypes }),
      catch: (cause) => poolFault(cause, "query")
    })
    return queue
  })
