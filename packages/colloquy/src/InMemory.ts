/** A store in the memory of the process: for tests and first steps. Nothing survives the process. */
import { InMemory } from "@colloquy/adapters/in-memory"
import * as Layer from "effect/Layer"
import type { Store } from "./Store.ts"

/** Each has a state of its own. */
export const inMemory = (): Store => Layer.fresh(InMemory.layer)
