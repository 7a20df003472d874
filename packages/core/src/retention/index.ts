/** The wing `retention`: deletes records that are needed for a limited time only. `docs/operations.md` says what is lost by that. */
export { describePruned, layerRetention, type Pruned, pruneOnce } from "./Retention.ts"
export { defaultRetentionSettings, RetentionSettings } from "./RetentionSettings.ts"
export { type Prunable, RetentionStore } from "./RetentionStore.ts"
