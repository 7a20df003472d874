/** The contract of the store of memories, on PGlite with pgvector and without, and on a PostgreSQL server. */
import { memoryStoreSuite } from "@colloquy/core/contracts"
import { vector } from "@electric-sql/pglite-pgvector"
import * as Layer from "effect/Layer"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  const over = (options: Pglite.DatabaseSettings) =>
    Layer.provide(Layer.merge(Postgres.layerFromClient(), Postgres.layerMemories()), Pglite.layerClient(options))
  memoryStoreSuite("PGlite: MemoryStore", over({ extensions: { vector } }), { keepsVectors: true })
  memoryStoreSuite("PGlite without pgvector: MemoryStore", over({}), { keepsVectors: false })
})

onPostgres((url) => {
  const stores = onScratchSchema(url, (schema) =>
    Layer.provide(
      Layer.merge(Postgres.layerFromClient({ schema }), Postgres.layerMemories({ schema })),
      hostClient(url)
    )
  )
  memoryStoreSuite("Postgres: MemoryStore", stores, { keepsVectors: true })
})
