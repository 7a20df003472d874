/** The contract of the store of outcomes, on PGlite and on a PostgreSQL server, as the adapters provide it. */
import { outcomeStoreSuite } from "@colloquy/testing/contracts"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  outcomeStoreSuite("PGlite: OutcomeStore", Pglite.layer())
})

onPostgres((url) => {
  outcomeStoreSuite(
    "Postgres: OutcomeStore",
    onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  )
})
