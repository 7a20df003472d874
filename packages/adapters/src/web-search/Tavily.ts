/** Tavily. A host provides it with `WebSearch.layer(tavily({ apiKey }))`. */
import type { WebSearchPort } from "@colloquy/core/web-search"
import { bearer } from "../protocols/Transport.ts"
import { string, text } from "../protocols/Wire.ts"
import { engine, type EngineSettings } from "./Engine.ts"

export const tavily = (settings: EngineSettings = {}): WebSearchPort =>
  engine(settings, {
    id: "tavily",
    baseUrl: "https://api.tavily.com",
    secrets: bearer(settings.apiKey),
    writeRequest: ({ limit, text: query }) => ({ path: "/search", body: { query, max_results: Math.min(limit, 20) } }),
    results: ({ results }) => results,
    read: ({ content, published_date }) => ({ text: string(content) ?? "", publishedAt: text(published_date) ?? null }),
    // 432: the limit of the plan is reached. 433: the limit of pay-as-you-go is reached.
    reasons: { 432: "quota", 433: "quota" }
  })
