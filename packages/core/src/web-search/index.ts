/** The wing `web-search`: searching the web in a turn, and the sources of an answer. `ARCHITECTURE.md` explains how it joins a turn. */
export { searchPart, searchPartName } from "./SearchPart.ts"
export { defaultSearchSettings, SearchSettings } from "./SearchSettings.ts"
export { Source, sourcesIn } from "./Sources.ts"
export {
  SearchFailed,
  type WebAnswer,
  type WebQuery,
  type WebResult,
  WebSearch,
  type WebSearchPort
} from "./WebSearch.ts"
