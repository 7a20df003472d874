/**
 * Counts the tokens of a text. The default needs no tokenizer and estimates too high rather than too low, so that prompts fit. A host with
 * a real tokenizer replaces it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { estimateTokens } from "./EstimateTokens.ts"

/** Replaces the estimate of tokens by a count of yours: `Layer.succeed(TokenCounter, { count })`. */
export interface TokenCounterPort {
  readonly count: (text: string) => number
}

export const TokenCounter = Context.Reference<TokenCounterPort>("@colloquy/core/models/TokenCounter", {
  defaultValue: () => ({ count: estimateTokens })
})

/** Rounds up to whole tokens: a host's counter may return fractions, but sizes are stored and summed as integers. */
export const inWholeTokens: Layer.Layer<never> = Layer.effect(
  TokenCounter,
  Effect.map(TokenCounter, ({ count }) => ({ count: (text) => Math.ceil(count(text)) }))
)
