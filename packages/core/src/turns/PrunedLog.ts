/**
 * The end of a run at rest whose log was removed, because the log was older than the host keeps logs. It is made from the run's record and
 * its stored answer. Deltas, calls and charges of the leg are not sent again.
 */
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run, RunStatus } from "../runs/Run.ts"
import type { RunStore } from "../runs/RunStore.ts"
import { withValues } from "../threads/Supplement.ts"
import { withIdentity } from "./Recovery.ts"
import { decodeExplanation, type LegEnd, terminalEvent } from "./Settlement.ts"
import type { TerminalEvent } from "./TurnEvent.ts"
import { decodePlan } from "./TurnPlan.ts"
import { recordLeg } from "./TurnRecorder.ts"

/** `usage` is the usage of all legs of the run. */
export const endOfPrunedRun = (
  store: Pick<typeof RunStore.Service, "messages">,
  counter: TokenCounterPort,
  run: Run
): Effect.Effect<TerminalEvent, StoreUnavailable, Principal> =>
  Effect.map(store.messages(run.id), (messages) => {
    const sequence = run.lastSequence
    if (run.status === "COMPLETED" && decodePlan(run.plan).saves === true) {
      const saved = messages.find(({ id }) => id === run.userMessageId)
      const at = (run.endedAt ?? run.createdAt).toISOString()
      return {
        _tag: "MessageSaved",
        sequence,
        messageId: run.userMessageId,
        at,
        ...withValues(saved?.supplements ?? null)
      }
    }
    const answer = messages.find(({ id }) => id === run.answerId)
    const leg = {
      ...withIdentity(recordLeg([], counter), run),
      content: answer?.content ?? "",
      openCalls: answer?.toolCalls ?? [],
      usage: run.usage,
      stopReason: answer === undefined || answer.stopReason === "tools" ? null : answer.stopReason,
      supplements: answer?.supplements ?? null
    }
    return terminalEvent(leg, endOf(run), decodeExplanation(run.explanation), sequence)
  })

const endOf = ({ fault, status }: Run): LegEnd =>
  status === "FAILED" ? { status, fault: fault ?? unknownFault } : { status: asEnd(status) }

/** A run at rest has no other status. */
const asEnd = (status: RunStatus): "COMPLETED" | "REQUIRES_ACTION" | "CANCELLED" =>
  status === "COMPLETED" || status === "REQUIRES_ACTION" ? status : "CANCELLED"

const unknownFault = {
  code: "unknown",
  message: "The run failed. Its reason was not kept; send the message again.",
  retryable: false
}
