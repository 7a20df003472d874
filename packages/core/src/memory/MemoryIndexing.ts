/**
 * Texts of memories made ready to be found: terms always, vectors where the assistant has an embedding model. A model that fails costs the
 * vectors, which a follow-up fills in later, and not the memories. Used by everything that writes or searches memories.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { Charge } from "../metering/Charge.ts"
import type { EmbeddingModel, EmbeddingTarget } from "../models/EmbeddingModel.ts"
import { type AssistantId, FollowUpId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ChunkSearch } from "../retrieval/ChunkIndex.ts"
import { prepareTurns } from "../retrieval/Indexing.ts"
import { termsByLanguage, vectorModel } from "../retrieval/Retrieval.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { IndexedMemory, MemoryHit, MemoryStore } from "./MemoryStore.ts"

export const embedKind = "memory.embed"

export interface Finder {
  readonly store: typeof MemoryStore.Service
  readonly embeddings: typeof EmbeddingModel.Service
}

export interface Indexed {
  readonly indexed: ReadonlyArray<IndexedMemory>
  readonly charges: ReadonlyArray<Charge>
  /** The vectors could not be made now. */
  readonly isIncomplete: boolean
}

export const indexMemories = Effect.fnUntraced(function* (
  { embeddings, store }: Finder,
  target: EmbeddingTarget | null,
  contents: ReadonlyArray<string>
): Effect.fn.Return<Indexed, StoreUnavailable, Principal> {
  const wanted = target !== null && store.keepsVectors ? target : null
  const made =
    wanted === null || contents.length === 0 ? null : yield* vectorsOf(embeddings, wanted, contents, "document")
  const indexed = contents.map((content, index): IndexedMemory => {
    const values = made?.vectors[index]
    return {
      ...prepareTurns([{ text: content, label: "", context: "", said: null }]),
      vectors: values === undefined || wanted === null ? null : { model: vectorModel(wanted, values), values: [values] }
    }
  })
  return {
    indexed,
    charges: made?.charges ?? [],
    isIncomplete: wanted !== null && contents.length > 0 && made === null
  }
})

/** Null: the model failed. */
export const vectorsOf = (
  embeddings: typeof EmbeddingModel.Service,
  target: EmbeddingTarget,
  texts: ReadonlyArray<string>,
  purpose: "document" | "query"
) =>
  embeddings.embed(target, texts, purpose).pipe(
    Effect.map(({ usage, vectors }) => ({
      vectors,
      charges: [
        { provider: target.provider, model: target.model, purpose: "embedding", usage }
      ] satisfies ReadonlyArray<Charge>
    })),
    Effect.catchTag(["EmbeddingFailed", "ModelError"], () => Effect.succeed(null))
  )

export interface MemoryQuery {
  readonly assistantId: AssistantId
  readonly text: string
  readonly target: EmbeddingTarget | null
  readonly limit: number
  readonly trueAt: Date | null
}

/** At most one call of the embedding model, and one query of the store. */
export const findMemories = Effect.fnUntraced(function* (
  { embeddings, store }: Finder,
  { assistantId, limit, target, text, trueAt }: MemoryQuery
): Effect.fn.Return<
  { readonly hits: ReadonlyArray<MemoryHit>; readonly charges: ReadonlyArray<Charge> },
  StoreUnavailable,
  Principal
> {
  const made = target === null || !store.keepsVectors ? null : yield* vectorsOf(embeddings, target, [text], "query")
  const [values] = made?.vectors ?? []
  const vector: ChunkSearch["vector"] =
    values === undefined || target === null ? null : { model: vectorModel(target, values), values }
  const hits = yield* store.search({ assistantId, terms: termsByLanguage(text), vector, limit, trueAt })
  return { hits, charges: made?.charges ?? [] }
})

/** Work on one assistant's memories is done in order. */
export const sequenceOf = (assistantId: AssistantId): string => `memory:${assistantId}`

export const embedLater = (assistantId: AssistantId): Effect.Effect<NewFollowUp> =>
  Effect.gen(function* () {
    return {
      id: yield* newId(FollowUpId),
      kind: embedKind,
      key: assistantId,
      payload: { assistantId },
      sequence: sequenceOf(assistantId),
      delayMillis: 60_000,
      createdAt: new Date(yield* Clock.currentTimeMillis)
    }
  })
