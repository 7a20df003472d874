/** One line for each leg of a run that ends or waits, for the terminal: its state, model, time, tokens and cost, and why it failed. */
import { type RunStatus, RunStore } from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface EndedLeg {
  readonly status: RunStatus
  readonly provider: string
  readonly model: string
  readonly millis: number
  readonly tokens: number
  readonly costUsd: number | null
  /** Null: it did not fail. */
  readonly reason: string | null
}

/** Tells of every leg when its end is stored. */
export const watchLegs = (onLeg: (leg: EndedLeg) => void): Layer.Layer<RunStore, never, RunStore> =>
  Layer.effect(
    RunStore,
    Effect.map(RunStore, (store) => ({
      ...store,
      settle: (lease, settlement) =>
        Effect.tap(store.settle(lease, settlement), (stored) =>
          stored === true
            ? Effect.map(Clock.currentTimeMillis, (now) => {
                const { answer, fault, status, usage } = settlement
                onLeg({
                  status,
                  provider: answer.provider ?? "",
                  model: answer.model ?? settlement.model,
                  millis: now - answer.createdAt.getTime(),
                  tokens: usage.inputTokens + usage.outputTokens,
                  costUsd: usage.costUsd,
                  reason: fault?.message ?? null
                })
              })
            : Effect.void
        )
    }))
  )

const colours: Partial<Record<RunStatus, number>> = { COMPLETED: 32, FAILED: 31, REQUIRES_ACTION: 33, CANCELLED: 90 }

const timeText = (millis: number): string => (millis < 1000 ? `${millis} ms` : `${(millis / 1000).toFixed(1)} s`)

/** The line; `hasColours`: for a terminal that shows them. */
export const runLine = (leg: EndedLeg, hasColours: boolean): string => {
  const { costUsd, millis, model, provider, reason, status, tokens } = leg
  const word = status.toLowerCase().replaceAll("_", " ")
  const shown = hasColours ? `\u001B[${colours[status] ?? 39}m${word}\u001B[0m` : word
  const cost =
    costUsd === null ? [] : [`$${costUsd === 0 || costUsd >= 0.01 ? costUsd.toFixed(2) : costUsd.toPrecision(2)}`]
  const facts = [`${provider}/${model}`, timeText(millis), `${tokens} tokens`, ...cost].join(" · ")
  // A reason may have line breaks.
  return `${shown} ${facts}${reason === null ? "" : ` · ${reason.split("\n").join(" ")}`}`
}
