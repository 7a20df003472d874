import { chunkIndexSuite } from "@colloquy/core/contracts"
import { InMemory } from "../../src/in-memory/index.ts"

chunkIndexSuite("in memory", InMemory.layerChunkIndex, { keepsVectors: true })
