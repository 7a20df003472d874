/** `RunStore` in memory: writing under a lease, taking over, cancelling, reading and signals. Starting a run is in `RunStarts`. */
import type { OwnerId, Run } from "@colloquy/core"
import type { Lease, LogBatch, Settled, Settlement } from "@colloquy/core/adapters"
import { addUsage, canMove, isEnded, RunStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { branches } from "./Branches.ts"
import { storeFollowUps } from "./FollowUpStore.ts"
import { reserveMore } from "./QuotaStore.ts"
import { addResults, grant, prolong, runStarts, storePending } from "./RunStarts.ts"
import {
  closeWaiting,
  isActive,
  isExpired,
  leasedRun,
  move,
  ownedStep,
  appendToThread,
  record,
  findRun,
  signal,
  step,
  findThread,
  type RunRow,
  type State
} from "./State.ts"
import { addToLedger } from "./UsageLedger.ts"

export const runStore = (state: State): typeof RunStore.Service =>
  RunStore.of({ ...runStarts(state), ...branches(state), ...writes(state), ...leases(state), ...reads(state) })

const writes = (state: State): Pick<typeof RunStore.Service, "append" | "settle" | "requestCancel"> => ({
  append: (batches) =>
    step(() => ({ lost: batches.filter((batch) => !append(state, batch)).map(({ lease }) => lease.runId), later: [] })),

  settle: (lease, settlement) =>
    ownedStep((ownerId, now) => {
      const row = leasedRun(state, ownerId, lease)
      if (row === undefined) return chargeDeleted(state, ownerId, lease, settlement, now)
      if (!isActive(row)) return isRepeated(row.run, settlement)
      if (!canMove(row.run.status, settlement.status)) return false
      settle(state, row, settlement, now)
      return true
    }),

  requestCancel: (runId, at) =>
    ownedStep((ownerId, now) => {
      const row = findRun(state, ownerId, runId)
      if (row === undefined) return Option.none()
      const found = row.run.status
      if (found === "REQUIRES_ACTION") closeWaiting(state, row, now, at, { cancelRequested: true })
      else if (isActive(row)) {
        row.run = { ...row.run, cancelRequested: true }
        signal(state, row, true)
      }
      return Option.some(found)
    })
})

/** Returns false when the lease is lost. */
const append = (state: State, { events, lease }: LogBatch): boolean => {
  const row = leasedRun(state, lease.ownerId, lease)
  if (row?.run.status !== "IN_PROGRESS") return false
  record(row, events)
  signal(state, row)
  return true
}

const settle = (state: State, row: RunRow, settlement: Settlement, now: number): void => {
  const { answer, approved, events, explanation, fault, model, status } = settlement
  const modelCalls = row.run.modelCalls + settlement.modelCalls
  const firstTokenAt = row.run.firstTokenAt ?? settlement.firstTokenAt
  storePending(row, false)
  record(row, events)
  if (approved !== null) addResults(row, approved)
  appendToThread(row, answer)
  const usage = addUsage(row.run.usage, settlement.usage)
  const endedAt = isEnded(status) ? new Date(now) : null
  move(state, row, now, status, { usage, modelCalls, firstTokenAt, model, fault, explanation, endedAt })
  const { ownerId, thread } = row.thread
  const spentBy = { ownerId, assistantId: thread.assistantId }
  for (const charge of settlement.charges) addToLedger(state, spentBy, now, charge)
  storeFollowUps(state, ownerId, now, settlement.followUps)
  signal(state, row)
}

/** The settlement of a run that was deleted while it was active: only its charges are stored, and only once. */
const chargeDeleted = (state: State, ownerId: OwnerId, lease: Lease, { charges }: Settlement, now: number): Settled => {
  const deleted = state.deletedRuns.get(lease.runId)
  if (deleted?.ownerId !== ownerId || deleted.token !== lease.token) return false
  if (!deleted.isCharged) for (const charge of charges) addToLedger(state, deleted, now, charge)
  deleted.isCharged = true
  return "deleted"
}

/** Whether this settlement repeats one that was stored. The run may have been cancelled since. */
const isRepeated = (run: Run, { status }: Settlement): boolean =>
  run.status === status || (run.status === "CANCELLED" && status === "REQUIRES_ACTION")

const leases = (state: State): Pick<typeof RunStore.Service, "reserve" | "renew" | "expired" | "takeOver"> => ({
  reserve: (lease, request) =>
    ownedStep((ownerId, now) => {
      const row = leasedRun(state, ownerId, lease)
      if (row === undefined || !isActive(row)) return Option.none()
      const granted = reserveMore(state, row, request, now)
      return Option.some("limit" in granted ? { _tag: "OverLimit", refusal: granted } : granted)
    }),

  renew: (held, duration) =>
    step((now) => {
      const kept = held.flatMap((lease) => leasedRun(state, lease.ownerId, lease) ?? []).filter(isActive)
      for (const row of kept) prolong(row, now, duration)
      const keptIds = new Set(kept.map((row) => row.run.id))
      return {
        lost: held.map((lease) => lease.runId).filter((id) => !keptIds.has(id)),
        cancelRequested: kept.filter((row) => row.run.cancelRequested).map((row) => row.run.id)
      }
    }),

  expired: (limit) =>
    step((now) =>
      [...state.threads.values()]
        .flatMap(({ inProgress, queued }) => (inProgress === null ? queued : [inProgress, ...queued]))
        .filter((row) => isExpired(row, now))
        .slice(0, limit)
        .map((row) => ({ runId: row.run.id, ownerId: row.thread.ownerId }))
    ),

  takeOver: (runId, duration, { onlyExpired }) =>
    ownedStep((ownerId, now) => {
      const row = findRun(state, ownerId, runId)
      if (row === undefined || !isActive(row) || (onlyExpired && !isExpired(row, now))) return Option.none()
      return Option.some({ lease: grant(row, now, duration), run: row.run })
    })
})

/** Where a run stands among those of its thread. Queued runs stand behind every message that the thread may ever have. */
const positionInThread = ({ messages, pending }: RunRow): number =>
  pending === null ? (messages[0] ?? 0) : queuedFrom + pending.queuePosition

const queuedFrom = 2 ** 40

/** The largest number of events that one `read` returns. */
const readLimit = 1000

const reads = (
  state: State
): Pick<typeof RunStore.Service, "get" | "list" | "waiting" | "waitingOn" | "messages" | "read" | "onChange"> => ({
  get: (runId) => ownedStep((ownerId) => Option.fromNullishOr(findRun(state, ownerId, runId)?.run)),

  list: (threadId, { after = Number.POSITIVE_INFINITY, limit, status }) =>
    ownedStep((ownerId) => {
      const rows = [...(findThread(state, ownerId, threadId)?.runs ?? [])]
        .filter(({ run }) => status === undefined || run.status === status)
        .map((row) => ({ run: row.run, at: positionInThread(row) }))
        .filter(({ at }) => at < after)
        .toSorted((a, b) => b.at - a.at)
      const page = rows.slice(0, limit)
      return { runs: page.map(({ run }) => run), next: rows.length > limit ? (page.at(-1)?.at ?? null) : null }
    }),

  waiting: ({ after = Number.POSITIVE_INFINITY, limit }) =>
    ownedStep((ownerId) => {
      const rows = [...state.runs.values()]
        .filter(
          ({ ordinal, run, thread }) =>
            thread.ownerId === ownerId && run.status === "REQUIRES_ACTION" && ordinal < after
        )
        .toSorted((a, b) => b.ordinal - a.ordinal)
      const page = rows.slice(0, limit)
      return { runs: page.map(({ run }) => run), next: rows.length > limit ? (page.at(-1)?.ordinal ?? null) : null }
    }),

  waitingOn: (threadId) =>
    ownedStep((ownerId) => Option.fromNullishOr(findThread(state, ownerId, threadId)?.requiresAction?.run)),

  messages: (runId) =>
    ownedStep((ownerId) => {
      const row = findRun(state, ownerId, runId)
      return row === undefined ? [] : row.messages.flatMap((sequence) => row.thread.messages[sequence - 1] ?? [])
    }),

  read: (runId, after) =>
    ownedStep((ownerId) => {
      const log = findRun(state, ownerId, runId)?.log ?? []
      const from = log.findLastIndex((event) => event.sequence <= after) + 1
      return log.slice(from, from + readLimit)
    }),

  onChange: (listener) =>
    Effect.acquireRelease(
      Effect.sync(() => void state.listeners.add(listener)),
      () => Effect.sync(() => state.listeners.delete(listener))
    )
})
