/**
 * The budget of the day, and the host's credit, before something is spent outside of the answer of a turn: learning, indexing, summaries,
 * voice. Follow-ups reserve what they will need (`hold`); the others look whether something is left (`budget`, `credit`). What is begun then
 * is finished and paid for. Tools in a turn reserve what they cost (`TurnBudget`).
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Principal } from "../access/Principal.ts"
import { type AssistantId, ChargeId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import {
  type Amount,
  pricedAmount,
  assumedFor,
  budgetRequest,
  countedPrices,
  grantBudget,
  hasDayBudget,
  type Prices,
  type Taken,
  usualAnswer
} from "./Budget.ts"
import { type CreditNeed, InsufficientCredit, Metering } from "./Metering.ts"
import { overLimit, type OverLimit, type Quota, Quotas } from "./Quota.ts"
import { QuotaStore } from "./QuotaStore.ts"

/** Asks whether something of the budget is left. `assistantId` null: no assistant is concerned. */
export type EnsureCredit = (
  need: CreditNeed,
  assistantId: AssistantId | null
) => Effect.Effect<void, InsufficientCredit | StoreUnavailable, Principal>

/** A call of a model that is about to be made. */
export interface PlannedCall {
  readonly need: CreditNeed
  readonly assistantId: AssistantId | null
  readonly promptTokens: number
  /** Null: an embedding, which has no answer. */
  readonly model: Prices | null
}

/** Makes a call while its part of the budget is reserved. What it cost is in the ledger before the reservation is released. */
export type HoldBudget = (
  planned: PlannedCall
) => <A, E, R>(
  call: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | InsufficientCredit | StoreUnavailable, R | Principal>

export const outOfBudget = (refusal: OverLimit): InsufficientCredit =>
  new InsufficientCredit({
    reason: `The budget of the day is used up. ${refusal.message}`,
    ...(refusal.waitMillis === null ? {} : { waitMillis: refusal.waitMillis })
  })

/** Longer than a call takes with all its repeats. What a dead process has reserved is free again afterwards. */
const longestHold = Duration.minutes(15)

/** `budget` asks for the day's budget alone, `credit` for the budget and then the host for credit, `hold` reserves. */
export const makeDayBudget = Effect.gen(function* () {
  const metering = yield* Metering
  const findQuota = yield* Quotas
  const store = yield* QuotaStore

  /** Null: the owner has no budget, and nothing is reserved. */
  const reserve = Effect.fnUntraced(function* (
    assistantId: AssistantId | null,
    amountFor: (quota: Quota) => { readonly least: Amount; readonly wanted: Amount }
  ) {
    const { ownerId } = yield* Principal
    const quota = findQuota(ownerId, assistantId ?? undefined)
    if (!hasDayBudget(quota)) return null
    const now = yield* Clock.currentTimeMillis
    const id = yield* newId(ChargeId)
    const { least, wanted } = amountFor(quota)
    const held = yield* store.hold(id, budgetRequest(quota, assistantId, least, wanted, now), longestHold)
    return "_tag" in held ? yield* outOfBudget(overLimit(held.refusal, quota, now)) : id
  })

  const release = (id: ChargeId | null) =>
    id === null
      ? Effect.void
      : Effect.catchCause(store.release(id), (cause) => Effect.logWarning("A reserved budget was not released", cause))

  /** What was spent until now, without what is reserved: a voice session goes on while others have reserved something. */
  const budget: EnsureCredit = Effect.fnUntraced(function* ({ amountUsd }, assistantId) {
    const { ownerId } = yield* Principal
    const quota = findQuota(ownerId, assistantId ?? undefined)
    if (!hasDayBudget(quota)) return
    const now = yield* Clock.currentTimeMillis
    const needed = { tokens: 1, usd: amountUsd ?? 0 }
    const request = budgetRequest(quota, assistantId, needed, needed, now)
    const { day, ofAssistant } = request
    const amountTaken = (id: AssistantId | null) =>
      Effect.map(
        store.used({
          requestsPerMinute: null,
          turnsPerMinute: null,
          day,
          assistantId: id,
          assumedPrices: quota.assumedPrices
        }),
        ({ costUsd, inputTokens, outputTokens }): Taken => ({
          used: { tokens: inputTokens + outputTokens, usd: costUsd },
          reserved: { tokens: 0, usd: 0 }
        })
      )
    const ofOwner = yield* amountTaken(null)
    const granted = grantBudget(request, ofOwner, ofAssistant === null ? null : yield* amountTaken(ofAssistant.id))
    if ("limit" in granted) return yield* outOfBudget(overLimit(granted, quota, now))
  })
  const credit: EnsureCredit = (need, assistantId) =>
    Effect.andThen(budget(need, assistantId), metering.ensureCredit(need))

  const hold: HoldBudget = ({ assistantId, model, need, promptTokens }) => {
    const reserved = reserve(assistantId, ({ assumedPrices }) => {
      const assumed = assumedFor(need.purpose, assumedPrices)
      const prices = model === null ? assumed : countedPrices(model, assumed)
      const least = pricedAmount(promptTokens, model === null ? 0 : 1, prices)
      return { least, wanted: model === null ? least : pricedAmount(promptTokens, usualAnswer, prices) }
    })
    return (call) => Effect.acquireUseRelease(reserved, () => call, release)
  }
  return { budget, credit, hold }
})
