/**
 * `POST …/rerank` of Cohere, Voyage, Jina, and local servers with Jina's protocol. The answer lists the indexes of the texts with scores. The
 * vendors differ in the path and in the name of the list, which are data here. Used by `providers/Rerankers`.
 */
import type { Usage } from "@colloquy/core"
import { ModelError, noUsage } from "@colloquy/core/adapters"
import type { Reranked, RerankerPort, RerankRequest } from "@colloquy/core/memory"
import * as Effect from "effect/Effect"
import { checkedUrl } from "./Address.ts"
import type { ApiKey } from "./ApiKey.ts"
import { estimate } from "./Embeddings.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer, fetchJson, type TransportSettings } from "./Transport.ts"
import { finite, list, record } from "./Wire.ts"

/** The model, the key and the address of a vendor that orders texts. */
export interface RerankSettings extends TransportSettings {
  readonly model: string
  /** The name of the provider in charges and errors. Default: the vendor's name. */
  readonly id?: string
  readonly apiKey?: ApiKey
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
}

export interface RerankDialect {
  readonly id: string
  readonly baseUrl: string
  readonly path: string
  /** The field that contains the list of indexes and scores. */
  readonly listField: "results" | "data"
  readonly requestIdHeader: string
}

export const reranker = (settings: RerankSettings, dialect: RerankDialect): RerankerPort => {
  const { id: provider = dialect.id, model } = settings
  const target = {
    provider,
    model,
    url: `${checkedUrl(settings.baseUrl) ?? dialect.baseUrl}${dialect.path}`,
    headers: { ...settings.headers },
    secrets: bearer(settings.apiKey)
  }
  const errors = { requestIdHeader: dialect.requestIdHeader, fault: toFault }
  return {
    model: { provider, model },
    rerank: (request) =>
      Effect.suspend(() => {
        const body = JSON.stringify({ model, query: request.query, documents: request.texts })
        return Effect.flatMap(fetchJson({ ...target, body }, errors, settings), (answer) => {
          const order = readOrder(record(answer)[dialect.listField], request.texts.length)
          if (order === null) {
            return Effect.fail(new ModelError({ reason: "unknown", code: "malformed_answer", provider, model }))
          }
          return Effect.succeed({
            order,
            charge: { provider, model, purpose: "rerank", usage: readUsage(answer, request) }
          })
        })
      })
  }
}

/** Null unless every entry is a valid index with a score, and no index occurs twice. */
const readOrder = (written: unknown, count: number): Reranked["order"] | null => {
  const entries = list(written)
  const order = entries.map(record).flatMap((entry) => {
    const [index, score] = [finite(entry.index), finite(entry.relevance_score)]
    const isIndex = index !== undefined && Number.isInteger(index) && index >= 0 && index < count
    return isIndex && score !== undefined ? [{ index, score }] : []
  })
  const isWhole = order.length === entries.length && new Set(order.map(({ index }) => index)).size === order.length
  if (!isWhole || (order.length === 0 && count > 0)) return null
  // Some local servers tell logits, which are no scores from 0 to 1. Their order is the same.
  const isScale = order.every(({ score }) => score >= 0 && score <= 1)
  return order
    .toSorted((a, b) => b.score - a.score)
    .map(({ index, score }) => ({ index, score: isScale ? score : null }))
}

/** The usage is estimated if the vendor reports no tokens: Cohere charges for searches. */
const readUsage = (answer: unknown, { query, texts }: RerankRequest): Usage => {
  const { cost, total_tokens } = record(record(answer).usage)
  const tokens = finite(total_tokens)
  return tokens === undefined
    ? estimate([query, ...texts])
    : { ...noUsage, inputTokens: tokens, costUsd: finite(cost) ?? null }
}
