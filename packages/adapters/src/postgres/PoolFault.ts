/**
 * Failures of a host's `pg` connection as our own client would tell them, so that `StoreFault` judges both alike. What the server says
 * has a severity and a SQLSTATE; everything else means that there is no connection.
 */
import * as SqlError from "effect/sql/SqlError"
import { sqlStateOf } from "./StoreFault.ts"

export const poolFault = (cause: unknown, operation: "connect" | "query"): SqlError.SqlError => {
  const properties = { cause, operation, message: `pg.Pool: ${operation} failed` }
  const reason = isFromServer(cause) ? reasonOf(sqlStateOf(cause), properties) : noConnection(cause, properties)
  return new SqlError.SqlError({ reason })
}

/** The server has rolled back what should have been committed. */
export const commitFault = (): SqlError.SqlError => {
  const message = "The transaction had failed, so that its commit was a rollback"
  return new SqlError.SqlError({
    reason: new SqlError.UnknownError({ cause: new Error(message), message, operation: "commit" })
  })
}

interface Properties {
  readonly cause: unknown
  readonly operation: string
  readonly message: string
}

const isFromServer = (cause: unknown): boolean => typeof cause === "object" && cause !== null && "severity" in cause

/** What this adapter itself could not read is no fault of the connection. */
const noConnection = (cause: unknown, properties: Properties): SqlError.SqlErrorReason =>
  cause instanceof UnreadableAnswer ? new SqlError.UnknownError(properties) : new SqlError.ConnectionError(properties)

const reasonOf = (code: string, properties: Properties): SqlError.SqlErrorReason => {
  if (code.startsWith("08")) return new SqlError.ConnectionError(properties)
  if (code.startsWith("28")) return new SqlError.AuthenticationError(properties)
  if (code === "40P01") return new SqlError.DeadlockError(properties)
  if (code === "40001") return new SqlError.SerializationError(properties)
  if (code === "55P03") return new SqlError.LockTimeoutError(properties)
  if (code === "57014") return new SqlError.StatementTimeoutError(properties)
  return new SqlError.UnknownError(properties)
}

/** An answer in a form that depends on settings which the host has changed. */
export class UnreadableAnswer extends Error {}
