/** The settings of web searches that a host may change. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface SearchSettings {
  /** Results of one search that the model gets. */
  readonly results: number
  /** Characters of one result. */
  readonly maxText: number
  /** The maximum of searches in one answer. Further ones are refused with a text for the model. */
  readonly searches: number
  readonly timeout: Duration.Input
  /** True: a model with a search of its own, by the catalogue, uses that instead of the host's engine. */
  readonly prefersModel: boolean
}

/** The settings of a host that changes none. */
export const defaultSearchSettings: SearchSettings = {
  results: 5,
  maxText: 1_500,
  searches: 8,
  timeout: "20 seconds",
  prefersModel: false
}

export const SearchSettings = Context.Reference<SearchSettings>("@colloquy/core/web-search/SearchSettings", {
  defaultValue: () => defaultSearchSettings
})
