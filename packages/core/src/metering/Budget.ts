/**
 * What a run reserves of its owner's limits: its place among the turns, and tokens and dollars of the day. A store reserves in the step
 * that puts the run in progress, and releases in the step that settles, withdraws or deletes it; so a reservation ends with the lease of
 * its run, also when the process dies. What was really used is in the ledger.
 */
import type { AssistantId } from "../primitives/Ids.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { AssumedPrices, LimitName, Quota, Refusal } from "./Quota.ts"

/** The prices of a model, in US dollars; null: not known. */
export interface Prices {
  readonly inputCostPerMillionTokens: number | null
  readonly outputCostPerMillionTokens: number | null
}

/** Tokens and dollars. */
export interface Amount {
  readonly tokens: number
  readonly usd: number
}

/** What an assistant may use of a day. */
export interface AssistantLimits {
  readonly id: AssistantId
  readonly tokensPerDay: number | null
  readonly usdPerDay: number | null
}

/** What a store needs to reserve a part of the day's budget. */
export interface BudgetRequest {
  readonly tokensPerDay: number | null
  readonly usdPerDay: number | null
  /** Null: no assistant is concerned, or it has no limits. */
  readonly ofAssistant: AssistantLimits | null
  /** A charge of unknown cost MUST count its tokens at these prices. */
  readonly assumedPrices: AssumedPrices
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
export const usualAnswer = 2000
export const moreForAnswer = 4000

const dayMillis = 86_400_000

/** The prices of a model, none of them unknown. */
export interface CountedPrices {
  readonly inputCostPerMillionTokens: number
  readonly outputCostPerMillionTokens: number
}

/** The prices of a model, with the assumed one for each that is unknown. */
export const countedPrices = (prices: Prices, assumed: CountedPrices): CountedPrices => ({
  inputCostPerMillionTokens: prices.inputCostPerMillionTokens ?? assumed.inputCostPerMillionTokens,
  outputCostPerMillionTokens: prices.outputCostPerMillionTokens ?? assumed.outputCostPerMillionTokens
})

/** Tokens and their price. */
export const pricedAmount = (tokensIn: number, tokensOut: number, prices: CountedPrices): Amount => ({
  tokens: tokensIn + tokensOut,
  usd: (tokensIn * prices.inputCostPerMillionTokens + tokensOut * prices.outputCostPerMillionTokens) / 1e6
})

/** What is assumed of charges with this purpose. */
export const assumedFor = (purpose: string, assumed: AssumedPrices): CountedPrices =>
  purpose === "embedding"
    ? { inputCostPerMillionTokens: assumed.embeddingCostPerMillionTokens, outputCostPerMillionTokens: 0 }
    : assumed

/** What usage counts for a budget in US dollars. */
export const countedCost = ({ costUsd, inputTokens, outputTokens }: Usage, assumed: CountedPrices): number =>
  costUsd ?? pricedAmount(inputTokens, outputTokens, assumed).usd

/** What the tokens of an answer cost. */
export const answerAmount = (more: number, prices: CountedPrices): Amount => pricedAmount(0, more, prices)

/** Whether something limits what is spent in a day. */
export const hasDayBudget = (quota: Quota): boolean =>
  (quota.tokensPerDay ?? quota.usdPerDay ?? quota.tokensPerDayOfAssistant ?? quota.usdPerDayOfAssistant) !== null

const assistantLimits = (quota: Quota, id: AssistantId | null): AssistantLimits | null => {
  const { tokensPerDayOfAssistant: tokensPerDay, usdPerDayOfAssistant: usdPerDay } = quota
  return id === null || (tokensPerDay ?? usdPerDay) === null ? null : { id, tokensPerDay, usdPerDay }
}

export const budgetRequest = (
  quota: Quota,
  assistantId: AssistantId | null,
  least: Amount,
  wanted: Amount,
  now: number
): BudgetRequest => ({
  tokensPerDay: quota.tokensPerDay,
  usdPerDay: quota.usdPerDay,
  ofAssistant: assistantLimits(quota, assistantId),
  assumedPrices: quota.assumedPrices,
  least,
  wanted,
  day: new Date(now).toISOString().slice(0, 10),
  restOfDay: dayMillis - (now % dayMillis)
})

/** Null: the owner has no limit that concerns turns, and the store has nothing to do. */
export const admissionRequest = (
  quota: Quota,
  turn: {
    readonly isNew: boolean
    readonly promptTokens: number
    readonly prices: Prices
    readonly assistantId: AssistantId
  },
  now: number
): AdmissionRequest | null => {
  const turnsPerMinute = turn.isNew ? quota.turnsPerMinute : null
  const { turnsAtOnce } = quota
  if ((turnsPerMinute ?? turnsAtOnce) === null && !hasDayBudget(quota)) return null
  const prices = countedPrices(turn.prices, quota.assumedPrices)
  const least = pricedAmount(turn.promptTokens, 1, prices)
  const wanted = pricedAmount(turn.promptTokens, usualAnswer, prices)
  const usdPerToken = pricedAmount(1, 0, prices).usd
  const request = budgetRequest(quota, turn.assistantId, least, wanted, now)
  return { ...request, turnsPerMinute, turnsAtOnce, usdPerToken }
}

/** What of a day is used, and what active work has reserved. */
export interface Taken {
  readonly used: Amount
  readonly reserved: Amount
}

/** What is granted, from what is left for the owner and for the assistant of the request. Pure; for stores that compute in the process. */
export const grantBudget = (request: BudgetRequest, ofOwner: Taken, ofAssistant: Taken | null): Amount | Refusal => {
  const owner = amountLeft(request, ofOwner)
  const assistant =
    request.ofAssistant === null || ofAssistant === null ? null : amountLeft(request.ofAssistant, ofAssistant)
  const refusal =
    budgetRefusal(request, owner, { tokens: "tokensPerDay", usd: "usdPerDay" }) ??
    (assistant && budgetRefusal(request, assistant, { tokens: "tokensPerDayOfAssistant", usd: "usdPerDayOfAssistant" }))
  if (refusal !== null) return refusal
  const { wanted } = request
  return {
    tokens: Math.min(wanted.tokens, owner.tokens, assistant?.tokens ?? wanted.tokens),
    usd: Math.min(wanted.usd, owner.usd, assistant?.usd ?? wanted.usd)
  }
}

interface Left extends Amount {
  readonly reserved: Amount
}

const amountLeft = (limits: Pick<BudgetRequest, "tokensPerDay" | "usdPerDay">, { reserved, used }: Taken): Left => ({
  tokens: (limits.tokensPerDay ?? Number.POSITIVE_INFINITY) - used.tokens - reserved.tokens,
  usd: (limits.usdPerDay ?? Number.POSITIVE_INFINITY) - used.usd - reserved.usd,
  reserved
})

const budgetRefusal = (
  { least, restOfDay }: BudgetRequest,
  { reserved, tokens, usd }: Left,
  names: { readonly tokens: LimitName; readonly usd: LimitName }
): Refusal | null => {
  if (tokens < least.tokens) {
    const waitMillis = tokens + reserved.tokens < least.tokens ? restOfDay : reservationWait
    return { limit: names.tokens, left: Math.max(tokens, 0), waitMillis }
  }
  if (usd >= least.usd && usd > 0) return null
  const room = usd + reserved.usd
  const waitMillis = room < least.usd || room <= 0 ? restOfDay : reservationWait
  return { limit: names.usd, left: Math.max(usd, 0), waitMillis }
}

/** After this time, active work may have released what it reserved. */
export const reservationWait = 1000
