/**
 * What a provider reports of an answer goes into records, sums and keys of an index, and a broken one reports anything. Names are cut and
 * figures are brought into their bounds here, before anything keeps them; what was changed is said in the log.
 */
import type { Usage } from "../primitives/Usage.ts"

/** Characters of a name: of a model, a provider, a tool. */
export const longestName = 255
/** Characters of an id. */
export const longestId = 128
/** More tokens than any step has, and few enough to be added up for years. */
const mostTokens = 1e12
const mostDollars = 1e9

/** Not cut inside a character: half of one could not be stored. */
export const cutTo = (text: string, length: number): string => {
  if (text.length <= length) return text
  const cut = text.slice(0, length)
  return /[\uD800-\uDBFF]$/u.test(cut) ? cut.slice(0, -1) : cut
}

/** Whole, and within bounds; what is no number counts nothing. */
export const tokensIn = (reported: number): number =>
  Number.isNaN(reported) ? 0 : Math.min(mostTokens, Math.max(0, Math.round(reported)))

/** Figures that had to be changed count as estimated: they are not the provider's any more. */
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
  return isEqual(usage, reported) ? reported : { ...usage, estimated: true }
}

const dollarsIn = (reported: number | null): number | null =>
  reported !== null && reported >= 0 && reported <= mostDollars ? reported : null

const isEqual = (a: Usage, b: Usage): boolean =>
  a.inputTokens === b.inputTokens &&
  a.outputTokens === b.outputTokens &&
  a.cachedInputTokens === b.cachedInputTokens &&
  a.cacheWriteTokens === b.cacheWriteTokens &&
  a.reasoningTokens === b.reasoningTokens &&
  a.costUsd === b.costUsd
