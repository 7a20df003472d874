/**
 * Step 8 of a turn: one leg's end, computed from its events and the way it ended, and brought to the store. Used for legs that this
 * process ran (`LegRunner`) and for those of others (`Recovery`): the same events give the same message, usage and terminal event.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { MeteringPort } from "../metering/Metering.ts"
import { withValues } from "../threads/Supplement.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { Deadlines } from "../primitives/Deadlines.ts"
import { cutTo, longestName, usageWithinBounds } from "../models/ReportedFigures.ts"
import { contentRefused } from "../primitives/ContentRefused.ts"
import { metricSeries } from "../primitives/MetricSeries.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { RunFault } from "../runs/Run.ts"
import type { Lease, RunStore, Settled, Settlement } from "../runs/RunStore.ts"
import { repeatWhileAway } from "./StoreRetry.ts"
import { contextUsageOf, Explanation } from "../prompts/Explanation.ts"
import type { TerminalEvent, TurnEvent } from "./TurnEvent.ts"
import { answerOf, type RecordedLeg } from "./TurnRecorder.ts"

/** The four ways in which a leg ends. */
export type LegEnd =
  | { readonly status: "COMPLETED" }
  | { readonly status: "REQUIRES_ACTION" }
  | { readonly status: "CANCELLED" }
  | { readonly status: "FAILED"; readonly fault: RunFault }

/** The last event of a leg in which a model was asked, or was to be. */
export type LegEndEvent = Exclude<TerminalEvent, { readonly _tag: "MessageSaved" }>

export const terminalEvent = (
  recorded: RecordedLeg,
  end: LegEnd,
  explanation: Explanation | null,
  sequence: number
): LegEndEvent => {
  const leg = withinBounds(recorded)
  const common = {
    sequence,
    messageId: leg.messageId,
    content: leg.content,
    provider: leg.provider,
    model: leg.model,
    usage: leg.usage,
    contextUsage: explanation === null ? null : contextUsageOf(explanation),
    ...withValues(leg.supplements)
  }
  switch (end.status) {
    case "COMPLETED":
      return { _tag: "RunEnded", ...common }
    case "REQUIRES_ACTION":
      return { _tag: "ToolSubmitRequired", ...common, toolCalls: leg.openCalls }
    case "CANCELLED":
      return { _tag: "RunCancelled", ...common }
    case "FAILED":
      return {
        _tag: "RunFailed",
        ...common,
        error: end.fault.message,
        code: end.fault.code,
        retryable: end.fault.retryable
      }
  }
}

/** From the store, where an older or a newer version may have written it: one that this version cannot read is none. */
export const decodeExplanation = (json: unknown): Explanation | null => Option.getOrNull(readExplanation(json))

const readExplanation = Schema.decodeUnknownOption(Schema.NullOr(Explanation))

export const settlementOf = (input: {
  readonly lease: Lease
  readonly leg: RecordedLeg
  readonly end: LegEnd
  readonly explanation: Explanation | null
  readonly terminal: TerminalEvent
  /** Events before the terminal one that the store may not have. */
  readonly rest: ReadonlyArray<TurnEvent>
  readonly counter: TokenCounterPort
  readonly followUps: Settlement["followUps"]
}): Settlement => {
  const leg = withinBounds(input.leg)
  return {
    status: input.end.status,
    events: [...input.rest, input.terminal],
    answer: answerOf(
      leg,
      { threadId: input.lease.threadId, runId: input.lease.runId, status: input.end.status },
      input.counter
    ),
    usage: leg.usage,
    charges: leg.charges,
    followUps: input.followUps,
    model: leg.model,
    fault: input.end.status === "FAILED" ? input.end.fault : null,
    explanation: input.explanation
  }
}

/** An older version's log may hold what a provider reported, whatever it was. */
const withinBounds = (leg: RecordedLeg): RecordedLeg => ({
  ...leg,
  provider: cutTo(leg.provider, longestName),
  model: cutTo(leg.model, longestName),
  usage: usageWithinBounds(leg.usage),
  charges: leg.charges.map((charge) => ({
    provider: cutTo(charge.provider, longestName),
    model: cutTo(charge.model, longestName),
    purpose: cutTo(charge.purpose, longestName),
    usage: usageWithinBounds(charge.usage)
  }))
})

/** What became of a settlement: false when the run belongs to another holder now. */
export interface SettledLeg {
  readonly stored: Settled
  readonly status: Settlement["status"]
  readonly terminal: LegEndEvent
}

/**
 * Brings a settlement to the store, again and again while the store is away. One that the store refuses for what is in it is settled as
 * FAILED with what can always be stored: a run that cannot end would block its thread for ever.
 */
export const settle = (
  store: typeof RunStore.Service,
  lease: Lease,
  { settlement, terminal }: { readonly settlement: Settlement; readonly terminal: LegEndEvent },
  timeout: Duration.Input
): Effect.Effect<SettledLeg, StoreUnavailable, Principal> => {
  const write = (each: Settlement) => repeatWhileAway(store.settle(lease, each), timeout)
  return write(settlement).pipe(
    Effect.map((stored): SettledLeg => ({ stored, status: settlement.status, terminal })),
    Effect.catchDefect((defect) => {
      const least = storable(settlement, terminal)
      return Effect.logError(
        `Run ${lease.runId} could not be settled as it ended, and is settled as FAILED without its answer`,
        contentRefused(Cause.die(defect)) ?? defect
      ).pipe(
        Effect.andThen(write(least.settlement)),
        Effect.map((stored): SettledLeg => ({ stored, status: "FAILED", terminal: least.terminal }))
      )
    })
  )
}

const notStorable: RunFault = {
  code: "answer_not_stored",
  message: "The answer could not be stored: the database refused what is in it. The operator has been told.",
  retryable: false
}

/** The end of the leg and what it used, without anything that a model wrote. */
const storable = (settlement: Settlement, terminal: LegEndEvent) => {
  const { answer } = settlement
  const { messageId, model, provider, sequence, usage } = terminal
  const failed: LegEndEvent = {
    _tag: "RunFailed",
    sequence,
    messageId,
    content: "",
    provider,
    model,
    usage,
    contextUsage: null,
    error: notStorable.message,
    code: notStorable.code,
    retryable: notStorable.retryable
  }
  const least: Settlement = {
    ...settlement,
    status: "FAILED",
    events: [failed],
    answer: {
      ...answer,
      content: null,
      status: "FAILED",
      toolCalls: [],
      toolResults: [],
      steps: [],
      supplements: null,
      tokens: 0
    },
    followUps: [],
    fault: notStorable,
    explanation: null
  }
  return { settlement: least, terminal: failed }
}

const turns = metricSeries(
  Metric.counter("colloquy.turns", { description: "Legs of runs that were settled", incremental: true })
)
const tokens = metricSeries(
  Metric.counter("gen_ai.client.token.usage", { description: "Tokens used", incremental: true })
)

/** Tells the host's metering and the metrics what a settled leg used. The answer stands whatever comes of it. */
export const account = (
  { deadlines, metering }: { readonly deadlines: Deadlines; readonly metering: MeteringPort },
  lease: Lease,
  leg: RecordedLeg,
  legNumber: number,
  status: string
) =>
  Effect.contextWith((context: Context.Context<Principal>) => {
    const attributes = { "gen_ai.provider.name": leg.provider, "gen_ai.request.model": leg.model }
    turns({ ...attributes, status }).updateUnsafe(1, context)
    if (leg.modelCalls === 0) return Effect.void
    tokens({ ...attributes, "gen_ai.token.type": "input" }).updateUnsafe(leg.usage.inputTokens, context)
    tokens({ ...attributes, "gen_ai.token.type": "output" }).updateUnsafe(leg.usage.outputTokens, context)
    const report = {
      runId: lease.runId,
      leg: legNumber,
      threadId: lease.threadId,
      provider: leg.provider,
      model: leg.model,
      usage: leg.usage,
      charges: leg.charges
    }
    // This stands in the way of a shutdown: a meter that does not answer is given up.
    return deadlines.within("30 seconds", metering.record(report), () =>
      Effect.die(new Error("The meter did not answer"))
    )
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning(`Usage of run ${lease.runId} was not reported to the host`, cause))
  )
