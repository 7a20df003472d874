/** `OwnerStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import { type Erasure, type ErasureId, OwnerStore } from "@colloquy/core/adapters"
import * as Option from "effect/Option"
import { isClaimed, isOrdered } from "./FollowUpStore.ts"
import { erasureInProgress, forgetAssistant, forgetThread, isActive, ownedStep, step, type State } from "./State.ts"

export const ownerStore = (state: State): typeof OwnerStore.Service => {
  const find = (ownerId: OwnerId, id: ErasureId) => {
    const row = state.erasures.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  return OwnerStore.of({
    beginErasure: (id, at) =>
      ownedStep((ownerId) => {
        const known = erasureInProgress(state, ownerId)
        if (known !== undefined) return known
        const erasure: Erasure = { id, status: "IN_PROGRESS", createdAt: at, endedAt: null }
        state.erasures.set(id, { ownerId, erasure })
        return erasure
      }),
    erasure: (id) => ownedStep((ownerId) => Option.fromNullishOr(find(ownerId, id)?.erasure)),
    endErasure: (id, status, at, keptKind) =>
      ownedStep((ownerId, now) => {
        const row = find(ownerId, id)
        if (
          status === "COMPLETED" &&
          Object.values(tableRows(state, ownerId, keptKind, now)).some(({ length }) => length > 0)
        )
          return false
        if (row?.erasure.status === "IN_PROGRESS") row.erasure = { ...row.erasure, status, endedAt: at }
        return true
      }),
    unattended: (kind, limit) =>
      step(() =>
        [...state.erasures.values()]
          .filter(
            ({ erasure, ownerId }) => erasure.status === "IN_PROGRESS" && !isOrdered(state, ownerId, kind, erasure.id)
          )
          .slice(0, limit)
      ),
    activeRuns: (limit) =>
      ownedStep((ownerId) =>
        [...state.runs.values()]
          .filter((row) => row.thread.ownerId === ownerId && isActive(row))
          .slice(0, limit)
          .map(({ run }) => ({ runId: run.id, threadId: run.threadId }))
      ),
    eraseSome: (limit, keptKind) =>
      ownedStep((ownerId, now) => {
        const [, rows] =
          Object.entries(tableRows(state, ownerId, keptKind, now, true)).find(([, found]) => found.length > 0) ?? []
        const some = (rows ?? []).slice(0, limit)
        for (const remove of some) remove()
        return some.length
      }),
    left: (keptKind) =>
      ownedStep((ownerId, now) =>
        Object.fromEntries(
          Object.entries(tableRows(state, ownerId, keptKind, now)).flatMap(([table, { length }]) =>
            length === 0 ? [] : [[table, length]]
          )
        )
      )
  })
}

/** What removes each row of the owner, by table, in the order of erasure. */
const tableRows = (
  state: State,
  ownerId: OwnerId,
  keptKind: string,
  now: number,
  /** Without follow-ups that are being worked on. */
  erasable = false
): { readonly [table: string]: ReadonlyArray<() => void> } => {
  const owned = <Key, Row>(
    rows: Map<Key, Row>,
    readOwner: (row: Row, key: Key) => unknown,
    remove?: (row: Row) => void
  ) =>
    [...rows].flatMap(([key, row]) =>
      readOwner(row, key) === ownerId ? [() => (remove === undefined ? void rows.delete(key) : remove(row))] : []
    )
  const prefix = `[${JSON.stringify(ownerId)},`
  const named = <Row>(rows: Map<string, Row>) => owned(rows, (_, key) => (key.startsWith(prefix) ? ownerId : null))
  const isOwn = (id: string) =>
    [...state.assistants.values()].some((row) => row.assistant.id === id && row.ownerId === ownerId)
  return {
    tickets: owned(state.tickets, (row) => row.ownerId),
    threads: owned(
      state.threads,
      (row) => row.ownerId,
      (row) => forgetThread(state, row, now)
    ),
    memories: owned(state.memories, (_, id) => (isOwn(id) ? ownerId : null)),
    memory_runs: owned(state.appliedRuns, (row) => row.ownerId),
    eval_online_scores: owned(state.onlineScores, (row) => row.ownerId),
    eval_feedback: owned(state.feedback, (row) => row.ownerId),
    eval_experiments: owned(state.experiments, (row) => row.ownerId),
    eval_cases: owned(state.evalCases, (row) => row.ownerId),
    schedules: owned(state.schedules, (row) => row.ownerId),
    webhook_deliveries: owned(state.deliveries, (row) => row.ownerId),
    webhooks: owned(state.webhooks, (row) => row.ownerId),
    answer_outcomes: owned(state.outcomes, (row) => row.ownerId),
    documents: owned(state.documents, (row) => row.ownerId),
    blobs: owned(state.blobs, (row) => row.ownerId),
    search_chunks: owned(state.chunks, (_, id) => id),
    assistants: owned(
      state.assistants,
      (row) => row.ownerId,
      (row) => forgetAssistant(state, row.assistant.id, now)
    ),
    idempotency_keys: named(state.repeated),
    deleted_runs: owned(state.deletedRuns, (row) => row.ownerId),
    owner_rates: named(state.rates),
    budget_holds: named(state.holds),
    run_followers: owned(state.followed, (_, id) => id),
    run_changes: state.runChanges
      .filter((change) => change.ownerId === ownerId)
      .map((change) => () => void state.runChanges.splice(state.runChanges.indexOf(change), 1)),
    follow_ups: owned(state.followUps, (row) =>
      row.followUp.kind === keptKind || (erasable && isClaimed(row, now)) ? null : row.followUp.ownerId
    ),
    provider_keys: named(state.sealedSecrets),
    keys: owned(state.keys, (row) => row.ownerId)
  }
}
