import { InMemory } from "@colloquy/adapters/in-memory"
import { onEmbedded } from "../../../../test/databases.ts"
import { rebuildStories } from "./RebuildStories.ts"

onEmbedded("in-memory", () => rebuildStories("Another embedding model", InMemory.layer, { keepsVectors: true }))
