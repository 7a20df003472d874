/** Search engines for `WebSearch.layer` of `@colloquy/core/web-search`. */
export { brave } from "./Brave.ts"
export type { EngineSettings } from "./Engine.ts"
export { exa } from "./Exa.ts"
export { searXng } from "./SearXng.ts"
export { tavily } from "./Tavily.ts"
