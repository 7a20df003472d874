/**
 * The requests of an owner against the quota, and a report of everything that the quota limits. A process takes requests from the store
 * ahead, some at a time, so most requests ask no store.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Principal } from "../access/Principal.ts"
import type { AssistantId, OwnerId } from "../primitives/Ids.ts"
import { makeOwnedFibers } from "../primitives/OwnedFibers.ts"
import { RecentlyUsed } from "../primitives/RecentlyUsed.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { type OverLimit, overLimit, type Quota, Quotas } from "./Quota.ts"
import { QuotaStore, type UsedRate } from "./QuotaStore.ts"

/** `limit` null: there is none. `resetsAt` null: it does not reset by time. */
export interface Allowance {
  readonly used: number
  readonly limit: number | null
  readonly resetsAt: Date | null
}

/** What an owner may use, has used, and has left, for each limit. */
export interface AllowanceReport {
  readonly requests: Allowance
  readonly turns: Allowance
  /** The limit of tokens holds for input and output together. */
  readonly inputTokens: Allowance
  readonly outputTokens: Allowance
  readonly costUsd: Allowance
  readonly bytes: Allowance
  readonly documents: Allowance
  readonly memories: Allowance
  readonly sessions: Allowance
}

export class Allowances extends Context.Service<
  Allowances,
  {
    /** Counts one request of the principal. */
    readonly takeRequest: (
      principal: typeof Principal.Service
    ) => Effect.Effect<void, OverLimit | StoreUnavailable, Principal>
    /** With an assistant, tokens and costs are those of this assistant, with its limits. */
    readonly report: (assistantId?: AssistantId) => Effect.Effect<AllowanceReport, StoreUnavailable, Principal>
  }
>()("@colloquy/core/metering/Allowances") {
  static readonly layer: Layer.Layer<Allowances, never, QuotaStore> = Layer.effect(
    Allowances,
    Effect.gen(function* () {
      const store = yield* QuotaStore
      const findQuota = yield* Quotas
      const requests = new RecentlyUsed<TakenAhead>(keptOwners)
      const { fork } = yield* makeOwnedFibers

      const take = Effect.fnUntraced(function* (entry: TakenAhead, perMinute: number) {
        const { taken, waitMillis } = yield* store.takeRequests(perMinute, mostAhead(perMinute))
        const now = yield* Clock.currentTimeMillis
        const fullUntil = taken === 0 ? now + Math.max(waitMillis, 1) : 0
        const left = (entry.until > now ? entry.left : 0) + taken
        Object.assign(entry, { left, atOnce: left, until: now + Math.min(keptMillis, waitMillis), fullUntil })
      })

      /** Takes the next requests, in a fiber of the kernel: callers that come meanwhile wait for the same answer. */
      const takeMore = (entry: TakenAhead, perMinute: number): Effect.Effect<void, StoreUnavailable, Principal> =>
        Effect.suspend(() => {
          if (entry.taking !== null) return Deferred.await(entry.taking)
          const taking = Deferred.makeUnsafe<void, StoreUnavailable>()
          entry.taking = taking
          const taken = Effect.onExit(take(entry, perMinute), (exit) =>
            Effect.sync(() => {
              entry.taking = null
              Deferred.doneUnsafe(taking, exit)
            })
          )
          return Effect.andThen(fork(taken), Deferred.await(taking))
        })

      const takeFrom = (
        entry: TakenAhead,
        quota: Quota,
        perMinute: number
      ): Effect.Effect<void, OverLimit | StoreUnavailable, Principal> =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          if (entry.left > 0 && entry.until > now) {
            entry.left--
            // Halfway, the next ones are taken in the background.
            return entry.left > 0 && entry.left === entry.atOnce >> 1
              ? Effect.asVoid(fork(Effect.ignore(takeMore(entry, perMinute))))
              : Effect.void
          }
          if (entry.fullUntil > now) {
            const waitMillis = Math.ceil(entry.fullUntil - now)
            return Effect.fail(overLimit({ limit: "requestsPerMinute", left: 0, waitMillis }, quota, now))
          }
          return Effect.andThen(takeMore(entry, perMinute), takeFrom(entry, quota, perMinute))
        })

      const takeRequest = ({ ownerId }: typeof Principal.Service) => {
        const quota = findQuota(ownerId)
        if (quota.requestsPerMinute === null) return Effect.void
        return takeFrom(takenAheadEntry(requests, ownerId), quota, quota.requestsPerMinute)
      }

      const report = tracedFn("Allowances.report")(function* (
        assistantId?: AssistantId
      ): Effect.fn.Return<AllowanceReport, StoreUnavailable, Principal> {
        const { ownerId } = yield* Principal
        const quota = findQuota(ownerId, assistantId)
        const tokensPerDay = assistantId === undefined ? quota.tokensPerDay : quota.tokensPerDayOfAssistant
        const usdPerDay = assistantId === undefined ? quota.usdPerDay : quota.usdPerDayOfAssistant
        const now = yield* Clock.currentTimeMillis
        const day = new Date(now).toISOString().slice(0, 10)
        const { requestsPerMinute, turnsPerMinute } = quota
        const used = yield* store.used({
          requestsPerMinute,
          turnsPerMinute,
          day,
          assistantId: assistantId ?? null,
          assumedPrices: usdPerDay === null ? null : quota.assumedPrices
        })
        const ahead = requests.get(ownerId)
        const notSent = ahead !== undefined && ahead.until > now ? ahead.left : 0
        const rate = (taken: UsedRate, limit: number | null): Allowance => ({
          used: taken.used,
          limit,
          resetsAt: limit === null ? null : new Date(now + taken.freeInMillis)
        })
        const kept = (amount: number, limit: number | null): Allowance => ({ used: amount, limit, resetsAt: null })
        const tomorrow = new Date(Date.parse(day) + Duration.toMillis("1 day"))
        const dayAllowance = (amount: number, limit: number | null) => ({ used: amount, limit, resetsAt: tomorrow })
        return {
          requests: rate({ ...used.requests, used: Math.max(used.requests.used - notSent, 0) }, requestsPerMinute),
          turns: rate(used.turns, turnsPerMinute),
          inputTokens: dayAllowance(used.inputTokens, tokensPerDay),
          outputTokens: dayAllowance(used.outputTokens, tokensPerDay),
          costUsd: dayAllowance(used.costUsd, usdPerDay),
          bytes: kept(used.bytes, quota.bytes),
          documents: kept(used.documents, quota.documents),
          memories: kept(used.memories, quota.memories),
          sessions: kept(used.sessions, quota.sessionsAtOnce)
        }
      })

      return Allowances.of({ takeRequest, report })
    })
  )
}

/** Requests of an owner that this process has taken from the store and not admitted yet. */
interface TakenAhead {
  left: number
  /** What was taken last. */
  atOnce: number
  /** After this time they are not used any more: the store counts them as used, and a process that is idle must not keep them. */
  until: number
  /** The store had none left; it is not asked again before this time. */
  fullUntil: number
  taking: Deferred.Deferred<void, StoreUnavailable> | null
}

const keptMillis = 10_000

/** Beyond this number, an owner who was not seen for long asks the store again. */
const keptOwners = 10_000

/** At most what a tenth of a minute allows. */
const mostAhead = (perMinute: number): number => Math.max(1, Math.floor(perMinute / 10))

const takenAheadEntry = (requests: RecentlyUsed<TakenAhead>, ownerId: OwnerId): TakenAhead => {
  const known = requests.get(ownerId)
  if (known !== undefined) return known
  const entry: TakenAhead = { left: 0, atOnce: 0, until: 0, fullUntil: 0, taking: null }
  requests.set(ownerId, entry, 1)
  return entry
}
