/** The contract of the wing `memory` on the in-memory stores. */
import { memoryStoreSuite } from "@colloquy/core/contracts"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { InMemory } from "../../src/in-memory/index.ts"

const stores = Layer.unwrap(
  Effect.sync(() => {
    const state = InMemory.makeState()
    return Layer.merge(InMemory.layerFrom(state), InMemory.memoriesFrom(state))
  })
)

memoryStoreSuite("MemoryStore in memory", stores, { keepsVectors: true })
