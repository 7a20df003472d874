/** `QuotaStore` in memory, and the admission of runs. A minute of a rate begins with its first use. */
import type { AssistantId, OwnerId } from "@colloquy/core"
import {
  type AdmissionRequest,
  type Amount,
  assumedFor,
  type BudgetRequest,
  countedCost,
  grantBudget,
  QuotaStore,
  type Refusal,
  reservationWait,
  type UsedRate
} from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import { isActive, isInSession, type Minute, ownedStep, type RunRow, type State } from "./State.ts"

export const quotaStore = (state: State): typeof QuotaStore.Service =>
  QuotaStore.of({
    takeRequests: (perMinute, wanted) =>
      ownedStep((ownerId, now) => {
        const rate = currentMinute(state, ownerId, "requests", now)
        const taken = Math.max(Math.min(wanted, Math.ceil((Math.floor(perMinute) - rate.used) / 8)), 0)
        rate.used += taken
        return { taken, waitMillis: rate.endsAt - now }
      }),
    memories: ownedStep((ownerId) => countMemories(state, ownerId)),
    hold: (id, request, lifetime) =>
      ownedStep((ownerId, now) => {
        const name = JSON.stringify([ownerId, id])
        for (const [known, { endsAt }] of state.holds) if (known === name || endsAt <= now) state.holds.delete(known)
        const grant = granted(state, ownerId, request, activeRuns(state, ownerId), now)
        if ("limit" in grant) return { _tag: "OverLimit", refusal: grant } as const
        const endsAt = now + Duration.toMillis(lifetime)
        state.holds.set(name, { ownerId, assistantId: request.ofAssistant?.id ?? null, amount: grant, endsAt })
        return grant
      }),
    release: (id) => ownedStep((ownerId) => void state.holds.delete(JSON.stringify([ownerId, id]))),
    used: ({ assistantId, assumedPrices, day, requestsPerMinute, turnsPerMinute }) =>
      ownedStep((ownerId, now) => {
        const documents = [...state.documents.values()].filter((row) => row.ownerId === ownerId)
        const dayCharges = [...state.ledger.values()].filter(
          (row) =>
            row.ownerId === ownerId && row.date === day && (assistantId === null || row.assistantId === assistantId)
        )
        return {
          requests: usedRate(state, ownerId, "requests", requestsPerMinute, now),
          turns: usedRate(state, ownerId, "turns", turnsPerMinute, now),
          inputTokens: sum(dayCharges.map(({ usage }) => usage.inputTokens)),
          outputTokens: sum(dayCharges.map(({ usage }) => usage.outputTokens)),
          costUsd: sum(
            dayCharges.map(({ purpose, usage }) =>
              countedCost(usage, assumedFor(purpose, assumedPrices ?? freeOfCharge))
            )
          ),
          bytes: sum(documents.map(({ document }) => document.size)),
          documents: documents.length,
          memories: countMemories(state, ownerId),
          sessions: countSessions(state, ownerId, now)
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
  const rate = currentMinute(state, ownerId, "turns", now)
  if (turnsPerMinute !== null && rate.used >= turnsPerMinute)
    return { limit: "turnsPerMinute", left: 0, waitMillis: rate.endsAt - now }
  const active = activeRuns(state, ownerId)
  if (turnsAtOnce !== null && run.isThreadIdle && new Set(active.map(({ thread }) => thread)).size >= turnsAtOnce)
    return { limit: "turnsAtOnce", left: 0, waitMillis: reservationWait }
  const more = { tokens: run.historyTokens, usd: run.historyTokens * usdPerToken }
  const least = added(request.least, more)
  const answer = granted(state, ownerId, { ...request, least, wanted: added(request.wanted, more) }, active, now)
  if (!("limit" in answer) && turnsPerMinute !== null) rate.used++
  return answer
}

/** More for a run that is active already. */
export const reserveMore = (state: State, row: RunRow, request: BudgetRequest, now: number): Amount | Refusal => {
  const { ownerId } = row.thread
  const answer = granted(state, ownerId, request, activeRuns(state, ownerId), now)
  if (!("limit" in answer)) row.reserved = added(row.reserved ?? { tokens: 0, usd: 0 }, answer)
  return answer
}

export const countSessions = (state: State, ownerId: OwnerId, now: number): number =>
  [...state.threads.values()].filter((thread) => thread.ownerId === ownerId && isInSession(thread, now)).length

/** The memories of an owner with all assistants. */
export const countMemories = (state: State, ownerId: OwnerId): number =>
  sum(
    [...state.assistants.values()]
      .filter((row) => row.ownerId === ownerId)
      .map(({ assistant }) => state.memories.get(assistant.id)?.rows.size ?? 0)
  )

const spentOnDay = (
  state: State,
  ownerId: OwnerId,
  { assumedPrices, day }: BudgetRequest,
  of: AssistantId | null
): Amount =>
  [...state.ledger.values()]
    .filter((row) => row.ownerId === ownerId && row.date === day && (of === null || row.assistantId === of))
    .map(({ purpose, usage }) => ({
      tokens: usage.inputTokens + usage.outputTokens,
      usd: countedCost(usage, assumedFor(purpose, assumedPrices))
    }))
    .reduce(added, nothing)

/** The budget that is granted: the limit less the day's usage in the ledger, and less the reservations of active runs and other work. */
const granted = (
  state: State,
  ownerId: OwnerId,
  request: BudgetRequest,
  active: ReadonlyArray<RunRow>,
  now: number
): Amount | Refusal => {
  const holds = [...state.holds.values()].filter((hold) => hold.ownerId === ownerId && hold.endsAt > now)
  const amountTaken = (of: AssistantId | null) => ({
    used: spentOnDay(state, ownerId, request, of),
    reserved: [
      ...active
        .filter(({ thread }) => of === null || thread.thread.assistantId === of)
        .map((row) => row.reserved ?? nothing),
      ...holds.filter(({ assistantId }) => of === null || assistantId === of).map(({ amount }) => amount)
    ].reduce(added, nothing)
  })
  return grantBudget(request, amountTaken(null), request.ofAssistant && amountTaken(request.ofAssistant.id))
}

const freeOfCharge = { inputCostPerMillionTokens: 0, outputCostPerMillionTokens: 0, embeddingCostPerMillionTokens: 0 }

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
const currentMinute = (state: State, ownerId: OwnerId, name: RateName, now: number): Minute => {
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
