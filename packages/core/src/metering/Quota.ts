/**
 * What one owner may use at most. The host says it for each owner (`Quotas`); the default limits nothing. Stores enforce the limits in the
 * same step that uses them, so they hold for all processes on one store.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type { AssistantId, OwnerId } from "../primitives/Ids.ts"

/** The limits of an owner. Null: no limit. */
export interface Quota {
  readonly requestsPerMinute: number | null
  readonly turnsPerMinute: number | null
  /** Threads on which a run is active. Messages that wait behind a run of their thread do not count. */
  readonly turnsAtOnce: number | null
  /** Bytes of all documents together. */
  readonly bytes: number | null
  readonly documents: number | null
  readonly memories: number | null
  /** Open voice sessions. */
  readonly sessionsAtOnce: number | null
  /** Tokens of prompts and answers together, by UTC day, as the ledger counts them. */
  readonly tokensPerDay: number | null
  readonly usdPerDay: number | null
  /** Of one run, with all its legs. */
  readonly tokensPerRun: number | null
  readonly usdPerRun: number | null
  /** Of one assistant with all its threads, by UTC day. They hold beside those of the owner. */
  readonly tokensPerDayOfAssistant: number | null
  readonly usdPerDayOfAssistant: number | null
  /** With a limit in US dollars: the prices at which the tokens of a call count if its own price is unknown. */
  readonly assumedPrices: AssumedPrices
}

/** US dollars. */
export interface AssumedPrices {
  readonly inputCostPerMillionTokens: number
  readonly outputCostPerMillionTokens: number
  /** Of charges with the purpose `embedding`. */
  readonly embeddingCostPerMillionTokens: number
}

/** Every field is null, so nothing is limited. Spread it to set some limits: `{ ...noQuota, turnsPerMinute: 10 }`. */
export const noQuota: Quota = {
  requestsPerMinute: null,
  turnsPerMinute: null,
  turnsAtOnce: null,
  bytes: null,
  documents: null,
  memories: null,
  sessionsAtOnce: null,
  tokensPerDay: null,
  usdPerDay: null,
  tokensPerRun: null,
  usdPerRun: null,
  tokensPerDayOfAssistant: null,
  usdPerDayOfAssistant: null,
  assumedPrices: {
    inputCostPerMillionTokens: 3,
    outputCostPerMillionTokens: 15,
    embeddingCostPerMillionTokens: 0.2
  }
}

/**
 * The quota of an owner: `Layer.succeed(Quotas, () => ({ ...noQuota, turnsPerMinute: 60 }))`. It is asked for each turn. The assistant is
 * told where something is spent for one, so that each may have limits of its own.
 */
export const Quotas = Context.Reference<(ownerId: OwnerId, assistantId?: AssistantId) => Quota>(
  "@colloquy/core/metering/Quotas",
  {
    defaultValue: () => () => noQuota
  }
)

const limits = {
  requestsPerMinute: "requests a minute",
  turnsPerMinute: "turns a minute",
  turnsAtOnce: "turns at once",
  bytes: "bytes of documents",
  documents: "documents",
  memories: "memories",
  sessionsAtOnce: "voice sessions at once",
  tokensPerDay: "tokens a day",
  usdPerDay: "US dollars a day",
  tokensPerRun: "tokens a run",
  usdPerRun: "US dollars a run",
  tokensPerDayOfAssistant: "tokens a day of the assistant",
  usdPerDayOfAssistant: "US dollars a day of the assistant"
} as const satisfies { readonly [Name in Exclude<keyof Quota, "assumedPrices">]: string }

/** Which limit refused a request: `limit` of `OverLimit` is one of these. */
export type LimitName = keyof typeof limits

export const LimitName = Schema.Literals([
  "requestsPerMinute",
  "turnsPerMinute",
  "turnsAtOnce",
  "bytes",
  "documents",
  "memories",
  "sessionsAtOnce",
  "tokensPerDay",
  "usdPerDay",
  "tokensPerRun",
  "usdPerRun",
  "tokensPerDayOfAssistant",
  "usdPerDayOfAssistant"
])

/** Why a store refused. `waitMillis` is null when only the owner can make room. */
export interface Refusal {
  readonly limit: LimitName
  /** How much of the limit is left. */
  readonly left: number
  readonly waitMillis: number | null
}

/** What a store answers when a limit refuses. Nothing was stored. */
export interface RefusedByLimit {
  readonly _tag: "OverLimit"
  readonly refusal: Refusal
}

/** How many bytes and how many documents an owner may keep; null is no limit. */
export type StorageLimits = Pick<Quota, "bytes" | "documents">

/** A limit of the owner refused a request. Nothing was stored. */
export class OverLimit extends Schema.TaggedError<OverLimit>()("OverLimit", {
  limit: LimitName,
  /** The limit itself. */
  most: Schema.Finite,
  left: Schema.Finite,
  waitMillis: Schema.NullOr(Schema.Finite),
  /** When all of the limit, or what active turns have reserved of it, is free again. */
  resetsAt: Schema.NullOr(Schema.Date)
}) {
  override get message() {
    const rest = `The limit of ${this.most} ${limits[this.limit]} is reached: ${rounded(this.left)} left.`
    return this.resetsAt === null
      ? `${rest} Delete some, then send this again.`
      : `${rest} There is room again at ${this.resetsAt.toISOString()}.`
  }
}

const rounded = (left: number): string => String(Math.round(left * 1e6) / 1e6)

/** Makes the error for a limit that refused. */
export const overLimit = ({ left, limit, waitMillis }: Refusal, quota: Quota, now: number): OverLimit =>
  new OverLimit({
    limit,
    most: quota[limit] ?? 0,
    left,
    waitMillis,
    resetsAt: waitMillis === null ? null : new Date(now + waitMillis)
  })
