/**
 * Adds missing vectors. They are missing when a document was indexed without an embedding model or without pgvector, or when the host has
 * changed the model. A search detects it (a chunk that it finds by words has no vector) and orders a follow-up that adds the vectors, scope
 * by scope. Until then such chunks are found by their words.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { EmbeddingModel, embedPaid, type EmbeddingTarget } from "../models/EmbeddingModel.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { AssistantId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type ChunkHit, ChunkIndex, type ChunkWithoutVector, SearchScope } from "../retrieval/ChunkIndex.ts"
import { assistantEmbedding } from "../retrieval/AssistantEmbedding.ts"
import { embeddingText } from "../retrieval/Indexing.ts"
import { vectorModel } from "../retrieval/Retrieval.ts"
import { newFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker, withoutCredit } from "../runs/FollowUpWorker.ts"
import { DocumentSettings } from "./DocumentSettings.ts"

const vectorsKind = "documents.vectors"

const Order = Schema.Struct({ assistantId: AssistantId, scope: SearchScope })

/** How long nothing more is ordered for a scope. */
const pauseMillis = 60 * 60_000

/** Called after a search with a vector. */
export type NoticeHits = (
  assistantId: AssistantId,
  target: EmbeddingTarget,
  hits: ReadonlyArray<Pick<ChunkHit, "scope" | "semantic">>
) => Effect.Effect<void, StoreUnavailable, Principal>

export const makeNoticing = Effect.gen(function* () {
  const followUps = yield* FollowUps
  const looked = new Map<string, number>()

  const notice: NoticeHits = Effect.fnUntraced(function* (assistantId, { model, provider }, hits) {
    const now = yield* Clock.currentTimeMillis
    const scopes = new Set(hits.flatMap(({ scope, semantic }) => (semantic === null ? [scope] : [])))
    for (const scope of scopes) {
      const key = `${provider}/${model} ${scope}`
      if (now - (looked.get(key) ?? Number.NEGATIVE_INFINITY) < pauseMillis) continue
      if (looked.size > 10_000) looked.clear()
      yield* followUps.add([yield* newFollowUp({ kind: vectorsKind, key, payload: { assistantId, scope } })])
      looked.set(key, now)
    }
  })
  return notice
})

export const makeVectorWorker = Effect.gen(function* () {
  const index = yield* ChunkIndex
  const assistants = yield* AssistantStore
  const embeddings = yield* EmbeddingModel
  const { all: providers } = yield* Providers
  const { embeddingBatch } = yield* DocumentSettings
  const account = { ledger: yield* UsageLedger, metering: yield* Metering }
  const { hold } = yield* makeDayBudget
  const { count } = yield* TokenCounter

  const embedMissing = Effect.fnUntraced(function* (
    assistantId: AssistantId,
    target: EmbeddingTarget,
    missing: ReadonlyArray<ChunkWithoutVector>
  ) {
    const need = { purpose: "embedding", amountUsd: null }
    const texts = missing.map(({ chunk }) => embeddingText(chunk))
    const promptTokens = texts.reduce((sum, text) => sum + count(text), 0)
    const { vectors } = yield* embedPaid(
      embeddings,
      beginOutside(account, { runId: null, assistantId }),
      target,
      texts,
      "document"
    ).pipe(
      hold({ need, assistantId, promptTokens, model: null }),
      Effect.catchTags({
        InsufficientCredit: withoutCredit("to embed documents"),
        ModelError: ({ isRetryable, message }) =>
          Effect.fail(new FollowUpFailed({ message, isRetryable, isOutage: isRetryable })),
        EmbeddingFailed: ({ message }) => Effect.fail(new FollowUpFailed({ message, isRetryable: false }))
      })
    )
    return vectors
  })

  /** False when none of the chunks is unchanged: the documents were deleted, or put again with new vectors. */
  const fill = Effect.fnUntraced(function* (
    assistantId: AssistantId,
    target: EmbeddingTarget,
    missing: ReadonlyArray<ChunkWithoutVector>
  ) {
    const vectors = yield* embedMissing(assistantId, target, missing)
    const found = missing.flatMap((chunk, at) => {
      const vector = vectors[at]
      return vector === undefined ? [] : [{ ...chunk, vector }]
    })
    const byDocument = Map.groupBy(found, ({ documentId, revision }) => `${documentId} ${revision}`)
    const isSet = yield* Effect.forEach(byDocument.values(), (ofOne) => {
      const [first] = ofOne
      if (first === undefined) return Effect.succeed(false)
      const { documentId, revision, scope, vector } = first
      const values = ofOne.map((each) => ({ ordinal: each.chunk.ordinal, vector: each.vector }))
      return index.setVectors({ documentId, revision, scope, model: vectorModel(target, vector), values })
    })
    return isSet.some(Boolean)
  })

  const worker = typedWorker({
    // No record waits: chunks without a vector are found by their words, and each search that finds some orders this again.
    kind: vectorsKind,
    payload: Order,
    run: Effect.fnUntraced(function* ({ assistantId, scope }) {
      const assistant = Option.getOrNull(yield* assistants.get(assistantId))
      const target = assistant === null ? null : assistantEmbedding(assistant, providers)
      if (target?.dimensions == null) return
      const model = { name: `${target.provider}/${target.model}`, dimensions: target.dimensions }
      while (true) {
        const missing = yield* index.withoutVectors([scope], model, embeddingBatch)
        if (missing.length === 0 || !(yield* fill(assistantId, target, missing))) return
      }
    })
  })
  return worker
})
