import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import * as Redacted from "effect/Redacted"
import { oneDatabase, onEmbedded, onPostgres } from "../../../test/databases.ts"
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
