/** The wing `retention`: deletes what only serves for a while. `docs/operations.md` tells what is lost by it. */
export { describePruned, layerRetention, type Pruned, pruneOnce } from "./Retention.ts"
export { defaultRetentionSettings, RetentionSettings } from "./RetentionSettings.ts"
export { type Prunable, RetentionStore } from "./RetentionStore.ts"
