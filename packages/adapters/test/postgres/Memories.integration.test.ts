/** The contract of the store of memories, on PGlite with pgvector and without, and on a PostgreSQL server. */
import { memoryStoreSuite } from "@colloquy/testing/contracts"
import { vector } from "@electric-sql/pglite-pgvector"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { oneDatabase, onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { rebuildStories } from "../../../core/test/memory/RebuildStories.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  const withVectors = oneDatabase(Pglite.layer({ extensions: { vector } }))
  const withoutVectors = oneDatabase(Pglite.layer())
  memoryStoreSuite("PGlite: MemoryStore", withVectors, { keepsVectors: true })
  memoryStoreSuite("PGlite without pgvector: MemoryStore", withoutVectors, { keepsVectors: false })
  rebuildStories("Another embedding model", withVectors, { keepsVectors: true })
  rebuildStories("Another embedding model, without pgvector", withoutVectors, { keepsVectors: false })
})

onPostgres((url) => {
  const own = oneDatabase(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema })))
  memoryStoreSuite("Postgres: MemoryStore", own, { keepsVectors: true })
  rebuildStories("Another embedding model", own, { keepsVectors: true })
  const hosts = onScratchSchema(url, (schema) => Layer.provide(Postgres.layerFromClient({ schema }), hostClient(url)))
  memoryStoreSuite("Postgres, on the host's client: MemoryStore", hosts, { keepsVectors: true })
})
