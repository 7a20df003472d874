/**
 * How the stores talk to Postgres: parameterized statements, each bounded in time, each failure translated in one place. They run on our
 * own connections, or on a client of the host's, and there in the transaction that the caller is in.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { StoreUnavailable } from "@colloquy/core"
import { traced } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Connections } from "./Connections.ts"
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

/** The arguments of one of the schema's functions, by their names without `p_`. */
export type Arguments = { readonly [name: string]: Parameter }

/** One statement. `Row` is what its columns decode to. */
export type Query = <Row extends object>(
  operation: string,
  statement: string,
  parameters: ReadonlyArray<Parameter>
) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>

export interface Database {
  /** The schema's name, quoted. */
  readonly schema: string
  /** A statement that may take as long as it likes. */
  readonly query: Query
  /** A statement that is over at once: it finds a few rows by an index and waits for no lock. It may be sent together with others. */
  readonly brief: Query
  /**
   * A statement that is over at once, but for locks. First sent on a shared connection with a lock timeout of 20 ms; when that expires, sent
   * again on a connection of its own. The timeout is one more parameter than is given here, for the schema's function `limit_lock_wait`.
   */
  readonly lockingWrite: Query
}

/** On our own connections. */
export const databaseOver = ({ run, shared }: Connections, schemaName: string): Database => {
  const guarded = (operation: string, answer: Effect.Effect<ReadonlyArray<object>, SqlError>) =>
    guard(operation)<ReadonlyArray<object>, never, never>(traced(operation, spanOf(operation))(answer))
  const ask =
    (alone: boolean): Query =>
    (operation, text, parameters) =>
      decoded(guarded(operation, run({ text, parameters, alone })))

  return {
    schema: quote(schemaName),
    query: ask(true),
    brief: ask(false),
    lockingWrite: (operation, text, parameters) => {
      const unshared = run({ text, parameters: [...parameters, null], alone: true })
      if (!shared) return decoded(guarded(operation, unshared))
      const sharing = run({ text, parameters: [...parameters, waitLimit], alone: false })
      // The attempt whose lock timeout expired was rolled back whole.
      return decoded(
        guarded(
          operation,
          Effect.catchIf(sharing, isLockTimeout, () => unshared)
        )
      )
    }
  }
}

const isLockTimeout = ({ reason }: SqlError): boolean => reason._tag === "LockTimeoutError"

/** On the host's client. */
export const databaseOfClient = (client: PgClient, schemaName: string, timeout: Duration.Input): Database => {
  const sql = client.withoutTransforms()
  const allowed = Duration.fromInputUnsafe(timeout)
  const query: Query = (operation, statement, parameters) =>
    decoded(sql.unsafe<object>(statement, parameters).pipe(within(operation, allowed), guard(operation)))
  return {
    schema: quote(schemaName),
    query,
    brief: query,
    lockingWrite: (operation, statement, parameters) => query(operation, statement, [...parameters, null])
  }
}

const decoded = <Row extends object>(
  rows: Effect.Effect<ReadonlyArray<object>, StoreUnavailable>
): Effect.Effect<ReadonlyArray<Row>, StoreUnavailable> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the caller that writes a statement names the type of its rows
  rows as Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>

const spanOf = (operation: string) => ({
  kind: "client" as const,
  attributes: { "db.system.name": "postgresql", "db.operation.name": operation }
})

/** Bounds the wait for a connection and for the answer together. */
const within =
  (operation: string, timeout: Duration.Duration) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreUnavailable, R> =>
    Effect.timeoutOrElse(self, {
      duration: timeout,
      orElse: () =>
        Effect.fail(new StoreUnavailable({ operation, cause: new Error("No answer within the time allowed") }))
    })

/** A call of one of the schema's functions, with its arguments by name: `"schema".f(p_a => $1, p_b => $2)`. */
export const call = ({ schema }: Database, name: string, args: Arguments): string =>
  `${schema}.${functionName(name)}(${placesOf(args).join(", ")})`

/** The same for `lockingWrite`: the lock timeout is a parameter behind the arguments and `others` more. The owner comes first among them. */
export const callWithLockTimeout = ({ schema }: Database, name: string, args: Arguments, others = 0): string => {
  const [, ...rest] = placesOf(args)
  const wait = Object.keys(args).length + others + 1
  const owner = `p_owner => ${schema}.${functionName("limit_lock_wait")}($1, $${wait})`
  return `${schema}.${functionName(name)}(${[owner, ...rest].join(", ")})`
}

const placesOf = (args: Arguments): ReadonlyArray<string> =>
  Object.keys(args).map((key, index) => `p_${key} => $${index + 1}`)

/** The text of a function's statement, made once: the arguments of a function always have the same names. */
export const statements = (): ((name: string, make: () => string) => string) => {
  const made = new Map<string, string>()
  return (name, make) => {
    const found = made.get(name) ?? make()
    made.set(name, found)
    return found
  }
}
