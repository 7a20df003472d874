/**
 * The budget of the day, and the host's credit, before something is spent outside of the answer of a turn: learning, indexing, summaries,
 * voice. What is begun then is finished and paid for. Tools in a turn reserve what they cost (`TurnBudget`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { budgetRequest, grantOf } from "./Budget.ts"
import { type CreditNeed, InsufficientCredit, Metering } from "./Metering.ts"
import { overLimit, type OverLimit, Quotas } from "./Quota.ts"
import { QuotaStore } from "./QuotaStore.ts"

/** `tokens`: the least that the work takes, if it is known. */
export type EnsureCredit = (
  need: CreditNeed,
  tokens?: number
) => Effect.Effect<void, InsufficientCredit | StoreUnavailable, Principal>

export const outOfBudget = (refusal: OverLimit): InsufficientCredit =>
  new InsufficientCredit({
    reason: `The budget of the day is used up. ${refusal.message}`,
    ...(refusal.waitMillis === null ? {} : { waitMillis: refusal.waitMillis })
  })

/** `budget` asks for the day's budget alone, `credit` for the budget and then the host for credit. */
export const makeDayBudget = Effect.gen(function* () {
  const metering = yield* Metering
  const quotaOf = yield* Quotas
  const store = yield* QuotaStore

  const budget: EnsureCredit = Effect.fnUntraced(function* ({ amountUsd }, tokens = 1) {
    const { ownerId } = yield* Principal
    const quota = quotaOf(ownerId)
    if ((quota.tokensPerDay ?? quota.usdPerDay) === null) return
    const now = yield* Clock.currentTimeMillis
    const needed = { tokens, usd: amountUsd ?? 0 }
    const request = budgetRequest(quota, needed, needed, now)
    const used = yield* store.used({ requestsPerMinute: null, turnsPerMinute: null, day: request.day })
    const spent = { tokens: used.inputTokens + used.outputTokens, usd: used.costUsd }
    const granted = grantOf(request, spent, { tokens: 0, usd: 0 })
    if ("limit" in granted) return yield* outOfBudget(overLimit(granted, quota, now))
  })
  const credit: EnsureCredit = (need, tokens) => Effect.andThen(budget(need, tokens), metering.ensureCredit(need))
  return { budget, credit }
})
