/**
 * How the stores talk to Postgres: parameterized statements over one client, each bounded in time, each failure translated in one place.
 * Statements run in the transaction that the caller is in, if there is one.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { StoreUnavailable } from "@colloquy/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { quote } from "./Names.ts"
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

export interface Database {
  /** The schema's name, quoted. */
  readonly schema: string
  /** One statement. `Row` is what its columns decode to. */
  readonly query: <Row extends object>(
    operation: string,
    statement: string,
    parameters: ReadonlyArray<Parameter>
  ) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
}

export const makeDatabase = (client: PgClient, schemaName: string, timeout: Duration.Input): Database => {
  const sql = client.withoutTransforms()
  const allowed = Duration.fromInputUnsafe(timeout)
  return {
    schema: quote(schemaName),
    query: <Row extends object>(operation: string, statement: string, parameters: ReadonlyArray<Parameter>) =>
      sql.unsafe<Row>(statement, parameters).pipe(within(operation, allowed), guard(operation))
  }
}

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
  `${schema}.${name}(${Object.keys(args)
    .map((key, index) => `p_${key} => $${index + 1}`)
    .join(", ")})`

/** The text of a function's statement, made once: the arguments of a function always have the same names. */
export const statements = (): ((name: string, make: () => string) => string) => {
  const made = new Map<string, string>()
  return (name, make) => {
    const found = made.get(name) ?? make()
    made.set(name, found)
    return found
  }
}
