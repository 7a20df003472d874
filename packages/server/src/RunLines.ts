/** One line for each leg of a run that ends or waits, for the terminal: its state, model, time, tokens and cost, and why it failed. */
import { type RunStatus, RunStore, type Settlement } from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { CurrentLogAnnotations } from "effect/References"

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

/** What a server needs so that each ended leg has a line: a store that reports it, and a logger. */
export interface LegWatch {
  readonly store: Layer.Layer<RunStore, never, RunStore>
  /**
   * Used in place of the usual logger. The kernel's warning of a failed run is not printed, because the line of its leg has the same words.
   */
  readonly logger: Logger.Logger<unknown, unknown>
}

export const watchLegs = (
  onLeg: (leg: EndedLeg) => void,
  usual: Logger.Logger<unknown, unknown> = Logger.defaultLogger
): LegWatch => {
  /** What the kernel said of runs whose end is not stored yet. */
  const warnings = new Map<string, { readonly text: string; readonly print: () => void }>()
  const logger = Logger.make<unknown, unknown>((options) => {
    const runId = options.fiber.getRef(CurrentLogAnnotations)["failed_run"]
    if (typeof runId !== "string") return usual.log(options)
    const text = [options.message].flat().join(" ").replace(`Run ${runId} failed. `, "")
    return void warnings.set(runId, { text, print: () => usual.log(options) })
  })
  const tell = (runId: string, { answer, fault, model, status, usage }: Settlement, now: number): void => {
    onLeg({
      status,
      provider: answer.provider ?? "",
      model: answer.model ?? model,
      millis: now - answer.createdAt.getTime(),
      tokens: usage.inputTokens + usage.outputTokens,
      costUsd: usage.costUsd,
      reason: warnings.get(runId)?.text ?? fault?.message ?? null
    })
  }
  const store = Layer.effect(
    RunStore,
    Effect.map(RunStore, (own) => ({
      ...own,
      settle: (lease, settlement) =>
        Effect.gen(function* () {
          const stored = yield* own.settle(lease, settlement)
          const now = yield* Clock.currentTimeMillis
          if (stored === true) tell(lease.runId, settlement, now)
          // No line is printed for this run here, so its warning is printed.
          else warnings.get(lease.runId)?.print()
          warnings.delete(lease.runId)
          return stored
        })
    }))
  )
  return { store, logger }
}

const colours: Partial<Record<RunStatus, number>> = { COMPLETED: 32, FAILED: 31, REQUIRES_ACTION: 33, CANCELLED: 90 }

const timeText = (millis: number): string => (millis < 1000 ? `${millis} ms` : `${(millis / 1000).toFixed(1)} s`)

/** The line; `hasColours`: for a terminal that shows them. */
export const runLine = (leg: EndedLeg, hasColours: boolean): string => {
  const { costUsd, millis, model, provider, reason, status, tokens } = leg
  const word = status === "REQUIRES_ACTION" ? "waits for you" : status.toLowerCase().replaceAll("_", " ")
  const shown = hasColours ? `\u001B[${colours[status] ?? 39}m${word}\u001B[0m` : word
  const cost =
    costUsd === null ? [] : [`$${costUsd === 0 || costUsd >= 0.01 ? costUsd.toFixed(2) : costUsd.toPrecision(2)}`]
  const facts = [`${provider}/${model}`, timeText(millis), `${tokens} tokens`, ...cost].join(" · ")
  // A reason may have line breaks.
  return `${shown} ${facts}${reason === null ? "" : ` · ${reason.split("\n").join(" ")}`}`
}
