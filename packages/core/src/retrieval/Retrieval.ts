/**
 * Finds what was indexed. With an embedding model a question is searched by its words and its meaning, without one by its words alone; the
 * result says which, so that nobody takes the one for the other. A model that fails costs the meaning, not the search.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { tracedFn } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import { EmbeddingModel, type EmbeddingTarget } from "../models/EmbeddingModel.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import { type ChunkHit, ChunkIndex, type ChunkSearch, type SearchScope, type VectorModel } from "./ChunkIndex.ts"
import { type Language, languages } from "./Language.ts"
import { queryTerms } from "./Terms.ts"

export interface RetrievalRequest {
  readonly scopes: ReadonlyArray<SearchScope>
  readonly query: string
  readonly limit: number
  /** The model of the vectors in these scopes; null: there is none. */
  readonly embedding: EmbeddingTarget | null
}

/** Why a search was lexical only. */
export type WithoutMeaning = "no_embedding_model" | "vectors_not_kept" | "embedding_failed"

export interface Retrieved {
  /** Best first. */
  readonly hits: ReadonlyArray<ChunkHit>
  /** Null: the question was searched by its meaning as well. */
  readonly lexicalOnly: WithoutMeaning | null
  /** What embedding the question cost. */
  readonly usage: Usage
}

export class Retrieval extends Context.Service<
  Retrieval,
  {
    /** One query of the index, and at most one call of the embedding model before it. */
    readonly search: (request: RetrievalRequest) => Effect.Effect<Retrieved, StoreUnavailable, Principal>
  }
>()("@colloquy/core/retrieval/Retrieval") {
  static readonly layer: Layer.Layer<Retrieval, never, ChunkIndex | EmbeddingModel> = Layer.effect(
    Retrieval,
    Effect.gen(function* () {
      const index = yield* ChunkIndex
      const model = yield* EmbeddingModel

      const meaningOf = (target: EmbeddingTarget, query: string): Effect.Effect<Meaning, StoreUnavailable, Principal> =>
        model.embed(target, [query], "query").pipe(
          Effect.map(({ usage, vectors: [values] }) =>
            values === undefined
              ? lexical("embedding_failed")
              : { vector: { model: vectorModel(target, values), values }, lexicalOnly: null, usage }
          ),
          Effect.catchTag(["EmbeddingFailed", "ModelError"], () => Effect.succeed(lexical("embedding_failed")))
        )

      return Retrieval.of({
        search: tracedFn("Retrieval.search")(function* ({ embedding, limit, query, scopes }: RetrievalRequest) {
          const meaning =
            embedding === null
              ? lexical("no_embedding_model")
              : index.keepsVectors
                ? yield* meaningOf(embedding, query)
                : lexical("vectors_not_kept")
          const { lexicalOnly, usage, vector } = meaning
          const hits = yield* index.search({ scopes, terms: termsByLanguage(query), vector, limit })
          return { hits, lexicalOnly, usage }
        })
      })
    })
  )
}

interface Meaning {
  readonly vector: ChunkSearch["vector"]
  readonly lexicalOnly: WithoutMeaning | null
  readonly usage: Usage
}

const lexical = (lexicalOnly: WithoutMeaning): Meaning => ({ vector: null, lexicalOnly, usage: noUsage })

/** Under which name the vectors of a model are kept. */
export const vectorModel = ({ model, provider }: EmbeddingTarget, vector: Float32Array): VectorModel => ({
  name: `${provider}/${model}`,
  dimensions: vector.length
})

/** A question has no language of its own: documents of each language are asked in theirs. */
export const termsByLanguage = (query: string): ReadonlyMap<Language, ReadonlyArray<string>> =>
  new Map(languages.map((language) => [language, queryTerms(query, language)]))
