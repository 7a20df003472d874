/**
 * Cuts the sections of a text in the process of the server, in steps: for hosts whose extractor has no process of its own, and for the words of
 * pictures.
 */
import * as Effect from "effect/Effect"
import { estimateTokens } from "../models/EstimateTokens.ts"
import { runYielding } from "../primitives/RunYielding.ts"
import { type Prepared, preparingDocument, tooManyChunks } from "../retrieval/Indexing.ts"
import type { Section } from "../retrieval/Section.ts"
import { ExtractionFailed, type TextCutting } from "./TextExtractor.ts"

export const cutText = Effect.fnUntraced(function* (
  sections: ReadonlyArray<Section>,
  { chunkOverlap, chunkTokens, mostChunks, title }: TextCutting
): Effect.fn.Return<Prepared, ExtractionFailed> {
  const size = { tokens: chunkTokens, overlap: chunkOverlap, count: estimateTokens }
  const prepared = yield* runYielding(preparingDocument(title, sections, size))
  return prepared.chunks.length <= mostChunks
    ? prepared
    : yield* new ExtractionFailed({ reason: "too_large", sentence: tooManyChunks(mostChunks) })
})
