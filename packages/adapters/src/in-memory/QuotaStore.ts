/** `QuotaStore` in memory, and the admission of runs. A minute of a rate begins with its first use. */
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
import { isActive, isInSession, type Minute, ownedStep, type RunRow, type State } from "./State.ts"

export const quotaStore = (state: State): typeof QuotaStore.Service =>
  QuotaStore.of({
    takeRequests: (perMinute, wanted) =>
      ownedStep((ownerId, now) => {
        const rate = minuteOf(state, ownerId, "requests", now)
        const taken = Math.max(Math.min(wanted, Math.ceil((perMinute - rate.used) / 8)), 0)
        rate.used += taken
        return { taken, waitMillis: rate.endsAt - now }
      }),
    memories: ownedStep((ownerId) => memoriesOf(state, ownerId)),
    used: ({ day, requestsPerMinute, turnsPerMinute }) =>
      ownedStep((ownerId, now) => {
        const documents = [...state.documents.values()].filter((row) => row.ownerId === ownerId)
        const ofDay = [...state.ledger.values()].filter((row) => row.ownerId === ownerId && row.date === day)
        return {
          requests: usedRate(state, ownerId, "requests", requestsPerMinute, now),
          turns: usedRate(state, ownerId, "turns", turnsPerMinute, now),
          inputTokens: sum(ofDay.map(({ usage }) => usage.inputTokens)),
          outputTokens: sum(ofDay.map(({ usage }) => usage.outputTokens)),
          costUsd: sum(ofDay.map(({ usage }) => usage.costUsd ?? 0)),
          bytes: sum(documents.map(({ document }) => document.size)),
          documents: documents.length,
          memories: memoriesOf(state, ownerId),
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
  const rate = minuteOf(state, ownerId, "turns", now)
  if (turnsPerMinute !== null && rate.used >= turnsPerMinute)
    return { limit: "turnsPerMinute", left: 0, waitMillis: rate.endsAt - now }
  const active = activeRuns(state, ownerId)
  if (turnsAtOnce !== null && run.isThreadIdle && new Set(active.map(({ thread }) => thread)).size >= turnsAtOnce)
    return { limit: "turnsAtOnce", left: 0, waitMillis: reservationWait }
  const more = { tokens: run.historyTokens, usd: run.historyTokens * usdPerToken }
  const least = added(request.least, more)
  const granted = grantOf(
    { ...request, least, wanted: added(request.wanted, more) },
    ...takenOf(state, ownerId, request, active)
  )
  if (!("limit" in granted) && turnsPerMinute !== null) rate.used++
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

/** The memories of an owner with all assistants. */
export const memoriesOf = (state: State, ownerId: OwnerId): number =>
  sum(
    [...state.assistants.values()]
      .filter((row) => row.ownerId === ownerId)
      .map(({ assistant }) => state.memories.get(assistant.id)?.rows.size ?? 0)
  )

const spentOf = (state: State, ownerId: OwnerId, day: string): Amount =>
  [...state.ledger.values()]
    .filter((row) => row.ownerId === ownerId && row.date === day)
    .map(({ usage }) => ({ tokens: usage.inputTokens + usage.outputTokens, usd: usage.costUsd ?? 0 }))
    .reduce(added, nothing)

/** What the ledger has of the day, and what active runs have reserved. */
const takenOf = (
  state: State,
  ownerId: OwnerId,
  { day }: BudgetRequest,
  active: ReadonlyArray<RunRow>
): [used: Amount, reserved: Amount] => {
  return [spentOf(state, ownerId, day), active.map(({ reserved }) => reserved ?? nothing).reduce(added, nothing)]
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

/** The current minute of a rate; it begins with its first use. */
const minuteOf = (state: State, ownerId: OwnerId, name: RateName, now: number): Minute => {
  const key = rateKey(ownerId, name)
  const known = state.rates.get(key)
  if (known !== undefined && known.endsAt > now) return known
  const begun = { used: 0, endsAt: now + minute }
  state.rates.set(key, begun)
  return begun
}

const usedRate = (state: State, ownerId: OwnerId, name: RateName, perMinute: number | null, now: number): UsedRate => {
  const known = state.rates.get(rateKey(ownerId, name))
  if (perMinute === null || known === undefined || known.endsAt <= now) return { used: 0, freeInMillis: 0 }
  return { used: known.used, freeInMillis: known.endsAt - now }
}
