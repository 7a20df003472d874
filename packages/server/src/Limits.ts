/** The limits of every owner (`LIMITS`): `off`, or JSON whose fields replace the defaults. */
import { type AssumedPrices, noQuota, type Quota } from "@colloquy/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const limitsForm =
  '"off", or a JSON object with some of requests_per_minute, turns_per_minute (from 1), turns_at_once, bytes, documents, memories, sessions_at_once, tokens_per_day, tokens_per_day_of_assistant, tokens_per_run (whole numbers), usd_per_day, usd_per_day_of_assistant and usd_per_run, null is no limit; and assumed_prices with some of input, output and embedding, in US dollars a million tokens'

const Rate = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })))
const Count = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })))
const Small = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })))

const Price = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const Dollars = Schema.NullOr(Price)

const Limits = Schema.Struct({
  requests_per_minute: Schema.optionalKey(Rate),
  turns_per_minute: Schema.optionalKey(Rate),
  turns_at_once: Schema.optionalKey(Small),
  bytes: Schema.optionalKey(Count),
  documents: Schema.optionalKey(Count),
  memories: Schema.optionalKey(Count),
  sessions_at_once: Schema.optionalKey(Small),
  tokens_per_day: Schema.optionalKey(Count),
  usd_per_day: Schema.optionalKey(Dollars),
  tokens_per_run: Schema.optionalKey(Count),
  usd_per_run: Schema.optionalKey(Dollars),
  tokens_per_day_of_assistant: Schema.optionalKey(Count),
  usd_per_day_of_assistant: Schema.optionalKey(Dollars),
  assumed_prices: Schema.optionalKey(
    Schema.Struct({
      input: Schema.optionalKey(Price),
      output: Schema.optionalKey(Price),
      embedding: Schema.optionalKey(Price)
    })
  )
})

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Limits), { onExcessProperty: "error" })

const quotaFromLimits = (given: typeof Limits.Type): Quota => ({
  ...noQuota,
  requestsPerMinute: or(given.requests_per_minute, 600),
  turnsPerMinute: or(given.turns_per_minute, 60),
  turnsAtOnce: or(given.turns_at_once, 16),
  bytes: or(given.bytes, 5e9),
  documents: or(given.documents, 10_000),
  memories: or(given.memories, 100_000),
  sessionsAtOnce: or(given.sessions_at_once, 8),
  tokensPerDay: or(given.tokens_per_day, null),
  usdPerDay: or(given.usd_per_day, null),
  tokensPerRun: or(given.tokens_per_run, null),
  usdPerRun: or(given.usd_per_run, null),
  tokensPerDayOfAssistant: or(given.tokens_per_day_of_assistant, null),
  usdPerDayOfAssistant: or(given.usd_per_day_of_assistant, null),
  assumedPrices: readPrices(given.assumed_prices)
})

const { assumedPrices: usualPrices } = noQuota

const readPrices = (given: (typeof Limits.Type)["assumed_prices"]): AssumedPrices => ({
  inputCostPerMillionTokens: given?.input ?? usualPrices.inputCostPerMillionTokens,
  outputCostPerMillionTokens: given?.output ?? usualPrices.outputCostPerMillionTokens,
  embeddingCostPerMillionTokens: given?.embedding ?? usualPrices.embeddingCostPerMillionTokens
})

/** Null is a value, and means that there is no limit. */
const or = (given: number | null | undefined, usual: number | null): number | null =>
  given === undefined ? usual : given

export const defaultQuota = quotaFromLimits({})

/** None: the text is neither `off` nor such JSON. */
export const readLimits = (text: string): Option.Option<Quota> =>
  text.trim() === "off" ? Option.some(noQuota) : Option.map(decode(text), quotaFromLimits)
