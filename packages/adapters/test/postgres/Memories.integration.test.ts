/** The contract of the store of memories, on PGlite with pgvector and without, and on a PostgreSQL server. */
import { memoryStoreSuite } from "@colloquy/testing/contracts"
import { vector } from "@electric-sql/pglite-pgvector"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { rebuildStories } from "../../../core/test/memory/RebuildStories.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  memoryStoreSuite("PGlite: MemoryStore", Pglite.layer({ extensions: { vector } }), { keepsVectors: true })
  memoryStoreSuite("PGlite without pgvector: MemoryStore", Pglite.layer(), { keepsVectors: false })
  rebuildStories("Another embedding model", Pglite.layer({ extensions: { vector } }), { keepsVectors: true })
  rebuildStories("Another embedding model, without pgvector", Pglite.layer(), { keepsVectors: false })
})

onPostgres((url) => {
  const own = onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  memoryStoreSuite("Postgres: MemoryStore", own, { keepsVectors: true })
  rebuildStories("Another embedding model", own, { keepsVectors: true })
  const hosts = onScratchSchema(url, (schema) => Layer.provide(Postgres.layerFromClient({ schema }), hostClient(url)))
  memoryStoreSuite("Postgres, on the host's client: MemoryStore", hosts, { keepsVectors: true })
})
