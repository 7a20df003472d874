/** How a host changes the wing `evals`. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type { OnlineSettings } from "./OnlineScore.ts"
import type { ScoringSettings } from "./Scoring.ts"

export interface EvalSettings {
  /** How many cases one owner may have. */
  readonly mostCases: number
  /** The most messages before the question of a case. */
  readonly mostMessages: number
  /** The most UTF-16 units of a case as JSON. */
  readonly longestCase: number
  /** How many experiments one owner may have. */
  readonly mostExperiments: number
  /** The most attempts of an experiment: cases × variants × repeats. */
  readonly mostAttempts: number
  /** How often an attempt is made whose answer failed for a reason that passes, such as a provider that is busy. */
  readonly tries: number
  /** How often an attempt looks whether its experiment was cancelled. */
  readonly poll: Duration.Input
  /** Who judges, who embeds, and the host's own scorers. */
  readonly scoring: ScoringSettings
  /** Turns that are scored when they have ended. Default: none. */
  readonly online: OnlineSettings
}

export const EvalSettings = Context.Reference<EvalSettings>("@colloquy/core/evals/EvalSettings", {
  defaultValue: () => ({
    mostCases: 10_000,
    mostMessages: 1000,
    longestCase: 2_000_000,
    mostExperiments: 1000,
    mostAttempts: 20_000,
    tries: 3,
    poll: "1 second",
    scoring: {},
    online: { share: 0, expectations: [] }
  })
})
