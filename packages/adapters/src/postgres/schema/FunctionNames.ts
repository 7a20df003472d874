/**
 * The names of the schema's functions. Each ends with a fingerprint of all function texts, so that the functions of two versions of the
 * kernel stand side by side: during a rolling upgrade every process calls those that it was written for. A start that does not find its
 * own functions writes all of them; those of versions long gone are dropped then.
 */
import { createHash } from "node:crypto"
import { schemaOfThisVersion } from "./Schema.ts"
import type { SqlFunction } from "./SchemaPart.ts"

export interface NamedFunctions {
  /** The fingerprint. */
  readonly version: string
  /** By the plain names: the names in the database. */
  readonly names: ReadonlyMap<string, string>
  /** What writes them; may be repeated. */
  readonly statements: ReadonlyArray<string>
}

export const nameFunctions = (functions: ReadonlyArray<SqlFunction>): NamedFunctions => {
  const version = createHash("sha256").update(JSON.stringify(functions)).digest("hex").slice(0, 10)
  const names = new Map(functions.map(({ name }) => [name, `${name}_${version}`]))
  const withNames = (text: string) =>
    text.replaceAll(/\{schema\}\.(\w+)\(/gu, (call, name: string) => call.replace(name, names.get(name) ?? name))
  const statements = functions.map(
    ({ definition, name }) => `create or replace function {schema}.${names.get(name)}${withNames(definition)}`
  )
  return { version, names, statements }
}

const named = nameFunctions(schemaOfThisVersion.functions)

/** The name in the database of one of this version's functions. */
export const functionName = (name: string): string => {
  const found = named.names.get(name)
  if (found === undefined) throw new Error(`The schema has no function "${name}": add it to the list in Schema.ts.`)
  return found
}
