/**
 * SearXNG, on a server of one's own, which must allow the format `json`. A host provides it with
 * `Layer.succeed(WebSearch, searXng({ baseUrl: "http://localhost:8888" }))`. It costs nothing.
 */
import type { WebSearchPort } from "@colloquy/core/web-search"
import { bearer } from "../protocols/Transport.ts"
import { string, text } from "../protocols/Wire.ts"
import { engine, type EngineSettings } from "./Engine.ts"

export const searXng = (settings: EngineSettings & { readonly baseUrl: string }): WebSearchPort =>
  engine(
    { priceUsd: 0, ...settings },
    {
      id: "searxng",
      baseUrl: settings.baseUrl,
      // None of its own: for a proxy before it.
      secrets: bearer(settings.apiKey),
      ask: ({ text: query }) => ({
        path: `/search?${new URLSearchParams({ q: query, format: "json" }).toString()}`,
        body: null
      }),
      results: ({ results }) => results,
      read: ({ content, publishedDate }) => ({ text: string(content) ?? "", publishedAt: text(publishedDate) ?? null }),
      reasons: { 403: "format_not_allowed" }
    }
  )
