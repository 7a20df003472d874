/** Converts usage to columns and back. Each number has a column, because the database adds them up; sums are `bigint`. */
import { type Charge, type Usage } from "@colloquy/core"
import { addUsage, isSameUsage } from "@colloquy/core/adapters"
import { toText } from "./StoredText.ts"

export interface UsageRow {
  readonly input_tokens: bigint
  readonly output_tokens: bigint
  readonly cached_input_tokens: bigint
  readonly cache_write_tokens: bigint
  readonly reasoning_tokens: bigint
  readonly cost_usd: number | null
  readonly estimated: boolean
}

export const decodeUsage = (row: UsageRow): Usage => ({
  inputTokens: Number(row.input_tokens),
  outputTokens: Number(row.output_tokens),
  cachedInputTokens: Number(row.cached_input_tokens),
  cacheWriteTokens: Number(row.cache_write_tokens),
  reasoningTokens: Number(row.reasoning_tokens),
  costUsd: row.cost_usd,
  estimated: row.estimated
})

/** A number that is not a safe integer is sent as text, so that the database refuses it with a clear SQLSTATE. */
const count = (tokens: number): number | string => (Number.isSafeInteger(tokens) ? tokens : String(tokens))

/** The arguments of the schema's functions for the usage of a leg. */
export const usageArguments = (usage: Usage) => ({
  input: count(usage.inputTokens),
  output: count(usage.outputTokens),
  cached: count(usage.cachedInputTokens),
  cache_write: count(usage.cacheWriteTokens),
  reasoning: count(usage.reasoningTokens),
  cost: usage.costUsd,
  estimated: usage.estimated
})

/**
 * The JSON argument of the schema's function `add_charges`. Charges with the same provider, model and purpose are added up, those of unknown cost apart. Null when there
 * are no charges.
 */
export const chargesArgument = (charges: ReadonlyArray<Charge>): string | null => {
  if (charges.length === 0) return null
  const sums = new Map<string, Charge>()
  for (const charge of charges) {
    const name = JSON.stringify([charge.provider, charge.model, charge.purpose, charge.usage.costUsd === null])
    const before = sums.get(name)
    sums.set(name, before === undefined ? charge : { ...charge, usage: addUsage(before.usage, charge.usage) })
  }
  return JSON.stringify(
    [...sums.values()].map(({ model, provider, purpose, usage }) => ({
      provider: toText(provider),
      model: toText(model),
      purpose: toText(purpose),
      ...usageArguments(usage)
    }))
  )
}

/**
 * The arguments by which `settle_run` takes the charges of a leg. Nearly always the only charge is the usage of the leg: then two names are
 * enough, and no JSON has to be read.
 */
export const chargeArguments = ({
  charges,
  model,
  usage
}: {
  readonly charges: ReadonlyArray<Charge>
  readonly model: string
  readonly usage: Usage
}) => {
  const [first] = charges
  return first !== undefined && charges.length === 1 && first.model === model && isSameUsage(first.usage, usage)
    ? { charge_provider: toText(first.provider), charge_purpose: toText(first.purpose), charges: null }
    : { charge_provider: null, charge_purpose: null, charges: chargesArgument(charges) }
}
