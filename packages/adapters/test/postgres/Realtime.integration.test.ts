/** The contracts of voice sessions, on PGlite and on a PostgreSQL server, as the adapters provide them. */
import { realtimeSuite } from "@colloquy/testing/contracts"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

const onRealTime = { testClock: false, signals: false }

onEmbedded("PGlite", () => {
  realtimeSuite("PGlite: voice sessions", Pglite.layer(), onRealTime)
})

onPostgres((url) => {
  realtimeSuite(
    "Postgres: voice sessions",
    onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema })),
    onRealTime
  )
})
