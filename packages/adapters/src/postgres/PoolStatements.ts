/**
 * Runs statements on one connection of the host's `pg.Pool`; Effect's client needs this interface. When a statement is interrupted (by a
 * timeout, or with its fiber), it is also cancelled on the server, over another connection. Otherwise it would go on there and might be
 * committed after the caller has been told that it failed.
 */
import * as Effect from "effect/Effect"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import { poolFault } from "./PoolFault.ts"
import type { Pool, PoolResult, PoolConnection } from "./PoolTypes.ts"
import { rowTypes, toPoolValue } from "./PoolValues.ts"
import { resumeInTurns } from "./ResumeInTurns.ts"

export class PoolStatements implements Connection {
  /** Resolves when the interrupted statement has ended on the server. Undefined if no statement was interrupted. */
  givenUp: Promise<void> | undefined
  /** Whether the connection belongs to a transaction of the host, which only the host ends. */
  readonly joined: boolean
  private ended = false
  private readonly pool: Pool
  private readonly connection: PoolConnection

  constructor(pool: Pool, connection: PoolConnection, joined: boolean) {
    this.pool = pool
    this.connection = connection
    this.joined = joined
  }

  /** From now on every statement is refused: the effect that joined the host's transaction has ended. */
  end(): void {
    this.ended = true
  }

  executeRaw(text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<PoolResult, SqlError> {
    return Effect.callback((resume) => {
      if (this.ended) {
        resume(Effect.fail(poolFault(new Error("The effect that joined this transaction has ended"), "query")))
        return
      }
      const answer = this.connection.query({ text, values: parameters.map(toPoolValue), types: rowTypes })
      answer.then(
        (given) => resumeInTurns(resume, Effect.succeed(given)),
        (cause: unknown) => resumeInTurns(resume, Effect.fail(poolFault(cause, "query")))
      )
      return Effect.sync(() => {
        this.givenUp = answer.then(ignored, ignored)
        cancel(this.pool, this.connection, text)
      })
    })
  }

  execute(text: string, parameters: ReadonlyArray<unknown>, transform: Transform) {
    return Effect.map(this.executeRaw(text, parameters), ({ rows }) => transform?.(rows) ?? rows)
  }
  executeWithoutTransform(text: string, parameters: ReadonlyArray<unknown>) {
    return this.execute(text, parameters, undefined)
  }
  executeUnprepared(text: string, parameters: ReadonlyArray<unknown>, transform: Transform) {
    return this.execute(text, parameters, transform)
  }
  executeValues(text: string, parameters: ReadonlyArray<unknown>) {
    return Effect.map(this.execute(text, parameters, undefined), (rows) =>
      rows.map((row): ReadonlyArray<unknown> => Object.values(row))
    )
  }
  executeValuesUnprepared(text: string, parameters: ReadonlyArray<unknown>) {
    return this.executeValues(text, parameters)
  }
  /** The stores use no streams, so this one emits its rows after all of them have arrived. */
  executeStream(text: string, parameters: ReadonlyArray<unknown>, transform: Transform) {
    return Stream.unwrap(Effect.map(this.execute(text, parameters, transform), Stream.fromIterable))
  }
}

type Transform = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

const ignored = (): void => undefined

/** Compares the text of the running statement, because the server reuses process ids. */
const cancelStatement = `select pg_cancel_backend(pid) from pg_stat_activity
  where pid = $1 and state = 'active' and left(query, 200) = left($2, 200)`

const cancel = (pool: Pool, { processID }: PoolConnection, text: string): void => {
  if (processID === undefined || processID === null) return
  void pool
    .connect()
    .then((other) =>
      other
        .query({ text: cancelStatement, values: [processID, text], types: rowTypes })
        .then(ignored, ignored)
        .then(() => other.release())
    )
    .catch(ignored)
}
