/** The contract of the index of chunks on PostgreSQL and PGlite, with pgvector and without. */
import { chunkIndexSuite } from "@colloquy/testing/contracts"
import { vector } from "@electric-sql/pglite-pgvector"
import * as Layer from "effect/Layer"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  const over = (options: Pglite.DatabaseSettings) =>
    Layer.provide(Postgres.layerChunkIndex(), Pglite.layerClient(options))
  chunkIndexSuite("PGlite", over({ extensions: { vector } }), { keepsVectors: true })
  chunkIndexSuite("PGlite without pgvector", over({}), { keepsVectors: false })
})

onPostgres((url) => {
  const index = onScratchSchema(url, (schema) => Postgres.layerChunkIndex({ schema }))
  chunkIndexSuite("Postgres", Layer.provide(index, hostClient(url)), { keepsVectors: true })
})
