/**
 * What a model call consumed. Used by the model port, by runs and by the ledger.
 *
 * `inputTokens` is all input, cached input included; `outputTokens` is all output, reasoning included. `estimated` is true if the kernel
 * counted at least one part, because the provider did not report it (an interrupted stream, a provider that reports nothing).
 */
import * as Schema from "effect/Schema"

export const Usage = Schema.Struct({
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  cachedInputTokens: Schema.Int,
  cacheWriteTokens: Schema.Int,
  reasoningTokens: Schema.Int,
  /** US dollars as the provider reported them; null if it did not. */
  costUsd: Schema.NullOr(Schema.Finite),
  estimated: Schema.Boolean
})
export type Usage = typeof Usage.Type

/** Zero tokens, and a cost that nobody told: what a step has that called no model. */
export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: null,
  estimated: false
}

/** Input and output tokens together. */
export const totalTokens = (usage: Usage): number => usage.inputTokens + usage.outputTokens

/** Whether both have the same numbers. */
export const isSameUsage = (a: Usage, b: Usage): boolean =>
  a.inputTokens === b.inputTokens &&
  a.outputTokens === b.outputTokens &&
  a.cachedInputTokens === b.cachedInputTokens &&
  a.cacheWriteTokens === b.cacheWriteTokens &&
  a.reasoningTokens === b.reasoningTokens &&
  a.costUsd === b.costUsd &&
  a.estimated === b.estimated

/** The sum of two usages. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  costUsd: a.costUsd === null ? b.costUsd : b.costUsd === null ? a.costUsd : a.costUsd + b.costUsd,
  estimated: a.estimated || b.estimated
})
