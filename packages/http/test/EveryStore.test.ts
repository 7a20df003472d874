import { InMemory } from "@colloquy/adapters/in-memory"
import { onEmbedded } from "../../../test/databases.ts"
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

onEmbedded("in-memory", () => {
  everyStore(InMemory.layer)
  inbox(InMemory.layer)
  deletedTexts(InMemory.layer)
  citations(InMemory.layer)
  erasedOwner(InMemory.layer)
  typedAnswers(InMemory.layer)
  realtimeTickets(InMemory.layer)
  memories(InMemory.layer)
  searchAndImages(InMemory.layer)
  twoTenants(InMemory.layer)
  videos(InMemory.layer)
  voice(InMemory.layer)
})
