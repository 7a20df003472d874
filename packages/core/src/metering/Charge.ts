/**
 * What one thing that a leg did cost: an answer of a model, a search, an image, a spoken sentence. A leg has many; they are written to the
 * ledger in its settlement's step and reported to the host's `Metering`.
 */
import * as Schema from "effect/Schema"
import { noUsage, Usage } from "../primitives/Usage.ts"

export const Charge = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  /** `chat` for the conversation's own model; a part of a turn names its own (`search`, `image`, `speech`, …). */
  purpose: Schema.String,
  usage: Usage
})
export type Charge = typeof Charge.Type

/** A charge of which only the price is known; null: not even that. */
export const chargeOfCost = (
  charge: Pick<Charge, "provider" | "model" | "purpose">,
  costUsd: number | null
): Charge => ({ ...charge, usage: { ...noUsage, costUsd } })

/** What the charges cost together; null when the cost of one is not known, or when there is none. */
export const costOf = (charges: ReadonlyArray<Charge>): number | null => {
  let sum: number | null = null
  for (const { usage } of charges) {
    if (usage.costUsd === null) return null
    sum = (sum ?? 0) + usage.costUsd
  }
  return sum
}
