/**
 * Deletes records that are needed for a limited time only, as `RetentionSettings` says, in small steps with pauses, so that no turn waits
 * for it. A host adds `Retention.layer()` over its kernel. One process is enough, and several do not disturb each other. `pruneOnce` does the
 * same once, for a command.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SettingRules } from "../primitives/Settings.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { FollowUpStore } from "../runs/FollowUpStore.ts"
import { RetentionSettings } from "./RetentionSettings.ts"
import { type Prunable, RetentionStore } from "./RetentionStore.ts"

/** The number of deleted records; for `logs`, the number of runs whose logs were deleted. */
export type Pruned = { readonly [Kind in Prunable | "followUps"]: number }

/** Repeats of a request or a settlement are recognised for a day, so their records must live that long. */
const leastAge = Duration.days(1)

const kinds = [
  "logs",
  "idempotencyKeys",
  "deletedRuns",
  "chargeReceipts",
  "deadFollowUps",
  "learnedRuns",
  "followUps"
] as const

/** Settings that would break a promise are refused. */
export const retentionRules: SettingRules<RetentionSettings> = {
  positive: ["every", "batch"],
  orNull: Object.fromEntries(kinds.map((kind) => [kind, leastAge])),
  problems: (settings) =>
    kinds.flatMap((kind) => {
      const age = settings[kind]
      return age === null || Duration.isGreaterThanOrEqualTo(Duration.fromInputUnsafe(age), leastAge)
        ? []
        : [`\`${kind}\` must be a day at least, or null.`]
    })
}

/** Deletes everything that is old enough, and returns the numbers. */
export const pruneOnce: Effect.Effect<Pruned, StoreUnavailable, RetentionStore | FollowUpStore> = tracedFn(
  "Retention.prune"
)(function* () {
  const settings = yield* RetentionSettings
  const store = yield* RetentionStore
  const followUps = yield* FollowUpStore
  const now = yield* Clock.currentTimeMillis

  const pruneAll = Effect.fnUntraced(function* (kind: (typeof kinds)[number]) {
    const age = settings[kind]
    if (age === null) return 0
    const before = new Date(now - Duration.toMillis(age))
    let count = 0
    while (true) {
      const step =
        kind === "followUps" ? followUps.prune(before, settings.batch) : store.prune(kind, before, settings.batch)
      const pruned = yield* step
      count += pruned
      if (pruned < settings.batch) return count
      yield* Effect.sleep(settings.pause)
    }
  })

  return {
    logs: yield* pruneAll("logs"),
    idempotencyKeys: yield* pruneAll("idempotencyKeys"),
    deletedRuns: yield* pruneAll("deletedRuns"),
    chargeReceipts: yield* pruneAll("chargeReceipts"),
    followUps: yield* pruneAll("followUps"),
    deadFollowUps: yield* pruneAll("deadFollowUps"),
    learnedRuns: yield* pruneAll("learnedRuns")
  }
})()

/** As a sentence for a log or a terminal. */
export const describePruned = (pruned: Pruned): string => {
  const names: { readonly [Kind in keyof Pruned]: string } = {
    logs: "logs of runs",
    idempotencyKeys: "idempotency keys",
    deletedRuns: "notes of deleted runs",
    chargeReceipts: "receipts of charges",
    learnedRuns: "records of what runs had changed in memories",
    followUps: "follow-ups that were done",
    deadFollowUps: "follow-ups that had failed"
  }
  const counts = kinds.filter((kind) => pruned[kind] > 0).map((kind) => `${pruned[kind]} ${names[kind]}`)
  return counts.length === 0 ? "Nothing was old enough to be deleted." : `Deleted by age: ${counts.join(", ")}.`
}

const isSomething = (pruned: Pruned): boolean => kinds.some((kind) => pruned[kind] > 0)

/** Repeats `pruneOnce` as often as the settings say, while the layer is open. If the store is unavailable, the next round tries again. */
export const layerRetention: Layer.Layer<never, never, RetentionStore | FollowUpStore> = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* RetentionSettings
    yield* pruneOnce.pipe(
      Effect.tap((pruned) => (isSomething(pruned) ? Effect.logInfo(describePruned(pruned)) : Effect.void)),
      Effect.catchCause((cause) =>
        Effect.logWarning("Old records could not be deleted; the next round tries again", cause)
      ),
      Effect.delay(settings.every),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
