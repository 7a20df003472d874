/**
 * Converts failures of the host's `pg` connections to the errors of `@effect/sql-pg`, so that `StoreFault` treats both clients alike. An
 * error of the server has a severity and a SQLSTATE; every other error means that there is no connection.
 */
import * as Schema from "effect/Schema"
import * as SqlError from "effect/sql/SqlError"
import { readSqlState } from "./StoreFault.ts"

export const poolFault = (cause: unknown, operation: "connect" | "query"): SqlError.SqlError => {
  const properties = { cause, operation, message: `pg.Pool: ${operation} failed` }
  const reason = isFromServer(cause) ? faultReason(readSqlState(cause), properties) : noConnection(cause, properties)
  return new SqlError.SqlError({ reason })
}

/** The host asked for a commit, but the server rolled the transaction back. */
export const commitFault = (): SqlError.SqlError => {
  const message = "A statement of the transaction had failed, so the server rolled the transaction back"
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

/** A value that this adapter cannot parse is not a failure of the connection. */
const noConnection = (cause: unknown, properties: Properties): SqlError.SqlErrorReason =>
  cause instanceof UnreadableValue ? new SqlError.UnknownError(properties) : new SqlError.ConnectionError(properties)

const faultReason = (code: string, properties: Properties): SqlError.SqlErrorReason => {
  if (code.startsWith("08")) return new SqlError.ConnectionError(properties)
  if (code.startsWith("28")) return new SqlError.AuthenticationError(properties)
  if (code === "40P01") return new SqlError.DeadlockError(properties)
  if (code === "40001") return new SqlError.SerializationError(properties)
  if (code === "55P03") return new SqlError.LockTimeoutError(properties)
  if (code === "57014") return new SqlError.StatementTimeoutError(properties)
  return new SqlError.UnknownError(properties)
}

/** A value in a format that this adapter cannot parse, because the host has changed a setting of its connections. */
export class UnreadableValue extends Schema.TaggedError<UnreadableValue>()("UnreadableValue", {
  message: Schema.String
}) {}
