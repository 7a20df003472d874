/** Exa, with the text of the pages. A host provides it with `WebSearch.layer(exa({ apiKey }))`. */
import type { WebSearchPort } from "@colloquy/core/web-search"
import { hidden } from "../protocols/ApiKey.ts"
import { finite, record, text } from "../protocols/Wire.ts"
import { engine, type EngineSettings, joined } from "./Engine.ts"

export const exa = (settings: EngineSettings = {}): WebSearchPort =>
  engine(settings, {
    id: "exa",
    baseUrl: "https://api.exa.ai",
    secrets: settings.apiKey === undefined ? {} : { "x-api-key": hidden(settings.apiKey) },
    writeRequest: ({ limit, text: query }) => ({
      path: "/search",
      body: { query, numResults: Math.min(limit, 100), type: "auto", contents: { text: { maxCharacters: 2_000 } } }
    }),
    results: ({ results }) => results,
    read: ({ highlights, publishedDate, summary, text: said }) => ({
      text: text(said) ?? text(summary) ?? joined(highlights),
      publishedAt: text(publishedDate) ?? null
    }),
    cost: ({ costDollars }) => finite(record(costDollars).total)
  })
