/**
 * Step 8 of a turn: one leg's end, computed from its events and the way it ended, and brought to the store. Used for legs that this
 * process ran (`LegRunner`) and for those of others (`Recovery`): the same events give the same message, usage and terminal event.
 */
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
import { labelled } from "../primitives/Labelled.ts"
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

export const terminalEvent = (
  leg: RecordedLeg,
  end: LegEnd,
  explanation: Explanation | null,
  sequence: number
): TerminalEvent => {
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
}): Settlement => ({
  status: input.end.status,
  events: [...input.rest, input.terminal],
  answer: answerOf(
    input.leg,
    { threadId: input.lease.threadId, runId: input.lease.runId, status: input.end.status },
    input.counter
  ),
  usage: input.leg.usage,
  charges: input.leg.charges,
  followUps: input.followUps,
  model: input.leg.model,
  fault: input.end.status === "FAILED" ? input.end.fault : null,
  explanation: input.explanation
})

/** Brings a settlement to the store, again and again while the store is away. False: the run belongs to somebody else now. */
export const settle = (
  store: typeof RunStore.Service,
  lease: Lease,
  settlement: Settlement,
  timeout: Duration.Input
): Effect.Effect<Settled, StoreUnavailable, Principal> => repeatWhileAway(store.settle(lease, settlement), timeout)

const turns = labelled(
  Metric.counter("colloquy.turns", { description: "Legs of runs that were settled", incremental: true })
)
const tokens = labelled(Metric.counter("gen_ai.client.token.usage", { description: "Tokens used", incremental: true }))

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
