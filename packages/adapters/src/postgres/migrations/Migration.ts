/**
 * One step of the schema's history. Steps are append-only: what has been released is never edited, a change is a new step.
 * In the statements `{schema}` stands for the quoted name of the schema and `{channel}` for that of its notifications.
 */
export interface Migration {
  readonly name: string
  /** The tables that exist after this step and did not before; how a half migrated database is recognised. */
  readonly tables: ReadonlyArray<string>
  readonly statements: ReadonlyArray<string>
}
