import { InMemory } from "@colloquy/adapters/in-memory"
import { onEmbedded } from "../../../test/databases.ts"
import { documentStories } from "./DocumentStories.ts"

onEmbedded("in-memory", () => documentStories(InMemory.layer))
