/** The contract of every storage port on a PostgreSQL server. */
import { followUpStoreSuite, storageSuite } from "@colloquy/testing/contracts"
import * as Redacted from "effect/Redacted"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { longTextSuite } from "./LongTexts.ts"
import { onScratchSchema } from "./Scratch.ts"

onPostgres((url) => {
  const stores = onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  storageSuite("Postgres", stores, { testClock: false, signals: true })
  followUpStoreSuite("Postgres", stores, { testClock: false, signals: true })
  longTextSuite("Postgres, long texts", stores)
})
