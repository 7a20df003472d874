import { InMemory } from "@colloquy/adapters/in-memory"
import * as Layer from "effect/Layer"
import { onEmbedded } from "../../../../test/databases.ts"
import { documentStories } from "./DocumentStories.ts"

onEmbedded("in-memory", () => documentStories("Documents", Layer.merge(InMemory.layer, InMemory.layerChunkIndex)))
