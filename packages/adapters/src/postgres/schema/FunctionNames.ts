/**
 * The names that the SQL functions have in the database. Each name ends with a fingerprint of all function texts, so the functions of two
 * versions of the kernel exist next to each other: during a rolling upgrade every process calls the functions of its own version. A process
 * that starts and does not find them creates all of them, and drops those of versions that are no longer used.
 */
import { identity } from "effect/Function"
import { createHash } from "node:crypto"
import { dialect } from "./CitusFunctions.ts"
import { schemaOfThisVersion } from "./Schema.ts"
import type { SqlFunction } from "./SchemaPart.ts"

export interface NamedFunctions {
  /** The fingerprint. */
  readonly version: string
  /** From the name in the code to the name in the database. */
  readonly names: ReadonlyMap<string, string>
  /** Statements that create the functions. They may be repeated. */
  readonly statements: ReadonlyArray<string>
}

/** `written` changes the functions for the database that they are created in; their names stay the same. */
export const nameFunctions = (
  functions: ReadonlyArray<SqlFunction>,
  written: (functions: ReadonlyArray<SqlFunction>) => ReadonlyArray<SqlFunction> = identity
): NamedFunctions => {
  const version = createHash("sha256")
    .update(JSON.stringify([dialect, functions]))
    .digest("hex")
    .slice(0, 10)
  const names = new Map(functions.map(({ name }) => [name, `${name}_${version}`]))
  const withNames = (text: string) =>
    text.replaceAll(/\{schema\}\.(\w+)\(/gu, (call, name: string) => call.replace(name, names.get(name) ?? name))
  const statements = written(functions).map(
    ({ definition, name }) => `create or replace function {schema}.${name}_${version}${withNames(definition)}`
  )
  return { version, names, statements }
}

const named = nameFunctions(schemaOfThisVersion.functions)

/** The name that a function of this version has in the database. */
export const functionName = (name: string): string => {
  const found = named.names.get(name)
  if (found === undefined) throw new Error(`The schema has no function "${name}": add it to the list in Schema.ts.`)
  return found
}
