/**
 * The cost of one thing that a leg used: an answer of a model, a search, an image, a spoken sentence. A leg has many charges. They are
 * written to the ledger with its settlement and reported to the host's `Metering`.
 */
import * as Schema from "effect/Schema"
import { noUsage, Usage } from "../primitives/Usage.ts"

export const Charge = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  /** `chat` for the conversation's own model; a part of a turn uses its own word (`search`, `image`, `speech`, …). */
  purpose: Schema.String,
  usage: Usage
})
export type Charge = typeof Charge.Type

/** A charge of which at most the price is known; null: not even the price. */
export const chargeOfCost = (
  charge: Pick<Charge, "provider" | "model" | "purpose">,
  costUsd: number | null
): Charge => ({ ...charge, usage: { ...noUsage, costUsd } })

/** The sum of the charges; null when the cost of one is unknown, or when there is none. */
export const totalCost = (charges: ReadonlyArray<Charge>): number | null => {
  let sum: number | null = null
  for (const { usage } of charges) {
    if (usage.costUsd === null) return null
    sum = (sum ?? 0) + usage.costUsd
  }
  return sum
}
