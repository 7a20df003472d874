/** What a host may set of the wing `memory`. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type { CompletionPolicy } from "../models/Completion.ts"

export interface MemorySettingsPort extends CompletionPolicy {
  /** Who extracts; null: the assistant's own model, or the host's default. */
  readonly extraction: { readonly provider: string; readonly model: string } | null
  /** How many memories a turn recalls, and in how many tokens. */
  readonly recalled: number
  readonly recalledTokens: number
  /** How many Memory Pro gives to the reranker, and how long that may take. */
  readonly reranked: number
  readonly rerankTimeout: Duration.Input
  /** Memories whose score is below this part of the best one's are not recalled. */
  readonly cut: number
  /** How many similar memories the extraction sees. */
  readonly compared: number
  /** How many messages before the turn it sees, to understand it. */
  readonly earlierMessages: number
}

export const defaultMemorySettings: MemorySettingsPort = {
  extraction: null,
  recalled: 8,
  recalledTokens: 1_200,
  reranked: 50,
  rerankTimeout: "3 seconds",
  cut: 0.35,
  compared: 20,
  earlierMessages: 6,
  retries: 2,
  longestRetryPause: "60 seconds",
  timeout: "1 minute"
}

export const MemorySettings = Context.Reference<MemorySettingsPort>("@colloquy/core/memory/MemorySettings", {
  defaultValue: () => defaultMemorySettings
})
