/** Pure: what the database says of its history, held against the history that this version knows. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Fingerprinted } from "./Migrations.ts"

export interface Recorded {
  readonly name: string
  readonly checksum: string
}

const advice = {
  newer: "It was written by a newer version: upgrade this process, or give it another schema.",
  changed:
    "They were applied with another text than this version has: restore the database, or use the version that made it.",
  incomplete: "It is half migrated: restore it from a backup, or drop the schema if nothing in it is needed.",
  behind: "Run the migrations first (`Postgres.migrate`), or set `migrate: true`."
}

/** The schema is not what this version can work with. Nothing was changed. */
export class SchemaRefused extends Schema.TaggedError<SchemaRefused>()("SchemaRefused", {
  schema: Schema.String,
  reason: Schema.Literals(["newer", "changed", "incomplete", "behind"]),
  /** The steps, or the tables, that do not fit. */
  migrations: Schema.Array(Schema.String)
}) {
  override get message() {
    const facts = {
      newer: "has migrations that this version does not know",
      changed: "has migrations that differ from those of this version",
      incomplete: "does not hold what its record of migrations says",
      behind: "lacks migrations"
    }
    return `The database schema "${this.schema}" ${facts[this.reason]} (${this.migrations.join(", ")}). ${advice[this.reason]}`
  }
}

/** The steps to apply: those behind the last one recorded. */
export const checkHistory = (
  schema: string,
  known: ReadonlyArray<Fingerprinted>,
  recorded: ReadonlyArray<Recorded>,
  tables: ReadonlySet<string>
): Effect.Effect<ReadonlyArray<Fingerprinted>, SchemaRefused> => {
  const refuse = (reason: SchemaRefused["reason"], migrations: ReadonlyArray<string>) =>
    Effect.fail(new SchemaRefused({ schema, reason, migrations }))
  const checksums = new Map(recorded.map(({ checksum, name }) => [name, checksum]))

  const names = new Set(known.map(({ migration }) => migration.name))
  const newer = recorded.filter(({ name }) => !names.has(name)).map(({ name }) => name)
  if (newer.length > 0) return refuse("newer", newer)

  const applied = known.slice(0, recorded.length)
  const skipped = applied
    .filter(({ migration }) => !checksums.has(migration.name))
    .map(({ migration }) => migration.name)
  if (skipped.length > 0) return refuse("incomplete", skipped)

  const changed = applied.filter(({ checksum, migration }) => checksums.get(migration.name) !== checksum)
  if (changed.length > 0)
    return refuse(
      "changed",
      changed.map(({ migration }) => migration.name)
    )

  const missing = known.slice(recorded.length)
  const lost = applied.flatMap(({ migration }) => migration.tables).filter((table) => !tables.has(table))
  const early = missing.flatMap(({ migration }) => migration.tables).filter((table) => tables.has(table))
  if (lost.length + early.length > 0) return refuse("incomplete", [...lost, ...early])
  return Effect.succeed(missing)
}
