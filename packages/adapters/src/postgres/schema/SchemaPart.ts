/**
 * What a room or a wing brings to the database: tables, by migrations that are only ever appended, and functions, which are code of this
 * version and replaced as a whole. In both, `{schema}` stands for the quoted name of the schema and `{channel}` for that of its
 * notifications. Each part is a file of this folder; `Schema.ts` puts them in order.
 */

/** One step of the tables' history. What has been released is never edited; a change is a new step at the end of the list. */
export interface Migration {
  /** Names the step in the database's record. Never changes. */
  readonly name: string
  /** The tables that exist after this step and did not before; how a half migrated database is recognised. */
  readonly tables: ReadonlyArray<string>
  readonly statements: ReadonlyArray<string>
}

/**
 * Put behind the indexes of a table that begin as its primary key does. Where PostgreSQL has no statistics yet, two indexes of a table with
 * wide rows cost the same, and of those it takes the newest: with the key first, rows would be looked for among all rows of their owner,
 * and the plans that say so are kept by foreign keys and functions until the table is analyzed.
 */
export const primaryKey = (table: string, columns: string): string =>
  `alter table {schema}.${table} add primary key ${columns}`

export interface SqlFunction {
  /** As the other functions call it: `{schema}.name(…)`. */
  readonly name: string
  /** From the parameters on: `(p_owner text) returns … as $$ … $$`. */
  readonly definition: string
}

/**
 * For functions of the turn: their statements are planned once for a connection, and never to read a whole table. Left to itself, the server
 * plans a statement again at each call when it hopes for a better plan, which took a quarter of its time in a turn; and a plan that was made
 * while a table was small is kept until the table is analyzed again, by when a busy one has grown by thousands of rows.
 */
export const withFixedPlans = ({ definition, name }: SqlFunction): SqlFunction => ({
  name,
  definition: definition.replace(
    "language plpgsql as",
    "language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as"
  )
})

export const sqlFunction = (name: string, definition: string): SqlFunction => ({ name, definition })
