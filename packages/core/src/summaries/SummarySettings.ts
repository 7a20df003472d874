/** The settings of the wing `summaries` that a host may change. */
import * as Context from "effect/Context"
import type { CompletionPolicy } from "../models/Completion.ts"

/** Which model writes summaries of threads, and how long they are. */
export interface SummarySettingsPort extends CompletionPolicy {
  /** The model that writes the summaries; null: the model of the turn whose prompt left out the oldest messages. */
  readonly writer: { readonly provider: string; readonly model: string } | null
  /** The maximum of message tokens in one question; more messages take several questions. */
  readonly messageTokens: number
  /** The maximum length of a summary. A longer text is cut at the end. */
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
