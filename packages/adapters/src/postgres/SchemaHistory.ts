/** Compares the migrations that the database has recorded with the migrations of this version. A pure decision, used by `Migrations.ts`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Migration } from "./schema/SchemaPart.ts"

export interface Fingerprinted {
  readonly migration: Migration
  readonly checksum: string
}

export interface Recorded {
  readonly name: string
  readonly checksum: string
}

const advice = {
  newer: "A newer version has migrated it: upgrade this process, or choose another schema.",
  other:
    "It was made by an older or another build of the kernel: use that build, choose another schema, or restore a backup.",
  changed:
    "Another version has applied them with a different text: use the version that created the schema, or restore a backup.",
  incomplete: "It is half migrated: restore it from a backup, or drop the schema if you do not need its content.",
  behind: "Run the migrations first (`Postgres.migrate`), or set `migrate: true`."
}

/** This version cannot work with the schema as it is. The schema was not changed. */
export class SchemaRefused extends Schema.TaggedError<SchemaRefused>()("SchemaRefused", {
  schema: Schema.String,
  reason: Schema.Literals(["newer", "other", "changed", "incomplete", "behind"]),
  /** The names of the migrations or tables that are the reason. */
  migrations: Schema.Array(Schema.String)
}) {
  override get message() {
    const facts = {
      newer: "has migrations that this version does not know",
      other: "has migrations that this version does not know, and lacks some of its own",
      changed: "has migrations that differ from those of this version",
      incomplete: "does not contain the tables that its recorded migrations create",
      behind: "lacks migrations"
    }
    return `The database schema "${this.schema}" ${facts[this.reason]} (${this.migrations.join(", ")}). ${advice[this.reason]}`
  }
}

/** Returns the migrations that are still to be applied, or refuses. Migrations are applied in order, so the recorded ones must come first. */
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
  const unknown = recorded.filter(({ name }) => !names.has(name)).map(({ name }) => name)
  // A newer version has all migrations of this one. A schema that lacks some of them has another past.
  const hasAll = known.every(({ migration }) => checksums.has(migration.name))
  if (unknown.length > 0) return refuse(hasAll ? "newer" : "other", unknown)

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
