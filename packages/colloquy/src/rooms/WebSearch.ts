/** The room that searches the web: `webSearch(tavily({ apiKey }))`. It adds `webSearch` of messages and `sources` of replies. */
import * as Engines from "@colloquy/adapters/web-search"
import { type Room, room, type RoomFunctions, type RoomTypes, withOptions } from "@colloquy/core/promises"
import {
  searchPartName,
  type SearchSettings,
  type Source,
  sourcesIn,
  WebSearch,
  type WebSearchPort
} from "@colloquy/core/web-search"
import * as Effect from "effect/Effect"
import { readApiKey, type Secret } from "../Secret.ts"
import { type DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"

export type { Source, WebSearchPort } from "@colloquy/core/web-search"

/** The settings of a search engine with the key as a text. */
export interface EngineOptions extends Omit<Engines.EngineSettings, "apiKey"> {
  readonly apiKey?: Secret | undefined
}

const engineSettings = ({ apiKey, ...settings }: EngineOptions): Engines.EngineSettings => ({
  ...settings,
  ...readApiKey(apiKey)
})

/** Brave Search, for `webSearch(brave({ apiKey }))`. */
export const brave = (options: EngineOptions = {}): WebSearchPort => Engines.brave(engineSettings(options))
/** Exa, which finds pages by meaning and not by words alone. */
export const exa = (options: EngineOptions = {}): WebSearchPort => Engines.exa(engineSettings(options))
/** An engine made for models: `webSearch(tavily({ apiKey }))` with a key of tavily.com. */
export const tavily = (options: EngineOptions = {}): WebSearchPort => Engines.tavily(engineSettings(options))
/** A SearXNG server of the host as the engine. */
export const searXng = (options: EngineOptions & { readonly baseUrl: string }): WebSearchPort =>
  Engines.searXng({ ...engineSettings(options), baseUrl: options.baseUrl })

interface WebSearchTypes extends RoomTypes {
  readonly calls: object
  /** `auto`: the model may search. */
  readonly request: { readonly webSearch?: "auto" | "off" }
  readonly reply: { readonly sources: ReadonlyArray<Source> }
  readonly event: never
}

/** What `webSearch()` gives. */
export type WebSearchRoom = Room<WebSearchTypes, RoomNeeds>

/** Without an engine, only models that search by themselves can search. */
export const webSearch = (by?: WebSearchPort, settings: DeepPartial<SearchSettings> = {}): WebSearchRoom =>
  room<WebSearchTypes>()(WebSearch.layer(by ?? null, settings), Effect.succeed(functions))

const functions: RoomFunctions<WebSearchTypes> = {
  name: searchPartName,
  fields: ["webSearch"],
  begin: ({ webSearch: mode }, request, next) =>
    mode === undefined || mode === "off" ? next(request) : next(withOptions(request, searchPartName, { mode: "Auto" })),
  reply: ({ supplements }) => Effect.succeed({ sources: sourcesIn(supplements[searchPartName] ?? null) })
}
