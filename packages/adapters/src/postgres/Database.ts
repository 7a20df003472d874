/**
 * How the stores send statements to PostgreSQL: with parameters, with a timeout, and with all failures translated in one place. Statements
 * run on connections that this adapter opens, or on a client of the host; on that client they take part in the caller's transaction.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { StoreUnavailable } from "@colloquy/core"
import { traced } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type { SqlError } from "effect/sql/SqlError"
import type { Connections } from "./Connections.ts"
import { type FairStatements, makeFairStatements } from "./FairStatements.ts"
import { waitLimit } from "./Session.ts"
import { quote } from "./Names.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { guard } from "./StoreFault.ts"

export type Parameter =
  | Uint8Array
  | string
  | number
  | bigint
  | boolean
  | Date
  | null
  | ReadonlyArray<string>
  | ReadonlyArray<number>

/** The arguments of one of the schema's functions. The names are those of its parameters, without `p_`. */
export type Arguments = { readonly [name: string]: Parameter }

/** Runs one statement. `Row` is the type that the rows of its result have. */
export type Query = <Row extends object>(
  operation: string,
  statement: string,
  parameters: ReadonlyArray<Parameter>
) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>

export interface Database {
  /** The schema's name, quoted. */
  readonly schema: string
  /** Whether the tables are distributed over several nodes (`Citus.ts`). */
  readonly distributed: boolean
  /** A statement of any duration. It never delays other statements. */
  readonly query: Query
  /** A short statement: it finds a few rows by an index and waits for no lock. It may be sent on a shared connection. */
  readonly brief: Query
  /**
   * A short statement that may have to wait for a lock. It is first sent on a shared connection with a lock timeout of 20 ms; if that expires,
   * it is sent again on a connection of its own. The timeout is appended to the parameters, for the schema's function `limit_lock_wait`.
   */
  readonly lockingWrite: Query
}

/** A database on connections that this adapter opens itself. */
export const databaseOver = ({ run, shared }: Connections, schemaName: string): Database => {
  const guarded = (operation: string, answer: Effect.Effect<ReadonlyArray<object>, SqlError>) =>
    guard(operation)<ReadonlyArray<object>, never, never>(traced(operation, statementSpan(operation))(answer))
  const querying =
    (exclusive: boolean): Query =>
    (operation, text, parameters) =>
      decoded(guarded(operation, run({ text, parameters, exclusive })))

  return {
    schema: quote(schemaName),
    distributed: false,
    query: querying(true),
    brief: querying(false),
    lockingWrite: (operation, text, parameters) => {
      const unshared = () => run({ text, parameters: [...parameters, null], exclusive: true })
      if (!shared) return decoded(guarded(operation, unshared()))
      const sharing = run({ text, parameters: [...parameters, waitLimit], exclusive: false })
      // The server has rolled back everything that the first attempt did, so the statement can be sent again.
      return decoded(guarded(operation, Effect.catchIf(sharing, isLockTimeout, unshared)))
    }
  }
}

const isLockTimeout = ({ reason }: SqlError): boolean => reason._tag === "LockTimeoutError"

/** A database on the host's client. */
export const databaseOfClient = (client: PgClient, schemaName: string, timeout: Duration.Input): Database => {
  const sql = client.withoutTransforms()
  const allowed = Duration.fromInputUnsafe(timeout)
  const inTurn = hasOneConnection(client) ? outsideOfTransactions(client, makeFairStatements()) : identity
  const query: Query = (operation, statement, parameters) =>
    decoded(sql.unsafe<object>(statement, parameters).pipe(inTurn, within(operation, allowed), guard(operation)))
  return {
    schema: quote(schemaName),
    distributed: false,
    query,
    brief: query,
    lockingWrite: (operation, statement, parameters) => query(operation, statement, [...parameters, null])
  }
}

const hasOneConnection = ({ config }: PgClient): boolean => "maxConnections" in config && config.maxConnections === 1

/**
 * A statement of a transaction must not wait for other statements: the transaction has the only connection until its end, so it would wait
 * for ever.
 */
const outsideOfTransactions =
  ({ transactionService }: PgClient, inTurn: FairStatements): FairStatements =>
  (statement) =>
    Effect.flatMap(Effect.serviceOption(transactionService), (found) =>
      Option.isSome(found) ? statement : inTurn(statement)
    )

const decoded = <Row extends object>(
  rows: Effect.Effect<ReadonlyArray<object>, StoreUnavailable>
): Effect.Effect<ReadonlyArray<Row>, StoreUnavailable> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the caller that writes a statement names the type of its rows
  rows as Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>

const statementSpan = (operation: string) => ({
  kind: "client" as const,
  attributes: { "db.system.name": "postgresql", "db.operation.name": operation }
})

/** The timeout includes the wait for a connection. */
const within =
  (operation: string, timeout: Duration.Duration) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreUnavailable, R> =>
    Effect.timeoutOrElse(self, {
      duration: timeout,
      orElse: () =>
        Effect.fail(
          new StoreUnavailable({ operation, cause: new Error("The database did not answer within the timeout") })
        )
    })

/** The SQL text that calls one of the schema's functions with named arguments: `"schema".f(p_a => $1, p_b => $2)`. */
export const call = ({ schema }: Database, name: string, args: Arguments): string =>
  `${schema}.${functionName(name)}(${namedParameters(Object.keys(args)).join(", ")})`

/**
 * The SQL text of a call that is sent with `lockingWrite`, with the names of its arguments. The first one must be the owner, because
 * `limit_lock_wait` stands in its place. The lock timeout is the parameter after the arguments and after `others` further parameters of the
 * statement.
 */
export const callWithLockTimeout = (
  { schema }: Database,
  name: string,
  names: ReadonlyArray<string>,
  others = 0
): string => {
  const [, ...rest] = namedParameters(names)
  const wait = names.length + others + 1
  const owner = `p_owner => ${schema}.${functionName("limit_lock_wait")}($1, $${wait})`
  return `${schema}.${functionName(name)}(${[owner, ...rest].join(", ")})`
}

const namedParameters = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.map((name, index) => `p_${name} => $${index + 1}`)

/** The arguments of one call, as they are sent. */
export interface SentArguments {
  readonly names: ReadonlyArray<string>
  readonly values: ReadonlyArray<Parameter>
}

/** All arguments, also those that are null. */
export const allArguments = (args: Arguments): SentArguments => ({
  names: Object.keys(args),
  values: Object.values(args)
})

/**
 * The arguments that are not null. A parameter costs both sides some work, so what a plain turn does not need is the default of its parameter and
 * is not sent. They come in groups, because merging them into one object of fifty fields takes V8 longer than the statement.
 */
export const givenArguments = (groups: ReadonlyArray<Arguments>): SentArguments => {
  const names: Array<string> = []
  const values: Array<Parameter> = []
  for (const group of groups) {
    for (const name in group) {
      const value = group[name]
      if (value === null || value === undefined) continue
      names.push(name)
      values.push(value)
    }
  }
  return { names, values }
}

/** Caches the text of statements by the function they call and the names of the arguments that they give it. */
export const statements = (): ((name: string, names: ReadonlyArray<string>, make: () => string) => string) => {
  const made = new Map<string, string>()
  return (name, names, make) => {
    const key = `${name} ${names.join(" ")}`
    const found = made.get(key)
    if (found !== undefined) return found
    const text = make()
    made.set(key, text)
    return text
  }
}
