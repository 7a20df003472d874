/**
 * What a run reserves of its owner's limits: its place among the turns, and tokens and dollars of the day. A store reserves in the step
 * that puts the run in progress, and releases in the step that settles, withdraws or deletes it; so a reservation ends with the lease of
 * its run, also when the process dies. What was really used is in the ledger.
 */
import type { Quota, Refusal } from "./Quota.ts"

/** The prices of a model, in US dollars; null: not known. */
export interface Prices {
  readonly inputCostPerMillionTokens: number | null
  readonly outputCostPerMillionTokens: number | null
}

export interface Amount {
  readonly tokens: number
  readonly usd: number
}

/** What a store needs to reserve a part of the day's budget. */
export interface BudgetRequest {
  readonly tokensPerDay: number | null
  readonly usdPerDay: number | null
  /** With less than this, the store MUST refuse. */
  readonly least: Amount
  /** With less than this, but enough for `least`, the store MUST reserve what is left. */
  readonly wanted: Amount
  /** The UTC day of the ledger, `2026-01-31`. */
  readonly day: string
  /** Milliseconds until that day ends. */
  readonly restOfDay: number
}

/** What a store checks before it puts a run in progress. */
export interface AdmissionRequest extends BudgetRequest {
  /** Null: no limit, or the run has been counted already. */
  readonly turnsPerMinute: number | null
  readonly turnsAtOnce: number | null
  /** What each token of history adds to `least.usd` and `wanted.usd`. To the tokens it adds itself. */
  readonly usdPerToken: number
}

/** What an answer usually needs. A longer one reserves more while it is spoken, so much each time. */
const usualAnswer = 2000
export const moreForAnswer = 4000

const dayMillis = 86_400_000

/** Tokens, and their price as far as the model's is known. */
const amountOf = (tokensIn: number, tokensOut: number, prices: Prices): Amount => ({
  tokens: tokensIn + tokensOut,
  usd: (tokensIn * (prices.inputCostPerMillionTokens ?? 0) + tokensOut * (prices.outputCostPerMillionTokens ?? 0)) / 1e6
})

/** What `more` tokens of an answer cost, as far as the model's price is known. */
export const answerAmount = (more: number, prices: Prices): Amount => amountOf(0, more, prices)

export const budgetRequest = (
  { tokensPerDay, usdPerDay }: Quota,
  least: Amount,
  wanted: Amount,
  now: number
): BudgetRequest => ({
  tokensPerDay,
  usdPerDay,
  least,
  wanted,
  day: new Date(now).toISOString().slice(0, 10),
  restOfDay: dayMillis - (now % dayMillis)
})

/** Null: the owner has no limit that concerns turns, and the store has nothing to do. */
export const admissionRequest = (
  quota: Quota,
  turn: { readonly isNew: boolean; readonly promptTokens: number; readonly prices: Prices },
  now: number
): AdmissionRequest | null => {
  const turnsPerMinute = turn.isNew ? quota.turnsPerMinute : null
  const { turnsAtOnce } = quota
  if ((turnsPerMinute ?? turnsAtOnce ?? quota.tokensPerDay ?? quota.usdPerDay) === null) return null
  const least = amountOf(turn.promptTokens, 1, turn.prices)
  const wanted = amountOf(turn.promptTokens, usualAnswer, turn.prices)
  const usdPerToken = amountOf(1, 0, turn.prices).usd
  return { ...budgetRequest(quota, least, wanted, now), turnsPerMinute, turnsAtOnce, usdPerToken }
}

/** Pure, for stores that compute in the process: what is granted when `taken` of the day is used or reserved already. */
export const grantOf = (
  { least, restOfDay, tokensPerDay, usdPerDay, wanted }: BudgetRequest,
  used: Amount,
  reserved: Amount
): Amount | Refusal => {
  const left = {
    tokens: (tokensPerDay ?? Number.POSITIVE_INFINITY) - used.tokens - reserved.tokens,
    usd: (usdPerDay ?? Number.POSITIVE_INFINITY) - used.usd - reserved.usd
  }
  if (left.tokens < least.tokens) {
    const waitMillis = left.tokens + reserved.tokens < least.tokens ? restOfDay : reservationWait
    return { limit: "tokensPerDay", left: Math.max(left.tokens, 0), waitMillis }
  }
  if (left.usd < least.usd || left.usd <= 0) {
    const room = left.usd + reserved.usd
    return {
      limit: "usdPerDay",
      left: Math.max(left.usd, 0),
      waitMillis: room < least.usd || room <= 0 ? restOfDay : reservationWait
    }
  }
  return { tokens: Math.min(wanted.tokens, left.tokens), usd: Math.min(wanted.usd, left.usd) }
}

/** After this time, an active turn may have released what it reserved. */
export const reservationWait = 1000
