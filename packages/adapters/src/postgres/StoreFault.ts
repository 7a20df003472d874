/**
 * Translates a failed statement for the kernel. If the database is not reachable or did not answer in time, the failure is
 * `StoreUnavailable`, and the caller may try again. If the database can never store this content, it is the defect `ContentRefused`.
 * Everything else is a mistake in this adapter or its schema, and an ordinary defect. Details of the server's error ("Failing row contains …")
 * may quote a conversation, and others a connection string, so both are removed before the error can reach a log.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { StoreUnavailable } from "@colloquy/core"
import { ContentRefused } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import { SqlError } from "effect/sql/SqlError"
import { movingState } from "./schema/OwnerMoves.ts"
import { erasingState } from "./schema/Owners.ts"

/** Translates the failures of a statement or a transaction; `operation` names the port's method in the error. */
export const guard =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, E | StoreUnavailable, R> =>
    Effect.catch(self, (error): Effect.Effect<never, E | StoreUnavailable> => {
      if (!(error instanceof SqlError)) return Effect.fail(error)
      const cause = withoutDetail(error)
      const code = readSqlState(error.reason.cause)
      if (code === movingState) return Effect.fail(new StoreUnavailable({ operation, isMoving: true }))
      if (isUnavailable(error)) return Effect.fail(new StoreUnavailable({ operation, cause }))
      if (code === erasingState) return Effect.fail(new StoreUnavailable({ operation, isErasing: true }))
      return Effect.die(contentStates.test(code) ? new ContentRefused({ operation, code }) : cause)
    })

/** A transaction whose failures are all errors: the client reports it as a defect when the connection was lost and cannot roll back either. */
export const inTransaction =
  (client: PgClient) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.catchDefect(client.withTransaction(self), (defect): Effect.Effect<never, SqlError> =>
      defect instanceof SqlError ? Effect.fail(defect) : Effect.die(defect)
    )

const unavailableReasons: ReadonlySet<string> = new Set([
  "ConnectionError",
  "AuthenticationError",
  "StatementTimeoutError",
  "LockTimeoutError",
  "DeadlockError",
  "SerializationError"
])

/** SQLSTATE classes: 08 connection, 53 out of resources, 57 operator intervention (shutdown, cancel), 58 system (not its missing files). 25006: a standby. */
const unavailableStates = /^(08|53|57|58000|58030|25006)/u

/** Citus: the shard was split or moved after the statement was planned. Such an error has no SQLSTATE of its own; nothing was written. */
const shardHasGone = /^could not find valid entry for shard /u

/** SQLSTATE classes: 22 a value out of range or malformed, 54 too large for the server (a text in an index, a value of a gigabyte). */
const contentStates = /^(22|54)/u

/** A `TypeError` means that the connection string cannot be parsed, which no second attempt can change. */
const isUnavailable = ({ reason }: SqlError): boolean =>
  !(reason.cause instanceof TypeError) &&
  (unavailableReasons.has(reason._tag) ||
    reason.operation === "connect" ||
    unavailableStates.test(readSqlState(reason.cause)) ||
    (reason.cause instanceof Error && shardHasGone.test(reason.cause.message)))

/** The SQLSTATE of an error of the server; empty for every other error. */
export const readSqlState = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

const withoutDetail = (error: SqlError): SqlError => {
  const { cause } = error.reason
  if (typeof cause === "object" && cause !== null) {
    for (const field of ["detail", "where", "internalQuery", "hint", "input"]) Reflect.deleteProperty(cause, field)
  }
  return error
}
