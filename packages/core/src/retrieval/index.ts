/** The wing for searching: splits text into chunks and terms, stores them in an index, and searches the index. */
export { type Chunk, ownText } from "./Chunk.ts"
export { cutChunks } from "./Chunking.ts"
export type { ChunkSize } from "./Packing.ts"
export {
  type ChunkHit,
  ChunkIndex,
  type ChunkSearch,
  type ChunkWithoutVector,
  type IndexedChunk,
  type IndexedDocument,
  type IndexKey,
  type NewVectors,
  scopeOfAssistant,
  scopeOfMemories,
  scopeOfThread,
  SearchScope,
  type VectorModel
} from "./ChunkIndex.ts"
export { assistantEmbedding } from "./AssistantEmbedding.ts"
export { type Excerpt, joinExcerpts } from "./Excerpts.ts"
export { embeddingText, prepareDocument, type Prepared, prepareTurns } from "./Indexing.ts"
export { type Language, detectLanguage, languages } from "./Language.ts"
export { documentWeighting, type Impacts, termImpacts, type Passage, turnWeighting, type Weighting } from "./Impacts.ts"
export { candidates, joinRanks, type Ranks, termRarity, scoreUnit, semanticShare } from "./Ranking.ts"
export { Retrieval, type RetrievalRequest, type Retrieved, vectorModel, type WithoutMeaning } from "./Retrieval.ts"
export { Reranker, type RerankerPort } from "./Reranker.ts"
export { unknownPosition, type SectionPosition, type Section, type SectionForm } from "./Section.ts"
export { mostTerms, noteOnQuery, queryTerms, splitTerms, termsByLanguage } from "./Terms.ts"
