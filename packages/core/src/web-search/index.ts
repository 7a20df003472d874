/** The wing `web-search`: searching the web in a turn, and the sources of an answer. `ARCHITECTURE.md` explains how it joins a turn. */
import type * as Config from "effect/Config"
import type { DeepPartial } from "../primitives/Settings.ts"
import { wingLayers } from "../primitives/WingLayer.ts"
import { searchPart } from "./SearchPart.ts"
import { SearchSettings } from "./SearchSettings.ts"
import type { WebSearchPort } from "./WebSearch.ts"

export { searchPartName } from "./SearchPart.ts"
export { defaultSearchSettings, type SearchSettings } from "./SearchSettings.ts"
export { Source, sourcesIn } from "./Sources.ts"
export { SearchFailed, type PagesFound, type WebQuery, type WebResult, type WebSearchPort } from "./WebSearch.ts"

const over = (engine: WebSearchPort | null = null) =>
  wingLayers(SearchSettings, searchPart(engine), { positive: ["results", "maxText", "timeout"] })

/** Over `Kernel.layer`: `WebSearch.layer(tavily({ apiKey }))`. Without an engine, only models with a search of their own search. */
export const WebSearch = {
  layer: (engine?: WebSearchPort | null, settings?: DeepPartial<SearchSettings>) => over(engine).layer(settings),
  layerConfig: (engine: WebSearchPort | null | undefined, settings: Config.Wrap<DeepPartial<SearchSettings>>) =>
    over(engine).layerConfig(settings)
}
