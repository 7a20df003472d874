/** What a host may set of the wing `summaries`. */
import * as Context from "effect/Context"
import type { CompletionPolicy } from "../models/Completion.ts"

export interface SummarySettingsPort extends CompletionPolicy {
  /** Who writes the summaries; null: the model of the turn that lost sight of its oldest messages. */
  readonly writer: { readonly provider: string; readonly model: string } | null
  /** How many tokens of messages one question holds; more of them take several questions. */
  readonly messageTokens: number
  /** How long a summary may be. A longer text is cut at the end. */
  readonly summaryTokens: number
}

export const SummarySettings = Context.Reference<SummarySettingsPort>("@colloquy/core/summaries/SummarySettings", {
  defaultValue: () => ({
    writer: null,
    messageTokens: 4_000,
    summaryTokens: 600,
    retries: 2,
    longestRetryPause: "60 seconds",
    timeout: "1 minute"
  })
})
