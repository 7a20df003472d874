/** The wing `memory`: what an assistant remembers across its threads. `ARCHITECTURE.md` tells how it joins a turn. */
import * as Layer from "effect/Layer"
import { layerLearning } from "./Learning.ts"
import { Memories } from "./Memories.ts"
import { layerMemoryPart } from "./MemoryPart.ts"

export { type Imported, Memories, type MemoryOperation, type MemoryText } from "./Memories.ts"
export { type MemoryLineProblem, MemoryLinesUnusable } from "./MemoryLines.ts"
export { memoryPartName } from "./MemoryPart.ts"
export {
  longestMemory,
  MemoryId,
  memoryKey,
  MemoryNotFound,
  MemoryRecord,
  MemorySource,
  MemoryUnusable,
  type MemoryVersion
} from "./MemoryRecord.ts"
export { defaultMemorySettings, MemorySettings, type MemorySettingsPort } from "./MemorySettings.ts"
export {
  type AppliedRun,
  type IndexedMemory,
  type LearnedRun,
  type MemoryChange,
  type MemoryChanges,
  type MemoryHit,
  type MemoryListing,
  type MemoryOutcome,
  type MemorySearch,
  MemoryStore,
  type RemovedMemories
} from "./MemoryStore.ts"
export { KeptMemories, readKept, RetrievedMemory } from "./Recollection.ts"
export { noReranker, type Reranked, Reranker, type RerankerPort, type RerankRequest } from "./Reranker.ts"

/** All of the wing over a kernel: the use cases, the part of turns, and the workers that learn. */
export const layerMemory = Layer.mergeAll(Memories.layer, layerMemoryPart, layerLearning)
