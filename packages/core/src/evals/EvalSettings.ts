/** How a host changes the wing `evals`. */
import * as Context from "effect/Context"

export interface EvalSettings {
  /** How many cases one owner may have. */
  readonly mostCases: number
  /** The most messages before the question of a case. */
  readonly mostMessages: number
  /** The most UTF-16 units of a case as JSON. */
  readonly longestCase: number
}

export const EvalSettings = Context.Reference<EvalSettings>("@colloquy/core/evals/EvalSettings", {
  defaultValue: () => ({ mostCases: 10_000, mostMessages: 1000, longestCase: 2_000_000 })
})
