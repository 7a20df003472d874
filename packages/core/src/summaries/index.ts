/** The wing `summaries`: what falls out of the window stays as a running summary. Off until a host adds `layerSummaries` over its kernel. */
import * as Layer from "effect/Layer"
import { layerSummarizer } from "./Summarizer.ts"
import { layerSummaryPart } from "./SummaryPart.ts"

export { SummarySettings, type SummarySettingsPort } from "./SummarySettings.ts"

/** The part of turns, and the worker that writes. */
export const layerSummaries = Layer.mergeAll(layerSummaryPart, layerSummarizer)
