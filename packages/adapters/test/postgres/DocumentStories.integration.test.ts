/** The stories of documents on PGlite and on a PostgreSQL server. */
import { vector } from "@electric-sql/pglite-pgvector"
import * as Layer from "effect/Layer"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { documentStories } from "../../../core/test/documents/DocumentStories.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

const over = (options: Postgres.StoreOptions) =>
  Layer.merge(Postgres.layerFromClient(options), Postgres.layerChunkIndex(options))

onEmbedded("PGlite", () =>
  documentStories("Documents", Layer.provide(over({}), Pglite.layerClient({ extensions: { vector } })))
)

onPostgres((url) =>
  documentStories(
    "Documents",
    onScratchSchema(url, (schema) => Layer.provide(over({ schema }), hostClient(url)))
  )
)
