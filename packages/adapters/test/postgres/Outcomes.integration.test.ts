/** The contracts of the stores of outcomes, cases, schedules and webhooks, on PGlite and on a PostgreSQL server, as the adapters provide it. */
import {
  evalStoreSuite,
  outcomeStoreSuite,
  scheduleStoreSuite,
  sealedSecretStoreSuite,
  webhookStoreSuite
} from "@colloquy/testing/contracts"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  outcomeStoreSuite("PGlite: OutcomeStore", Pglite.layer())
  evalStoreSuite("PGlite: EvalStore", Pglite.layer())
  scheduleStoreSuite("PGlite: ScheduleStore", Pglite.layer())
  sealedSecretStoreSuite("PGlite: SealedSecretStore", Pglite.layer())
  webhookStoreSuite("PGlite: WebhookStore", Pglite.layer())
})

onPostgres((url) => {
  const stores = onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  outcomeStoreSuite("Postgres: OutcomeStore", stores)
  evalStoreSuite("Postgres: EvalStore", stores)
  scheduleStoreSuite("Postgres: ScheduleStore", stores)
  sealedSecretStoreSuite("Postgres: SealedSecretStore", stores)
  webhookStoreSuite("Postgres: WebhookStore", stores)
})
