/**
 * Bounds for what a provider reports of an answer. Such names and figures go into records, sums and index keys, and a faulty provider may
 * report anything. Names are cut and figures are limited here, before they are stored; a change is logged.
 */
import type { Charge } from "../metering/Charge.ts"
import { isSameUsage, type Usage } from "../primitives/Usage.ts"

/** Characters of a name: of a model, a provider, a tool. */
export const longestName = 255
/** Characters of an id. */
export const longestId = 128
/** More tokens than any step has, and small enough to be summed for years. */
const mostTokens = 1e12
const mostDollars = 1e9

/** Cuts a text, but never inside of a character: half a character cannot be stored. */
export const cutTo = (text: string, length: number): string => {
  if (text.length <= length) return text
  const cut = text.slice(0, length)
  return /[\uD800-\uDBFF]$/u.test(cut) ? cut.slice(0, -1) : cut
}

/** A whole number within bounds; NaN counts as 0. */
export const tokensIn = (reported: number): number =>
  Number.isNaN(reported) ? 0 : Math.min(mostTokens, Math.max(0, Math.round(reported)))

/** Figures that had to be changed count as estimated, because they are no longer the provider's. */
export const usageWithinBounds = (reported: Usage): Usage => {
  const usage: Usage = {
    inputTokens: tokensIn(reported.inputTokens),
    outputTokens: tokensIn(reported.outputTokens),
    cachedInputTokens: tokensIn(reported.cachedInputTokens),
    cacheWriteTokens: tokensIn(reported.cacheWriteTokens),
    reasoningTokens: tokensIn(reported.reasoningTokens),
    costUsd: dollarsIn(reported.costUsd),
    estimated: reported.estimated
  }
  return isSameUsage(usage, reported) ? reported : { ...usage, estimated: true }
}

/** The charges of a part go into sums and into keys of an index, as a provider's figures do, so they get the same bounds. */
export const chargeWithinBounds = (charge: Charge): Charge => ({
  provider: cutTo(charge.provider, longestName),
  model: cutTo(charge.model, longestName),
  purpose: cutTo(charge.purpose, longestName),
  usage: usageWithinBounds(charge.usage)
})

const dollarsIn = (reported: number | null): number | null =>
  reported !== null && reported >= 0 && reported <= mostDollars ? reported : null
