import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import { vector } from "@electric-sql/pglite-pgvector"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"
import { onScratchSchema } from "../../adapters/test/postgres/Scratch.ts"
import { documentStories } from "./DocumentStories.ts"

onEmbedded("PGlite", () => documentStories(Pglite.layer({ extensions: { vector } })))

onPostgres((url) =>
  documentStories(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema })))
)
