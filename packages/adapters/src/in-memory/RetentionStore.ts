/** `RetentionStore` in memory. The maps keep the order in which rows were stored. */
import { type Prunable, RetentionStore } from "@colloquy/core/wings"
import { type State, step } from "./State.ts"

export const retentionStore = (state: State): typeof RetentionStore.Service =>
  RetentionStore.of({
    prune: (what, before, limit) =>
      step(() => {
        const old = removals[what](state, before.getTime()).slice(0, limit)
        for (const remove of old) remove()
        return old.length
      })
  })

/** For each row that is old enough, a function that removes it. */
const removals: {
  readonly [What in Prunable]: (state: State, before: number) => ReadonlyArray<() => void>
} = {
  logs: ({ runs }, before) =>
    [...runs.values()].flatMap((row) => {
      const { endedAt } = row.run
      if (row.isLogDeleted || endedAt === null || endedAt.getTime() >= before) return []
      return [
        () => {
          row.log.length = 0
          row.isLogDeleted = true
        }
      ]
    }),
  idempotencyKeys: ({ repeated }, before) =>
    [...repeated].flatMap(([key, { at }]) => (at < before ? [() => void repeated.delete(key)] : [])),
  deletedRuns: ({ deletedRuns }, before) =>
    [...deletedRuns].flatMap(([id, { at }]) => (at < before ? [() => void deletedRuns.delete(id)] : [])),
  chargeReceipts: ({ charges }, before) =>
    [...charges].flatMap(([name, { at, begun }]) =>
      at < before && begun === null ? [() => void charges.delete(name)] : []
    ),
  learnedRuns: ({ appliedRuns }, before) =>
    [...appliedRuns].flatMap(([id, { appliedAt }]) =>
      appliedAt.getTime() < before ? [() => void appliedRuns.delete(id)] : []
    ),
  deadFollowUps: ({ followUps }, before) =>
    [...followUps].flatMap(([id, { followUp }]) =>
      followUp.status === "dead" && followUp.endedAt !== null && followUp.endedAt.getTime() < before
        ? [() => void followUps.delete(id)]
        : []
    )
}
