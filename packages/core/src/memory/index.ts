/** The wing `memory`: facts that an assistant remembers across its threads. `ARCHITECTURE.md` explains how it joins a turn. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Providers } from "../models/Provider.ts"
import { EmbeddingModel } from "../models/EmbeddingModel.ts"
import { layerLearning } from "./Learning.ts"
import { layerUnlearning } from "./Unlearning.ts"
import { memoriesLayer } from "./MemoriesLayer.ts"
import { layerMemoryPart } from "./MemoryPart.ts"
import { MemorySettings } from "./MemorySettings.ts"
import { MemoryStore } from "./MemoryStore.ts"
import { wingLayers } from "../primitives/WingLayer.ts"

export { type Imported, Memories, type MemoryOperation, type MemoryText } from "./Memories.ts"
export { type MemoryLineProblem, MemoryLinesUnusable } from "./MemoryLines.ts"
export { memoryPartName } from "./MemoryPart.ts"
export {
  longestMemory,
  longestName,
  MemoryId,
  memoryKey,
  MemoryNotFound,
  MemoryRecord,
  MemorySource,
  MemoryUnusable,
  type MemoryVersion,
  mostConfirmations
} from "./MemoryRecord.ts"
export { defaultMemorySettings, type MemorySettingsPort } from "./MemorySettings.ts"
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
  type MemoryTerms,
  type RemovedMemories,
  type ReweighedMemory,
  type SessionPosition
} from "./MemoryStore.ts"
export { KeptMemories, readKept, RetrievedMemory } from "./KeptMemories.ts"
export { noReranker, type Reranked, Reranker, type RerankerPort, type RerankRequest } from "../retrieval/Reranker.ts"

/** If the store keeps no vectors, none are made. This warning explains why no memory is found by its meaning. */
const layerWarning = Layer.effectDiscard(
  Effect.gen(function* () {
    const { all } = yield* Providers
    const { keepsVectors } = yield* MemoryStore
    if (keepsVectors || !all.some(({ embedding }) => embedding !== undefined)) return
    yield* Effect.logWarning(
      "Memories are found by their words alone: the store keeps no vectors. docs/storage.md says what it needs."
    )
  })
)

/** The whole wing over a kernel: the use cases, the part of turns, and the workers that learn. */
const wing = Layer.mergeAll(memoriesLayer, layerMemoryPart, layerLearning, layerUnlearning, layerWarning).pipe(
  Layer.provide(EmbeddingModel.layer)
)

/** Over `Kernel.layer`: `Memory.layer()`. It gives `Memories`. */
export const Memory = wingLayers(MemorySettings, wing, {
  positive: ["rerankTimeout", "timeout"],
  orNull: { extraction: { provider: "a provider", model: "a model" } },
  problems: ({ cut }) => (cut <= 1 ? [] : [`\`cut\` must be from 0 to 1, and is ${cut}.`])
})
