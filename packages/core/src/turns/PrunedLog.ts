/**
 * The end of a run at rest, made from the run's record and its stored answer: for a run whose log was removed, because it was older than the
 * host keeps logs, and for one that still waits after some of its calls were answered. Deltas, calls and charges of the leg are not sent again.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run, RunStatus } from "../runs/Run.ts"
import type { RunStore } from "../runs/RunStore.ts"
import { withValues } from "../threads/Supplement.ts"
import { openNow } from "../threads/InnerCalls.ts"
import type { RunIds } from "../tools/ToolCall.ts"
import type { Message } from "../threads/Message.ts"
import { withIdentity } from "./Recovery.ts"
import { decodeExplanation, type LegEnd, terminalEvent } from "./Settlement.ts"
import type { TerminalEvent } from "./TurnEvent.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import { decodePlan } from "./TurnPlan.ts"
import { replyOfEnd } from "./TurnReply.ts"
import { recordLeg } from "./TurnRecorder.ts"

/** `usage` is the usage of all legs of the run. */
export const endOfPrunedRun = (
  store: Pick<typeof RunStore.Service, "messages">,
  counter: TokenCounterPort,
  run: Run
): Effect.Effect<TerminalEvent, StoreUnavailable, Principal> =>
  Effect.flatMap(store.messages(run.id), (messages) => endFromRecord(store, messages, counter, run))

const endFromRecord = Effect.fnUntraced(function* (
  store: Pick<typeof RunStore.Service, "messages">,
  messages: ReadonlyArray<Message>,
  counter: TokenCounterPort,
  run: Run
): Effect.fn.Return<TerminalEvent, StoreUnavailable, Principal> {
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
    openCalls: answer === undefined ? [] : yield* openNow(answer, readAnswer(store)),
    usage: run.usage,
    stopReason: answer === undefined || answer.stopReason === "tools" ? null : answer.stopReason,
    supplements: answer?.supplements ?? null
  }
  return terminalEvent(leg, legEndFromRun(run), decodeExplanation(run.explanation), sequence)
})

/** The newest answer of a run. */
const readAnswer =
  (store: Pick<typeof RunStore.Service, "messages">) =>
  ({ runId }: RunIds): Effect.Effect<Message | undefined, StoreUnavailable, Principal> =>
    Effect.map(store.messages(runId), (messages) => messages.at(-1))

/** A turn whose run is at rest. `open` are the calls that it still waits for. */
export const restedTurn = Effect.fnUntraced(function* (
  store: Pick<typeof RunStore.Service, "messages">,
  counter: TokenCounterPort,
  run: Run
): Effect.fn.Return<StartedTurn, StoreUnavailable, Principal> {
  const messages = yield* store.messages(run.id)
  const end = yield* endFromRecord(store, messages, counter, run)
  const { assistantId, id: runId, threadId } = run
  const ids = { threadId, assistantId, runId }
  const answer = messages.find(({ id }) => id === run.answerId)
  const { ignored } = decodePlan(run.plan)
  const reply = replyOfEnd(ids, end, [], { createdAt: answer?.createdAt ?? run.createdAt, ignored })
  return {
    ...ids,
    ignored,
    ...(end._tag === "ToolSubmitRequired" ? { open: end.toolCalls.map(({ id }) => id) } : {}),
    events: Stream.succeed(end),
    reply: Effect.succeed(reply)
  }
})

const legEndFromRun = ({ fault, status }: Run): LegEnd =>
  status === "FAILED" ? { status, fault: fault ?? unknownFault } : { status: asEnd(status) }

/** A run at rest has no other status. */
const asEnd = (status: RunStatus): "COMPLETED" | "REQUIRES_ACTION" | "CANCELLED" =>
  status === "COMPLETED" || status === "REQUIRES_ACTION" ? status : "CANCELLED"

const unknownFault = {
  code: "unknown",
  message: "The run failed. Its reason was not kept; send the message again.",
  retryable: false
}
