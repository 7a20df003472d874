/** The wing `memory`: what an assistant remembers across its threads. `ARCHITECTURE.md` tells how it joins a turn. */
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
  MemoryStore
} from "./MemoryStore.ts"
