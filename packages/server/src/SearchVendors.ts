/** The search engine that the environment names; without one, only models with a search of their own can search. */
import { brave, type EngineSettings, exa, searXng, tavily } from "@colloquy/adapters/web-search"
import { WebSearch, type WebSearchPort } from "@colloquy/core/web-search"
import * as Layer from "effect/Layer"
import type { SearchVendor, Settings } from "./Settings.ts"

const makers: { readonly [Name in SearchVendor]: (settings: EngineSettings) => WebSearchPort } = {
  TAVILY: tavily,
  EXA: exa,
  BRAVE: brave,
  // A self-hosted server has no usual address.
  SEARXNG: (settings) => searXng({ ...settings, baseUrl: settings.baseUrl ?? "http://127.0.0.1:8888" })
}

export const searchEngineOf = ({ search }: Settings): Layer.Layer<never> =>
  search === null ? Layer.empty : Layer.succeed(WebSearch, makers[search.vendor](search.settings))
