/** The parts of a prompt with their tokens, and what was left out and why. Stored with the run, for hosts and for the page. */
import * as Schema from "effect/Schema"

/** How full the model's window was for the last prompt of a leg. */
export interface ContextUsage {
  readonly model: string
  readonly usedTokens: number
  readonly contextLimit: number | null
  readonly percent: number | null
  readonly summaryTokens: number
}

/** The part whose tokens are counted as the summary's. */
export const summaryName = "summary"

export const Explanation = Schema.Struct({
  model: Schema.String,
  contextLimit: Schema.NullOr(Schema.Int),
  /** Tokens reserved for the answer. */
  reservedForAnswer: Schema.Int,
  usedTokens: Schema.Int,
  /** `system`, `tools`, `history`, `turn`, and each recalled part under its own name. */
  parts: Schema.Array(Schema.Struct({ part: Schema.String, tokens: Schema.Int, messages: Schema.Int })),
  leftOut: Schema.Array(
    Schema.Struct({ part: Schema.String, messages: Schema.Int, tokens: Schema.Int, because: Schema.String })
  )
})
export type Explanation = typeof Explanation.Type

/** How many of the oldest messages the prompt left out. */
export const historyLeftOut = (explanation: Explanation | null): number =>
  explanation?.leftOut.find(({ part }) => part === "history")?.messages ?? 0

export const summarizeUsage = (explanation: Explanation): ContextUsage => ({
  model: explanation.model,
  usedTokens: explanation.usedTokens,
  contextLimit: explanation.contextLimit,
  percent:
    explanation.contextLimit === null
      ? null
      : Math.round((explanation.usedTokens / explanation.contextLimit) * 1000) / 10,
  summaryTokens: explanation.parts.find(({ part }) => part === summaryName)?.tokens ?? 0
})
