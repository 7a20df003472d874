import type { InMemory } from "@colloquy/adapters/in-memory"
import { afterAll, beforeAll } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import * as Redacted from "effect/Redacted"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"
import { onScratchSchema } from "../../adapters/test/postgres/Scratch.ts"
import { citations } from "./Citations.ts"
import { deletedTexts } from "./DeletedTexts.ts"
import { erasedOwner } from "./ErasedOwner.ts"
import { inbox } from "./Inbox.ts"
import { everyStore } from "./EveryStore.ts"
import { realtimeTickets } from "./Realtime.ts"
import { memories } from "./Memories.ts"
import { searchAndImages } from "./SearchAndImages.ts"
import { twoTenants } from "./TwoTenants.ts"
import { typedAnswers } from "./TypedAnswers.ts"
import { videos } from "./Videos.ts"
import { voice } from "./Voice.ts"

/** All suites share one database, which has what the suites before have left. */
const oneDatabase = (stores: Layer.Layer<InMemory.Stores, unknown>) => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let opened: Promise<Context.Context<InMemory.Stores>>
  beforeAll(() => {
    runtime = ManagedRuntime.make(stores)
    opened = runtime.context()
  })
  afterAll(() => runtime.dispose())
  return Layer.effectContext(Effect.promise(() => opened))
}

onEmbedded("PGlite", () => {
  const stores = oneDatabase(Pglite.layer())
  everyStore(stores)
  inbox(stores)
  deletedTexts(stores)
  citations(stores)
  erasedOwner(stores)
  typedAnswers(stores)
  realtimeTickets(stores)
  memories(stores)
  searchAndImages(stores)
  twoTenants(stores)
  videos(stores)
  voice(stores)
})

onPostgres((url) => {
  const stores = oneDatabase(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema })))
  everyStore(stores)
  inbox(stores)
  deletedTexts(stores)
  citations(stores)
  erasedOwner(stores)
  typedAnswers(stores)
  realtimeTickets(stores)
  memories(stores)
  searchAndImages(stores)
  twoTenants(stores)
  videos(stores)
  voice(stores)
})
