/** The operator's settings of retention, as the kernel's settings. */
import { defaultRetentionSettings, RetentionSettings } from "@colloquy/core/retention"
import * as Layer from "effect/Layer"
import type { Settings } from "./Settings.ts"

export const retentionOf = ({ retention }: Settings): Layer.Layer<never> =>
  Layer.succeed(RetentionSettings, Object.assign({}, defaultRetentionSettings, retention))
