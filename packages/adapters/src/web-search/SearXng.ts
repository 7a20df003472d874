/**
 * SearXNG, on the host's own server, whose configuration must allow the format `json`. A host provides it with
 * `WebSearch.layer(searXng({ baseUrl: "http://localhost:8888" }))`. Searches cost nothing.
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
      // SearXNG itself needs no key; a proxy in front of it may.
      secrets: bearer(settings.apiKey),
      writeRequest: ({ text: query }) => ({
        path: `/search?${new URLSearchParams({ q: query, format: "json" }).toString()}`,
        body: null
      }),
      results: ({ results }) => results,
      read: ({ content, publishedDate }) => ({ text: string(content) ?? "", publishedAt: text(publishedDate) ?? null }),
      reasons: { 403: "format_not_allowed" }
    }
  )
