/**
 * Prepares the texts of memories for searches: terms always, vectors if the assistant has an embedding model. If the model fails, only the
 * vectors are missing, and a follow-up adds them later. Used by everything that writes or searches memories.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import { embeddingFor } from "../assistants/AssistantFields.ts"
import { DefaultEmbedding } from "../assistants/Assistants.ts"
import type { BeginCharge } from "../metering/PaidCall.ts"
import { EmbeddingModel, embedPaid, type EmbeddingTarget } from "../models/EmbeddingModel.ts"
import { Providers } from "../models/Provider.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import { runYielding } from "../primitives/RunYielding.ts"
import type { Steps } from "../primitives/Steps.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ChunkSearch, VectorModel } from "../retrieval/ChunkIndex.ts"
import { assistantEmbedding } from "../retrieval/AssistantEmbedding.ts"
import { prepareTurns } from "../retrieval/Indexing.ts"
import { vectorModel } from "../retrieval/Retrieval.ts"
import { beginningAndEnd, termsByLanguage } from "../retrieval/Terms.ts"
import { type NewFollowUp, newFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { MemoryId, MemoryRecord } from "./MemoryRecord.ts"
import {
  type IndexedMemory,
  type MemoryHit,
  MemoryStore,
  type MemoryTerms,
  type ReweighedMemory
} from "./MemoryStore.ts"
import { memoryPassage, touchedPositions, reach, type SessionWrite, weighingSessions } from "./SessionWords.ts"

export const embedKind = "memory.embed"

/** The delay after a failure of the model. */
export const retryAfterFailure = { delayMillis: 60_000, dimensions: null }

/** The services for searching and indexing, made once for each service of the wing. */
export interface Finder {
  readonly store: typeof MemoryStore.Service
  readonly embeddings: typeof EmbeddingModel.Service
  readonly followUps: typeof FollowUps.Service
  /** The assistant's own model; if it has none that is registered, the host's. Null: memories are found by their words. */
  readonly findTarget: (assistant: Assistant) => EmbeddingTarget | null
  /** When the vectors of an assistant were last compared with a model. */
  readonly compared: Map<string, number>
}

export const makeFinder = Effect.gen(function* () {
  const store = yield* MemoryStore
  const embeddings = yield* EmbeddingModel
  const followUps = yield* FollowUps
  const { all: providers } = yield* Providers
  const hosts = embeddingFor(yield* DefaultEmbedding, providers)
  const finder: Finder = {
    store,
    embeddings,
    followUps,
    findTarget: (assistant) =>
      assistantEmbedding(assistant, providers) ?? assistantEmbedding({ embedding: hosts }, providers),
    compared: new Map()
  }
  return finder
})

export interface Indexed {
  readonly indexed: ReadonlyArray<IndexedMemory>
  /** The memories beside them, with their new terms. */
  readonly beside: ReadonlyArray<ReweighedMemory>
  /** The vectors could not be made now. */
  readonly isIncomplete: boolean
}

export interface MemoryWrite extends SessionWrite {
  readonly assistantId: AssistantId
  /** The sentences that each was learned from: the memory is also found by these words, with less weight. They are not stored as text. */
  readonly told: ReadonlyMap<MemoryId, string>
  /** Texts in the probable language of the memories, the nearest first. */
  readonly around: ReadonlyArray<string>
  /** Takes the cost of the vectors. */
  readonly beginCharge: BeginCharge<StoreUnavailable>
}

/** At most one call of the embedding model, and one query of the store if a session is concerned. */
export const indexMemories = Effect.fnUntraced(function* (
  { embeddings, store }: Finder,
  target: EmbeddingTarget | null,
  write: MemoryWrite
): Effect.fn.Return<Indexed, StoreUnavailable, Principal> {
  const { assistantId, written } = write
  const wanted = target !== null && store.keepsVectors ? target : null
  const contents = written.map(({ content }) => content)
  const made =
    wanted === null || contents.length === 0
      ? null
      : yield* embedTexts(embeddings, write.beginCharge, wanted, contents, "document")
  const positions = touchedPositions(write)
  const found = positions.length === 0 ? [] : yield* store.beside(assistantId, positions, reach)
  const weighed = yield* runYielding(weighing(write, found))
  const indexed = weighed.written.map((terms, index): IndexedMemory => {
    const values = made?.[index]
    return {
      ...terms,
      vectors: values === undefined || wanted === null ? null : { model: vectorModel(wanted, values), values: [values] }
    }
  })
  return {
    indexed,
    beside: weighed.beside,
    isIncomplete: wanted !== null && contents.length > 0 && made === null
  }
})

/** In steps, because an import brings many memories at once. */
function* weighing(
  write: MemoryWrite,
  beside: ReadonlyArray<MemoryRecord>
): Steps<{ readonly written: ReadonlyArray<MemoryTerms>; readonly beside: ReadonlyArray<ReweighedMemory> }> {
  const sessions = yield* weighingSessions(write, beside, write.around)
  const written: Array<MemoryTerms> = []
  for (const memory of write.written) {
    const passage = memoryPassage(memory, write.told.get(memory.id))
    written.push(sessions.written.get(memory.id) ?? prepareTurns([passage], write.around))
    yield
  }
  return { written, beside: sessions.beside }
}

/** Null: the model failed. */
export const embedTexts = (...args: Parameters<typeof embedPaid<StoreUnavailable>>) =>
  embedPaid(...args).pipe(
    Effect.map(({ vectors }) => vectors),
    Effect.catchTag(["EmbeddingFailed", "ModelError"], () => Effect.succeed(null))
  )

/** The newest first. */
export const newestMemories = Effect.fnUntraced(function* (
  store: typeof MemoryStore.Service,
  assistantId: AssistantId,
  count: number
) {
  const { total } = yield* store.survey(assistantId)
  const { memories } = yield* store.list(assistantId, { skip: Math.max(0, total - count), limit: count })
  return memories.toReversed()
})

export interface MemoryQuery {
  readonly assistantId: AssistantId
  readonly text: string
  readonly target: EmbeddingTarget | null
  readonly limit: number
  readonly trueAt: Date | null
  /** Takes the cost of embedding the text. */
  readonly beginCharge: BeginCharge<StoreUnavailable>
}

/** The search by hand and in a turn. It embeds the text once at most, and asks the store once, sometimes twice at the same time. */
export const findMemories = Effect.fnUntraced(function* (
  finder: Finder,
  { assistantId, beginCharge, limit, target, text, trueAt }: MemoryQuery
): Effect.fn.Return<ReadonlyArray<MemoryHit>, StoreUnavailable, Principal> {
  const { embeddings, store } = finder
  const asked = beginningAndEnd(text)
  const made =
    target === null || !store.keepsVectors ? null : yield* embedTexts(embeddings, beginCharge, target, [asked], "query")
  const [values] = made ?? []
  const vector: ChunkSearch["vector"] =
    values === undefined || target === null ? null : { model: vectorModel(target, values), values }
  const [hits] = yield* Effect.all(
    [
      store.search({ assistantId, terms: termsByLanguage(asked), vector, limit, trueAt }),
      vector === null ? Effect.void : rebuildOutdated(finder, assistantId, vector.model)
    ],
    { concurrency: 2 }
  )
  return hits
})

const comparedFor = 10 * 60_000
const mostCompared = 10_000

/**
 * Vectors of another model are not found. Occasionally this checks whether there are some, and orders a follow-up that makes them again.
 */
const rebuildOutdated = Effect.fnUntraced(
  function* ({ compared, followUps, store }: Finder, assistantId: AssistantId, model: VectorModel) {
    const key = JSON.stringify([assistantId, model.name, model.dimensions])
    const now = yield* Clock.currentTimeMillis
    if (now - (compared.get(key) ?? Number.NEGATIVE_INFINITY) < comparedFor) return
    if (compared.size >= mostCompared) compared.clear()
    compared.set(key, now)
    const outdated = yield* store.withoutVectors(assistantId, model, 1)
    if (outdated.length > 0)
      yield* followUps.add([yield* embedLater(assistantId, { delayMillis: 0, dimensions: model.dimensions })])
  },
  Effect.catchTag("StoreUnavailable", () => Effect.void)
)

/** Follow-ups on one assistant's memories run in order. */
export const memorySequence = (assistantId: AssistantId): string => `memory:${assistantId}`

/** `dimensions` is the wanted length of the vectors, if it is known. */
export const embedLater = (
  assistantId: AssistantId,
  { delayMillis, dimensions }: { readonly delayMillis: number; readonly dimensions: number | null }
): Effect.Effect<NewFollowUp> =>
  newFollowUp({
    kind: embedKind,
    key: assistantId,
    payload: { assistantId, dimensions },
    sequence: memorySequence(assistantId),
    delayMillis
  })
