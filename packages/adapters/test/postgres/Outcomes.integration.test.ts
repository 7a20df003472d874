/** The contracts of the stores of outcomes, cases, schedules and webhooks, on PGlite and on a PostgreSQL server, as the adapters provide it. */
import {
  evalStoreSuite,
  outcomeStoreSuite,
  scheduleStoreSuite,
  sealedSecretStoreSuite,
  webhookStoreSuite
} from "@colloquy/testing/contracts"
import * as Redacted from "effect/Redacted"
import { oneDatabase, onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  const stores = oneDatabase(Pglite.layer())
  outcomeStoreSuite("PGlite: OutcomeStore", stores)
  evalStoreSuite("PGlite: EvalStore", stores)
  scheduleStoreSuite("PGlite: ScheduleStore", stores)
  sealedSecretStoreSuite("PGlite: SealedSecretStore", stores)
  webhookStoreSuite("PGlite: WebhookStore", stores)
})

onPostgres((url) => {
  const stores = oneDatabase(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema })))
  outcomeStoreSuite("Postgres: OutcomeStore", stores)
  evalStoreSuite("Postgres: EvalStore", stores)
  scheduleStoreSuite("Postgres: ScheduleStore", stores)
  sealedSecretStoreSuite("Postgres: SealedSecretStore", stores)
  webhookStoreSuite("Postgres: WebhookStore", stores)
})
