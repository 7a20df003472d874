/** The settings of the wing `memory` that a host may change. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type { CompletionPolicy } from "../models/Completion.ts"

/** Which model extracts memories, and how many a turn recalls. */
export interface MemorySettingsPort extends CompletionPolicy {
  /** The model that extracts memories; null: the assistant's own model, or the host's default. */
  readonly extraction: { readonly provider: string; readonly model: string } | null
  /** The maximum of memories that a turn recalls, and of their tokens. */
  readonly recalled: number
  readonly recalledTokens: number
  /** The number of memories that Memory Pro gives to the reranker, and its time limit. */
  readonly reranked: number
  readonly rerankTimeout: Duration.Input
  /** Memories whose score is below this share of the best one's are not recalled. */
  readonly cut: number
  /** The number of similar memories that the extraction gets. */
  readonly compared: number
  /** The number of messages before the turn that it gets, to understand the turn. */
  readonly earlierMessages: number
}

/** What a host has that changes nothing. */
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
