/** The contracts of the wing `documents` on PGlite and on a PostgreSQL server, and what an upload leaves in the tables. */
import { Principal } from "@colloquy/core"
import { BlobId, newId } from "@colloquy/core/adapters"
import { blobStoreSuite, documentStoreSuite } from "@colloquy/testing/contracts"
import { BlobStore } from "@colloquy/core/documents"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

onEmbedded("PGlite", () => {
  const stores = Pglite.layer()
  blobStoreSuite("BlobStore", stores)
  documentStoreSuite("DocumentStore", stores)

  it.live("an upload whose process died is not seen, and is swept with its pieces once it is old", () =>
    Effect.gen(function* () {
      const [store, sql] = [yield* BlobStore, yield* PgClient]
      const [dead, whole] = [yield* newId(BlobId), yield* newId(BlobId)]
      yield* sql`insert into colloquy.blobs (owner, id, piece_size, stored_at) values ('ada', ${dead}, 4, '2026-01-01')`
      yield* sql`insert into colloquy.blob_pieces values ('ada', ${dead}, 0, ${new Uint8Array(4)})`
      yield* store.put(whole, Stream.make(new Uint8Array(600_000)))
      assert.isTrue(Option.isNone(yield* store.head(dead)))
      assert.strictEqual(yield* store.sweep(new Date("2026-01-02"), Effect.succeed), 0)
      const left = yield* sql`select distinct blob_id from colloquy.blob_pieces`
      assert.deepStrictEqual(left, [{ blob_id: whole }])
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(Postgres.layerFromClient().pipe(Layer.provideMerge(Pglite.layerClient())))
    )
  )
})

onPostgres((url) => {
  const stores = onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
  blobStoreSuite("BlobStore", stores)
  documentStoreSuite("DocumentStore", stores)
})
