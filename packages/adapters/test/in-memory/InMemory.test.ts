import { storageSuite } from "@colloquy/core/contracts"
import { InMemory } from "../../src/in-memory/index.ts"

storageSuite("in memory, virtual time", InMemory.layer, { testClock: true, signals: true })
storageSuite("in memory, real time", InMemory.layer, { testClock: false, signals: true })
