/**
 * Rerankers of Cohere, Voyage and Jina for Memory Pro. A host provides one: `Layer.succeed(Reranker, Rerankers.cohere({ apiKey, model }))`.
 * A local server with Jina's protocol is `jina` with a `baseUrl`.
 */
import type { RerankerPort } from "@colloquy/core/memory"
import { reranker, type RerankSettings } from "../protocols/Rerank.ts"

export type { RerankSettings } from "../protocols/Rerank.ts"

/** Cohere's reranker. */
export const cohere = (settings: RerankSettings): RerankerPort =>
  reranker(settings, {
    id: "cohere",
    baseUrl: "https://api.cohere.com",
    path: "/v2/rerank",
    listField: "results",
    requestIdHeader: "x-debug-trace-id"
  })

/** Voyage's reranker. */
export const voyage = (settings: RerankSettings): RerankerPort =>
  reranker(settings, {
    id: "voyage",
    baseUrl: "https://api.voyageai.com/v1",
    path: "/rerank",
    listField: "data",
    requestIdHeader: "x-request-id"
  })

/** Jina's reranker. */
export const jina = (settings: RerankSettings): RerankerPort =>
  reranker(settings, {
    id: "jina",
    baseUrl: "https://api.jina.ai/v1",
    path: "/rerank",
    listField: "results",
    requestIdHeader: "x-request-id"
  })
