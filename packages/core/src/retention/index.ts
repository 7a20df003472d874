/** The wing `retention`: deletes records that are needed for a limited time only. `docs/operations.md` says what is lost by that. */
import * as Effect from "effect/Effect"
import { type DeepPartial, readSettings } from "../primitives/Settings.ts"
import { wingLayers } from "../primitives/WingLayer.ts"
import { layerRetention, pruneOnce, retentionRules } from "./Retention.ts"
import { defaultRetentionSettings, RetentionSettings } from "./RetentionSettings.ts"

export { describePruned, type Pruned } from "./Retention.ts"
export { defaultRetentionSettings, type RetentionSettings } from "./RetentionSettings.ts"
export { type Prunable, RetentionStore } from "./RetentionStore.ts"

/** Over the kernel and its stores: `Retention.layer({ logs: "30 days" })`. `prune` does the same once, for a command. */
export const Retention = {
  ...wingLayers(RetentionSettings, layerRetention, retentionRules),
  prune: (settings?: DeepPartial<RetentionSettings>) =>
    Effect.flatMap(readSettings("retention", defaultRetentionSettings, settings, retentionRules), (read) =>
      Effect.provideService(pruneOnce, RetentionSettings, read)
    )
}
