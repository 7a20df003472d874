/** Statements about records of the principal. The owner is the first parameter of each, so that no statement is sent without it. */
import { Principal } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Arguments, call as callText, type Database, type Parameter } from "./Database.ts"
import { toText } from "./StoredText.ts"

type Parameters = ReadonlyArray<Parameter>

/** The statements of one store. An operation has the name of the store's method. `query` sends them, for example `brief` of the database. */
export const ownedStatements = (database: Database, store: string, query = database.query) => {
  const rows = <Row extends object>(operation: string, statement: string, parameters: Parameters = []) =>
    Principal.use(({ ownerId }) => query<Row>(`${store}.${operation}`, statement, [toText(ownerId), ...parameters]))

  /** The first row, decoded. */
  const first = <Row extends object, A>(
    operation: string,
    statement: string,
    parameters: Parameters,
    decode: (row: Row) => A
  ) => Effect.map(rows<Row>(operation, statement, parameters), ([row]) => Option.map(Option.fromNullishOr(row), decode))

  /** Whether the statement returned a row. A statement that changes rows returns those that it has changed. */
  const finds = (operation: string, statement: string, parameters: Parameters) =>
    Effect.map(rows(operation, statement, parameters), ({ length }) => length > 0)

  /** Calls a function of the schema, and returns its value. The owner is its argument `p_owner`. */
  const call = <A>(operation: string, name: string, args: Arguments) =>
    Principal.use(({ ownerId }) => {
      const all = { owner: toText(ownerId), ...args }
      const statement = `select ${callText(database, name, all)} as result`
      return Effect.map(
        query<{ readonly result: A | null }>(`${store}.${operation}`, statement, Object.values(all)),
        ([row]) => row?.result ?? null
      )
    })

  return { rows, first, finds, call }
}
