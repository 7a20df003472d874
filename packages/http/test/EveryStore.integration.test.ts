import type { InMemory } from "@colloquy/adapters/in-memory"
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import type * as Layer from "effect/Layer"
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

/** Each story has a kernel and a database of its own: the background work of one kernel could take that of another. */
const stories = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
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
}

onEmbedded("PGlite", () => stories(Pglite.layer()))

onPostgres((url) => stories(onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))))
