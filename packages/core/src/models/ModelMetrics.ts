/**
 * The client metrics of the OpenTelemetry GenAI conventions: the duration of a model call, the time until its first event, and the tokens
 * that the provider reported. None of them contains content.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { genAi } from "../primitives/GenAi.ts"
import { metricSeries } from "../primitives/MetricSeries.ts"
import type { Usage } from "../primitives/Usage.ts"

export interface ModelOperation {
  readonly operation: "chat" | "embeddings"
  readonly provider: string
  readonly model: string
}

/** The attributes that spans and metrics of a call share. */
export const metricAttributes = ({ model, operation, provider }: ModelOperation) => ({
  [genAi.operation]: operation,
  [genAi.provider]: provider,
  [genAi.requestModel]: model
})

// The conventions define these boundaries. OTLP exporters read the unit from the attribute of that name.
const durations = metricSeries(() =>
  Metric.histogram(genAi.duration, {
    description: "Seconds that a call of a model took",
    attributes: { unit: "s" },
    boundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
  })
)

const firstChunks = metricSeries(() =>
  Metric.histogram(genAi.firstChunk, {
    description: "Seconds from the request to the first streamed event",
    attributes: { unit: "s" },
    boundaries: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
  })
)

const tokens = metricSeries(() =>
  Metric.histogram(genAi.tokenUsage, {
    description: "Tokens that one call of a model used",
    attributes: { unit: "{token}" },
    boundaries: Array.from({ length: 14 }, (_, index) => 4 ** index)
  })
)

const exitReason = (exit: Exit.Exit<unknown, { readonly reason: string } | { readonly problem: string }>): string =>
  Option.match(Exit.findErrorOption(exit), {
    onSome: (error) => ("reason" in error ? error.reason : error.problem),
    onNone: () => (Exit.hasInterrupts(exit) ? "cancelled" : "_OTHER")
  })

/** Measures the duration of a call, whatever its result. */
export const measured =
  (operation: ModelOperation) =>
  <A, E extends { readonly reason: string } | { readonly problem: string }, R>(
    call: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => {
      const clock = fiber.getRef(Clock.Clock)
      const { context } = fiber
      const startedAt = clock.currentTimeMillisUnsafe()
      return Effect.onExitPrimitive(call, (exit) => {
        const failed = Exit.isSuccess(exit) ? {} : { [genAi.errorType]: exitReason(exit) }
        const seconds = (clock.currentTimeMillisUnsafe() - startedAt) / 1000
        durations({ ...metricAttributes(operation), ...failed }).updateUnsafe(seconds, context)
        return undefined
      })
    })

export const recordFirstChunk = (operation: ModelOperation, millis: number, context: Context.Context<never>): void =>
  firstChunks(metricAttributes(operation)).updateUnsafe(millis / 1000, context)

/** Records the tokens that the provider reported; estimated figures are not recorded. */
export const recordTokens = (operation: ModelOperation, usage: Usage, context: Context.Context<never>): void => {
  if (usage.estimated) return
  const attributes = metricAttributes(operation)
  tokens({ ...attributes, [genAi.tokenType]: "input" }).updateUnsafe(usage.inputTokens, context)
  if (operation.operation === "chat") {
    tokens({ ...attributes, [genAi.tokenType]: "output" }).updateUnsafe(usage.outputTokens, context)
  }
}
