/**
 * The wing `summaries`: keeps a running summary of the messages that no longer fit into the window. Off until a host adds `layerSummaries`
 * over its kernel.
 */
import * as Layer from "effect/Layer"
import { layerSummarizer } from "./Summarizer.ts"
import { layerSummaryPart } from "./SummaryPart.ts"

export { SummarySettings, type SummarySettingsPort } from "./SummarySettings.ts"

/** The part of turns, and the worker that writes the summaries. */
export const layerSummaries = Layer.mergeAll(layerSummaryPart, layerSummarizer)
