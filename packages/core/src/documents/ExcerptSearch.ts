/**
 * Finds the excerpts of a turn: a search in the documents of its thread and of its assistant, the reranker where the host has one, and only
 * hits that are near the best, rewritten where parts of the turn rewrite. `DocumentsPart` shows them to the model, before the message or as
 * the result of a tool.
 */
import * as Effect from "effect/Effect"
import type { EmbeddingTarget } from "../models/EmbeddingModel.ts"
import type { DocumentId, ThreadId } from "../primitives/Ids.ts"
import { ownText } from "../retrieval/Chunk.ts"
import { type ChunkHit, ChunkIndex } from "../retrieval/ChunkIndex.ts"
import { joinExcerpts, nearBest } from "../retrieval/Excerpts.ts"
import { inOrder, orUnranked, paidOrder, type Reranked, Reranker, type RerankerPort } from "../retrieval/Reranker.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import { DocumentSettings } from "./DocumentSettings.ts"
import { DocumentStore } from "./DocumentStore.ts"
import { scopesWith, searchScope } from "./DocumentWork.ts"
import { excerptWords, type NamedExcerpt, withWords } from "./ExcerptPrompt.ts"
import { makeNoticing } from "./FillVectors.ts"

/** What a turn searches, and how. */
interface SearchPlan {
  readonly limit: number
  readonly embedding: EmbeddingTarget | null
  /** The files that came with the message. */
  readonly attachments: ReadonlyArray<DocumentId>
  /** The sets of documents of the thread; absent: its own alone. */
  readonly shelves?: ReadonlyArray<ThreadId>
}

export const makeExcerptSearch = Effect.gen(function* () {
  const documents = yield* DocumentStore
  const index = yield* ChunkIndex
  const retrieval = yield* Retrieval
  const reranker = yield* Reranker
  const notice = yield* makeNoticing
  const { reranked, rerankTimeout } = yield* DocumentSettings

  /**
   * A message such as "sum it up" shares no word with any document, but means the files that came with it. In that case the beginnings of
   * these files are used.
   */
  const beginnings = Effect.fnUntraced(function* (plan: SearchPlan) {
    const hits: Array<ChunkHit> = []
    if (plan.attachments.length === 0) return hits
    for (const { id, scope } of yield* documents.getMany(plan.attachments)) {
      const key = { documentId: id, scope: searchScope(scope) }
      const { chunks } = yield* index.chunks(key, { skip: 0, limit: plan.limit })
      hits.push(...chunks.map((chunk) => ({ ...key, chunk, score: 0, lexical: null, semantic: null })))
    }
    return hits.slice(0, plan.limit)
  })

  /** If the reranker fails or is late, the order of the search is kept. */
  const rerank = Effect.fnUntraced(
    function* (port: RerankerPort, turn: LiveTurn, query: string, hits: ReadonlyArray<ChunkHit>) {
      const texts = hits.map(({ chunk }) => ownText(chunk))
      return rescored(hits, yield* paidOrder(port, { query, texts }, turn.beginCharge))
    },
    (ranking, _port, { runId }, _query, hits) => orUnranked(ranking, hits, rerankTimeout, `Excerpts of run ${runId}`)
  )

  return Effect.fnUntraced(function* (plan: SearchPlan, turn: LiveTurn, query: string) {
    const { embedding, limit } = plan
    const scopes = scopesWith(turn.assistantId, plan.shelves ?? [turn.threadId])
    const port = reranked > 0 ? reranker : null
    const wide = port === null ? limit : Math.max(limit, reranked)
    const searched = yield* retrieval.search({ scopes, query, limit: wide, embedding, beginCharge: turn.beginCharge })
    if (embedding !== null && searched.lexicalOnly === null) yield* notice(turn.assistantId, embedding, searched.hits)
    const isOrdered = port !== null && searched.hits.length > 1
    const best = (isOrdered ? yield* rerank(port, turn, query, searched.hits) : searched.hits).slice(0, limit)
    const near = new Set(nearBest(best))
    // What came with the message is meant, whatever its words are.
    const meant = best.filter((hit) => near.has(hit) || plan.attachments.includes(hit.documentId))
    const hits = meant.length > 0 ? meant : yield* beginnings(plan)
    if (hits.length === 0) return []
    const found = yield* documents.getMany([...new Set(hits.map(({ documentId }) => documentId))])
    // Documents that were deleted since, or were never completed, are not shown.
    const names = new Map(found.flatMap(({ filename, id, status }) => (status === "completed" ? [[id, filename]] : [])))
    const excerpts = joinExcerpts(
      hits.filter(({ documentId }) => names.has(documentId)),
      Number.POSITIVE_INFINITY,
      () => 0
    )
    const named = excerpts.map((each): NamedExcerpt => ({ ...each, filename: names.get(each.documentId) ?? "" }))
    const { rewriting } = turn
    if (rewriting === null) return named
    return yield* Effect.forEach(named, (each) =>
      Effect.map(rewriting.rewrite(excerptWords(each)), (words) => withWords(each, words))
    )
  })
})

/**
 * In the order of the reranker, with its scores; without scores by rank, so that the last ones are far below the best. What the reranker
 * left out keeps its order after the others, and scores nothing.
 */
const rescored = (hits: ReadonlyArray<ChunkHit>, order: Reranked["order"]): ReadonlyArray<ChunkHit> => {
  if (order.length === 0) return hits
  const scores = new Map(order.map(({ index, score }, rank) => [index, score ?? 1 - rank / order.length]))
  return inOrder(
    hits.map((hit, index) => ({ ...hit, score: scores.get(index) ?? 0 })),
    order.map(({ index }) => index)
  )
}
