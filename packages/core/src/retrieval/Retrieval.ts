/**
 * Searches the index. With an embedding model it searches by words and by meaning, without one by words only; the result says which. If the
 * embedding model fails, the search is by words only.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { genAi } from "../primitives/GenAi.ts"
import { annotateContent } from "../models/SpanContent.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import type { BeginCharge } from "../metering/PaidCall.ts"
import { EmbeddingModel, embedPaid, type EmbeddingTarget } from "../models/EmbeddingModel.ts"
import type { Providers } from "../models/Provider.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import { type ChunkHit, ChunkIndex, type ChunkSearch, type SearchScope, type VectorModel } from "./ChunkIndex.ts"
import { beginningAndEnd, termsByLanguage } from "./Terms.ts"

/** What is looked for, in which scopes, and with which model. */
export interface RetrievalRequest {
  readonly scopes: ReadonlyArray<SearchScope>
  /** Of a long one, the beginning and the end are searched for. */
  readonly query: string
  readonly limit: number
  /** The model of the vectors in these scopes; null: there is none. */
  readonly embedding: EmbeddingTarget | null
  /** Takes the cost of embedding the question. */
  readonly beginCharge: BeginCharge<StoreUnavailable>
}

/** Why a search was lexical only. */
export type WithoutMeaning = "no_embedding_model" | "vectors_not_kept" | "embedding_failed"

/** What was found, and whether meaning was part of the search. */
export interface Retrieved {
  /** Best first. */
  readonly hits: ReadonlyArray<ChunkHit>
  /** Null: the question was searched by its meaning as well. */
  readonly lexicalOnly: WithoutMeaning | null
  /** The cost of embedding the question. */
  readonly usage: Usage
}

export class Retrieval extends Context.Service<
  Retrieval,
  {
    /** One query of the index, after at most one call of the embedding model. */
    readonly search: (request: RetrievalRequest) => Effect.Effect<Retrieved, StoreUnavailable, Principal>
  }
>()("@colloquy/core/retrieval/Retrieval") {
  static readonly layer: Layer.Layer<Retrieval, never, ChunkIndex | Providers> = Layer.effect(
    Retrieval,
    Effect.gen(function* () {
      const index = yield* ChunkIndex
      const model = yield* EmbeddingModel

      const embedQuery = (
        target: EmbeddingTarget,
        query: string,
        begin: BeginCharge<StoreUnavailable>
      ): Effect.Effect<Meaning, StoreUnavailable, Principal> =>
        embedPaid(model, begin, target, [query], "query").pipe(
          Effect.map(({ usage, vectors: [values] }) =>
            values === undefined
              ? lexical("embedding_failed")
              : { vector: { model: vectorModel(target, values), values }, lexicalOnly: null, usage }
          ),
          Effect.catchTag(["EmbeddingFailed", "ModelError"], () => Effect.succeed(lexical("embedding_failed")))
        )

      return Retrieval.of({
        search: tracedFn("retrieval")(function* ({
          beginCharge,
          embedding,
          limit,
          query: asked,
          scopes
        }: RetrievalRequest) {
          const query = beginningAndEnd(asked)
          const meaning =
            embedding === null
              ? lexical("no_embedding_model")
              : index.keepsVectors
                ? yield* embedQuery(embedding, query, beginCharge)
                : lexical("vectors_not_kept")
          const { lexicalOnly, usage, vector } = meaning
          const hits = yield* index.search({ scopes, terms: termsByLanguage(query), vector, limit })
          yield* annotate(query, limit, hits)
          return { hits, lexicalOnly, usage }
        })
      })
    })
  ).pipe(Layer.provide(EmbeddingModel.layer))
}

/** The query and the documents are content. */
const annotate = (query: string, limit: number, hits: ReadonlyArray<ChunkHit>): Effect.Effect<void> =>
  Effect.withFiber((fiber) =>
    fiber.cache.tracer === undefined
      ? Effect.void
      : Effect.annotateCurrentSpan({
          [genAi.operation]: "retrieval",
          [genAi.topK]: limit,
          [genAi.hits]: hits.length
        }).pipe(
          Effect.andThen(
            annotateContent(() => ({
              [genAi.query]: query,
              [genAi.documents]: JSON.stringify(hits.map(({ documentId, score }) => ({ id: documentId, score })))
            }))
          )
        )
  )

interface Meaning {
  readonly vector: ChunkSearch["vector"]
  readonly lexicalOnly: WithoutMeaning | null
  readonly usage: Usage
}

const lexical = (lexicalOnly: WithoutMeaning): Meaning => ({ vector: null, lexicalOnly, usage: noUsage })

/** The name under which the vectors of a model are stored. */
export const vectorModel = ({ model, provider }: EmbeddingTarget, vector: Float32Array): VectorModel => ({
  name: `${provider}/${model}`,
  dimensions: vector.length
})
