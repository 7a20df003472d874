/**
 * The two kinds of definitions that each file of this folder gives to `Schema.ts`. Migrations create and change tables; a new migration is
 * appended, an old one is never edited. SQL functions are code of this version of the kernel and are replaced as a whole. In both,
 * `{schema}` is replaced by the quoted name of the schema, and `{channel}` by the quoted name of its notification channel.
 */

/** One change of the tables. A released migration is never edited: the next change is a new migration at the end of the list. */
export interface Migration {
  /** The name under which the database records that this migration has run. It never changes. */
  readonly name: string
  /** The tables that this migration creates. `SchemaHistory` compares them with the tables that exist to find an incomplete migration. */
  readonly tables: ReadonlyArray<string>
  readonly statements: ReadonlyArray<string>
}

/**
 * Adds the primary key after the other indexes of a table whose first column is the same. As long as PostgreSQL has no statistics of a
 * table with wide rows, it estimates equal costs for both indexes and then takes the newest. If the primary key were older, a row would be
 * searched among all rows of its owner, and foreign keys and functions keep such a plan until the table is analyzed.
 */
export const primaryKey = (table: string, columns: string): string =>
  `alter table {schema}.${table} add primary key ${columns}`

/**
 * The largest number that functions of the schema accept, because they count in 32 bits. A caller may ask for more records, or for those
 * after a larger number.
 */
export const storedCount = (count: number): number => Math.min(count, 2 ** 31 - 1)

export interface SqlFunction {
  /** The name without schema and version. Other functions call this one as `{schema}.name(…)`. */
  readonly name: string
  /** The text of `create function` that follows the name: `(p_owner text) returns … as $$ … $$`. */
  readonly definition: string
}

/**
 * For the functions that a turn calls: each connection plans their statements once, and no plan reads a whole table. With PostgreSQL's
 * default settings, a statement may be planned again at each call, which took a quarter of the server's time in a turn. And a plan made
 * while a table is small reads all of the table; it stays in use until the table is analyzed again, when thousands of rows may be in it.
 */
export const withFixedPlans = ({ definition, name }: SqlFunction): SqlFunction => ({
  name,
  definition: definition.replace(
    "language plpgsql as",
    "language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as"
  )
})

export const sqlFunction = (name: string, definition: string): SqlFunction => ({ name, definition })
