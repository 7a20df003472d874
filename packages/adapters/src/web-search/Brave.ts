/** Brave. A host provides it with `WebSearch.layer(brave({ apiKey }))`. */
import type { WebSearchPort } from "@colloquy/core/web-search"
import { hidden } from "../protocols/ApiKey.ts"
import { list, record, string, text } from "../protocols/Wire.ts"
import { engine, type EngineSettings, joined } from "./Engine.ts"

export const brave = (settings: EngineSettings = {}): WebSearchPort =>
  engine(settings, {
    id: "brave",
    baseUrl: "https://api.search.brave.com",
    secrets: settings.apiKey === undefined ? {} : { "x-subscription-token": hidden(settings.apiKey) },
    writeRequest: ({ limit, text: query }) => ({
      path: `/res/v1/web/search?${new URLSearchParams({ q: shortened(query), count: String(Math.min(limit, 20)) }).toString()}`,
      body: null
    }),
    // An answer without results has no field `web`.
    results: ({ type, web }) => record(web).results ?? (type === "search" ? [] : undefined),
    read: ({ age, description, extra_snippets, page_age }) => ({
      text: joined([string(description), ...list(extra_snippets)]),
      publishedAt: text(page_age) ?? text(age) ?? null
    }),
    reasons: { 422: "invalid_query" }
  })

/** The engine accepts at most 400 characters and 50 words. */
const shortened = (query: string): string => query.split(/\s+/u).slice(0, 50).join(" ").slice(0, 400)
