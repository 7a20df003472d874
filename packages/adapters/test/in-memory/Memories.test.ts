/** The contract of the wing `memory` on the in-memory stores. */
import { memoryStoreSuite } from "@colloquy/testing/contracts"
import { InMemory } from "../../src/in-memory/index.ts"

memoryStoreSuite("MemoryStore in memory", InMemory.layer, { keepsVectors: true })
