/** `QuotaStore` in memory, and the admission of runs. A rate is one number: the time at which all of it is free again. */
import type { OwnerId } from "@colloquy/core"
import {
  type AdmissionRequest,
  type Amount,
  type BudgetRequest,
  grantOf,
  QuotaStore,
  type Refusal,
  reservationWait,
  type UsedRate
} from "@colloquy/core/adapters"
import { isActive, isInSession, ownedStep, type RunRow, type State } from "./State.ts"

export const quotaStore = (state: State): typeof QuotaStore.Service =>
  QuotaStore.of({
    takeRequests: (perMinute, wanted) =>
      ownedStep((ownerId, now) => {
        const { free, waitMillis } = freeOf(state, ownerId, "requests", perMinute, now)
        const taken = Math.min(wanted, Math.ceil(free / 8))
        if (taken > 0) take(state, ownerId, "requests", { perMinute, taken, now })
        return { taken, waitMillis }
      }),
    used: ({ day, requestsPerMinute, turnsPerMinute }) =>
      ownedStep((ownerId, now) => {
        const documents = [...state.documents.values()].filter((row) => row.ownerId === ownerId)
        const ofDay = [...state.ledger.values()].filter((row) => row.ownerId === ownerId && row.date === day)
        const assistants = [...state.assistants.values()].filter((row) => row.ownerId === ownerId)
        return {
          requests: usedRate(state, ownerId, "requests", requestsPerMinute, now),
          turns: usedRate(state, ownerId, "turns", turnsPerMinute, now),
          inputTokens: sum(ofDay.map(({ usage }) => usage.inputTokens)),
          outputTokens: sum(ofDay.map(({ usage }) => usage.outputTokens)),
          costUsd: sum(ofDay.map(({ usage }) => usage.costUsd ?? 0)),
          bytes: sum(documents.map(({ document }) => document.size)),
          documents: documents.length,
          memories: sum(assistants.map(({ assistant }) => state.memories.get(assistant.id)?.rows.size ?? 0)),
          sessions: sessionsOf(state, ownerId, now)
        }
      })
  })

/** What the run has reserved, or why it is refused. A refused run has counted nothing. */
export const admit = (
  state: State,
  ownerId: OwnerId,
  request: AdmissionRequest,
  run: { readonly isThreadIdle: boolean; readonly historyTokens: number },
  now: number
): Amount | Refusal => {
  const { turnsAtOnce, turnsPerMinute, usdPerToken } = request
  if (turnsPerMinute !== null) {
    const { free, waitMillis } = freeOf(state, ownerId, "turns", turnsPerMinute, now)
    if (free < 1) return { limit: "turnsPerMinute", left: 0, waitMillis }
  }
  const active = activeRuns(state, ownerId)
  if (turnsAtOnce !== null && run.isThreadIdle && new Set(active.map(({ thread }) => thread)).size >= turnsAtOnce)
    return { limit: "turnsAtOnce", left: 0, waitMillis: reservationWait }
  const more = { tokens: run.historyTokens, usd: run.historyTokens * usdPerToken }
  const least = added(request.least, more)
  const granted = grantOf(
    { ...request, least, wanted: added(request.wanted, more) },
    ...takenOf(state, ownerId, request, active)
  )
  if (!("limit" in granted) && turnsPerMinute !== null)
    take(state, ownerId, "turns", { perMinute: turnsPerMinute, taken: 1, now })
  return granted
}

/** More for a run that is active already. */
export const reserveMore = (state: State, row: RunRow, request: BudgetRequest): Amount | Refusal => {
  const { ownerId } = row.thread
  const granted = grantOf(request, ...takenOf(state, ownerId, request, activeRuns(state, ownerId)))
  if (!("limit" in granted)) row.reserved = added(row.reserved ?? { tokens: 0, usd: 0 }, granted)
  return granted
}

export const sessionsOf = (state: State, ownerId: OwnerId, now: number): number =>
  [...state.threads.values()].filter((thread) => thread.ownerId === ownerId && isInSession(thread, now)).length

/** What the ledger has of the day, and what active runs have reserved. */
const takenOf = (
  state: State,
  ownerId: OwnerId,
  { day }: BudgetRequest,
  active: ReadonlyArray<RunRow>
): [used: Amount, reserved: Amount] => {
  const ofDay = [...state.ledger.values()].filter((row) => row.ownerId === ownerId && row.date === day)
  const used = ofDay.map(({ usage }) => ({ tokens: usage.inputTokens + usage.outputTokens, usd: usage.costUsd ?? 0 }))
  return [used.reduce(added, nothing), active.map(({ reserved }) => reserved ?? nothing).reduce(added, nothing)]
}

const nothing: Amount = { tokens: 0, usd: 0 }

const added = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, usd: a.usd + b.usd })

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)

const activeRuns = (state: State, ownerId: OwnerId): ReadonlyArray<RunRow> =>
  [...state.threads.values()]
    .filter((thread) => thread.ownerId === ownerId)
    .flatMap(({ inProgress, queued }) => (inProgress === null ? queued : [inProgress, ...queued]))
    .filter((row) => row.reserved !== null && isActive(row))

type RateName = "requests" | "turns"

const minute = 60_000

const rateKey = (ownerId: OwnerId, name: RateName): string => JSON.stringify([ownerId, name])

const freeOf = (state: State, ownerId: OwnerId, name: RateName, perMinute: number, now: number) => {
  const freeAt = Math.max(state.rates.get(rateKey(ownerId, name)) ?? now, now)
  const interval = minute / perMinute
  const waitMillis = Math.max(Math.ceil(freeAt + interval - minute - now), 0)
  return { free: waitMillis > 0 ? 0 : Math.floor((minute - (freeAt - now)) / interval + 1e-9), waitMillis }
}

const take = (
  state: State,
  ownerId: OwnerId,
  name: RateName,
  { now, perMinute, taken }: { readonly perMinute: number; readonly taken: number; readonly now: number }
): void => {
  const key = rateKey(ownerId, name)
  state.rates.set(key, Math.max(state.rates.get(key) ?? now, now) + (taken * minute) / perMinute)
}

const usedRate = (state: State, ownerId: OwnerId, name: RateName, perMinute: number | null, now: number): UsedRate => {
  const freeInMillis = Math.max((state.rates.get(rateKey(ownerId, name)) ?? now) - now, 0)
  return {
    used: perMinute === null ? 0 : Math.max(Math.ceil((freeInMillis * perMinute) / minute - 1e-9), 0),
    freeInMillis
  }
}
