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

export interface SqlFunction {
  /** As the other functions call it: `{schema}.name(…)`. */
  readonly name: string
  /** From the parameters on: `(p_owner text) returns … as $$ … $$`. */
  readonly definition: string
}

export const sqlFunction = (name: string, definition: string): SqlFunction => ({ name, definition })
