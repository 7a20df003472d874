/** The contracts of the stores of outcomes, schedules and webhooks, on PGlite and on a PostgreSQL server, as the adapters provide it. */
import { outcomeStoreSuite, scheduleStoreSuite, webhookStoreSuite } from "@colloquy/testing/contracts"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  outcomeStoreSuite("PGlite: OutcomeStore", Pglite.layer())
  scheduleStoreSuite("PGlite: ScheduleStore", Pglite.layer())
  webhookStoreSuite("PGlite: WebhookStore", Pglite.layer())
})

onPostgres((url) => {
  const stores = onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  outcomeStoreSuite("Postgres: OutcomeStore", stores)
  scheduleStoreSuite("Postgres: ScheduleStore", stores)
  webhookStoreSuite("Postgres: WebhookStore", stores)
})
