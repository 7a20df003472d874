/** The contract of the audit log, on PGlite and on a PostgreSQL server, as the adapters provide it. */
import { auditStoreSuite } from "@colloquy/testing/contracts"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  auditStoreSuite("PGlite: AuditStore", Pglite.layer())
})

onPostgres((url) => {
  auditStoreSuite(
    "Postgres: AuditStore",
    onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  )
})
