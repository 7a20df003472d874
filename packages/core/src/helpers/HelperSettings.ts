/** The settings of helpers that a host may change. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface HelperSettings {
  /** How long a turn waits for one answer of a helper. */
  readonly timeout: Duration.Input
}

export const HelperSettings = Context.Reference<HelperSettings>("@colloquy/core/helpers/HelperSettings", {
  defaultValue: () => ({ timeout: "10 minutes" })
})
