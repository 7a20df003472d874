/** The contract of the store of outcomes, on PGlite and on a PostgreSQL server, beside the stores of assistants and threads. */
import { outcomeStoreSuite } from "@colloquy/core/contracts"
import * as Layer from "effect/Layer"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  const stores = Layer.merge(Postgres.layerFromClient(), Postgres.layerOutcomes())
  outcomeStoreSuite("PGlite: OutcomeStore", Layer.provide(stores, Pglite.layerClient()))
})

onPostgres((url) => {
  outcomeStoreSuite(
    "Postgres: OutcomeStore",
    onScratchSchema(url, (schema) =>
      Layer.provide(
        Layer.merge(Postgres.layerFromClient({ schema }), Postgres.layerOutcomes({ schema })),
        hostClient(url)
      )
    )
  )
})
