/**
 * Port: what an owner has used of the quota. Most limits are enforced where the use is stored (`RunStore.begin`, `DocumentStore.insert`,
 * `MemoryStore.apply`, `SessionStore.open`); this port counts requests, which store nothing, and reads the figures.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ChargeId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Amount, BudgetRequest } from "./Budget.ts"
import type { AssumedPrices, RefusedByLimit } from "./Quota.ts"

/** `waitMillis`: when the minute ends, and all requests are free again. */
export interface TakenRequests {
  readonly taken: number
  readonly waitMillis: number
}

/** A rate: how much of the minute is used, and when it ends. A minute begins with its first use. */
export interface UsedRate {
  readonly used: number
  readonly freeInMillis: number
}

/** What an owner has used of each limit. */
export interface UsedOfQuota {
  readonly requests: UsedRate
  readonly turns: UsedRate
  /** Of the day. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
  readonly bytes: number
  readonly documents: number
  readonly memories: number
  /** Voice sessions whose lease has not expired. */
  readonly sessions: number
}

export class QuotaStore extends Context.Service<
  QuotaStore,
  {
    /**
     * Takes up to `wanted` of the principal's requests of the minute, and at least one if one is free. MUST be atomic: of concurrent callers,
     * no more than the limit is taken. MUST
     * take an eighth of what is free at most (rounded up), so that other processes get their part.
     */
    readonly takeRequests: (
      perMinute: number,
      wanted: number
    ) => Effect.Effect<TakenRequests, StoreUnavailable, Principal>
    /** MUST be the number of the principal's memories, with all assistants. */
    readonly memories: Effect.Effect<number, StoreUnavailable, Principal>
    /**
     * Reserves a part of the day's budget for work that is no run: MUST grant and refuse as `RunStore.begin` does, and what is reserved MUST
     * count for runs and for other work until it is released, or until `lifetime` is over. A repeat with the same id MUST replace what the
     * first one reserved.
     */
    readonly hold: (
      id: ChargeId,
      request: BudgetRequest,
      lifetime: Duration.Duration
    ) => Effect.Effect<Amount | RefusedByLimit, StoreUnavailable, Principal>
    /** MUST change nothing if the principal holds nothing with this id. */
    readonly release: (id: ChargeId) => Effect.Effect<void, StoreUnavailable, Principal>
    /**
     * MUST count what belongs to the principal only. `day` is a UTC day, `2026-01-31`; a rate without a limit is not counted. With an
     * assistant, tokens and costs MUST be those of this assistant. With assumed prices, a charge of unknown cost counts its tokens at them.
     */
    readonly used: (of: {
      readonly requestsPerMinute: number | null
      readonly turnsPerMinute: number | null
      readonly day: string
      readonly assistantId: AssistantId | null
      readonly assumedPrices: AssumedPrices | null
    }) => Effect.Effect<UsedOfQuota, StoreUnavailable, Principal>
  }
>()("@colloquy/core/metering/QuotaStore") {}
