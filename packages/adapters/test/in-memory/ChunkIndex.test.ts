import { chunkIndexSuite } from "@colloquy/testing/contracts"
import { InMemory } from "../../src/in-memory/index.ts"

chunkIndexSuite("in memory", InMemory.layerChunkIndex, { keepsVectors: true })
