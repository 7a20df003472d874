/**
 * The wing `summaries`: keeps a running summary of the messages that no longer fit into the window. Off until a host adds
 * `Summaries.layer()` over its kernel; `Colloquy.open` and the standalone server have it.
 */
import * as Layer from "effect/Layer"
import { wingLayers } from "../primitives/WingLayer.ts"
import { layerSummarizer } from "./Summarizer.ts"
import { layerSummaryPart } from "./SummaryPart.ts"
import { SummarySettings } from "./SummarySettings.ts"

export type { SummarySettingsPort } from "./SummarySettings.ts"

/** The part of turns, and the worker that writes the summaries. Over `Kernel.layer`: `Summaries.layer()`. */
export const Summaries = wingLayers(SummarySettings, Layer.mergeAll(layerSummaryPart, layerSummarizer), {
  positive: ["messageTokens", "summaryTokens", "timeout"],
  orNull: { writer: { provider: "a provider", model: "a model" } }
})
