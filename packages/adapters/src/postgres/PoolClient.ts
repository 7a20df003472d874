/**
 * Makes a client of `@effect/sql-pg` from the host's `pg.Pool`. The stores, their migrations and every other layer that needs such a client
 * then work on the host's connections, and inside the host's transactions. Statements are not prepared by name, so a pooler such as
 * PgBouncer may stand between the host and the server.
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

/** The pool whose transactions `joinTransaction` can join. `layerClientOfPool` and `layerFromPool` provide it. */
export class HostPool extends Context.Service<
  HostPool,
  { readonly pool: Pool; readonly client: SqlClient.SqlClient }
>()("@colloquy/adapters/HostPool") {}

export const poolDriver = "pg-pool"

/** The host owns the pool: closing the layer does not close it. */
export const layerClientOfPool = (pool: Pool): Layer.Layer<PgClient.PgClient | HostPool> =>
  Layer.effect(
    HostPool,
    Effect.map(PgClient.PgClient, (client) => ({ pool, client }))
  ).pipe(Layer.provideMerge(PgClient.layerFrom(makeClient(pool))))

/**
 * Runs an effect inside a transaction that the host has begun on a connection of its pool. Only the host commits or rolls back what the
 * stores write. Statements that are sent after the effect has ended are refused.
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

/** Whether the caller is inside a transaction that `joinTransaction` joined. Only the host knows when such a transaction ends. */
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

/** If a statement of the transaction has failed, the server rolls back and answers the COMMIT with `ROLLBACK`, which is not an error of `pg`. */
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

/** How long to wait for the end of a cancelled statement before its connection is closed. */
const restLimit = "2 seconds"

/**
 * Takes a connection for the duration of a scope. Its `error` events get a listener, because without one Node.js ends the process; the
 * running statement fails with the same error. After a cancelled statement the connection is returned when the statement has ended.
 */
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

/** If the caller is interrupted while the pool opens a connection, that connection is returned to the pool at once. */
const connect = (pool: Pool): Effect.Effect<LeasedConnection, SqlError> =>
  Effect.callback((resume) => {
    let isWaiting = true
    pool.connect().then(
      (connection) => (isWaiting ? resume(Effect.succeed(connection)) : connection.release()),
      (cause: unknown) => resume(Effect.fail(poolFault(cause, "connect")))
    )
    return Effect.sync(() => {
      isWaiting = false
    })
  })

/** Uses one connection of the pool while the scope is open. The connection is closed afterwards, because it would go on listening in the pool. */
const listen = Effect.fnUntraced(function* (
  pool: Pool,
  channel: string
): Effect.fn.Return<Queue.Dequeue<Notification, SqlError>, SqlError, Scope.Scope> {
  const queue = yield* Queue.unbounded<Notification, SqlError>()
  const onError = (cause: Error) => Queue.failCauseUnsafe(queue, Cause.fail(poolFault(cause, "connect")))
  const onEnd = () => onError(new Error("The connection that listens was closed"))
  const onNotification = ({ payload = "", ...message }: PoolNotification) => {
    if (message.channel === channel) Queue.offerUnsafe(queue, { ...message, payload })
  }
  const connection = yield* Effect.acquireRelease(
    connect(pool),
    (taken) =>
      Effect.sync(() => {
        taken.on("error", ignoreError)
        taken.removeListener("error", onError)
        taken.removeListener("end", onEnd)
        taken.removeListener("notification", onNotification)
        taken.release(true)
      }),
    { interruptible: true }
  )
  connection.on("error", onError)
  connection.on("end", onEnd)
  connection.on("notification", onNotification)
  yield* Effect.tryPromise({
    try: () => connection.query({ text: `listen "${channel}"`, values: [], types: rowTypes }),
    catch: (cause) => poolFault(cause, "query")
  })
  return queue
})
