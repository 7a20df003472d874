/**
 * Step 8 of a turn, pure: the end of one leg, computed from its events and from the way it ended. Used for legs that this process ran
 * (`EndLeg`) and for legs of other processes (`Recovery`): the same events give the same message, usage and terminal event.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { withValues } from "../threads/Supplement.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { RunFault } from "../threads/Message.ts"
import type { Lease } from "../runs/LogRecords.ts"
import type { Settlement } from "../runs/RunStore.ts"
import { summarizeUsage, Explanation } from "../prompts/Explanation.ts"
import { shownCalls } from "../tools/ToolCall.ts"
import { childEndKind } from "./ChildEnd.ts"
import type { TerminalEvent, TurnEvent } from "./TurnEvent.ts"
import { answerMessage, endReason } from "./AnswerMessage.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

/** The four ways in which a leg ends. */
export type LegEnd =
  | { readonly status: "COMPLETED" }
  | { readonly status: "REQUIRES_ACTION" }
  | { readonly status: "CANCELLED" }
  | { readonly status: "FAILED"; readonly fault: RunFault }

/** The last event of a leg in which a model was called or would have been called. */
export type LegEndEvent = Exclude<TerminalEvent, { readonly _tag: "MessageSaved" }>

export const terminalEvent = (
  leg: RecordedLeg,
  end: LegEnd,
  explanation: Explanation | null,
  sequence: number
): LegEndEvent => {
  const common = {
    sequence,
    messageId: leg.messageId,
    content: leg.content,
    provider: leg.provider,
    model: leg.model,
    ...(leg.assistant === null ? {} : { assistant: leg.assistant }),
    usage: leg.usage,
    contextUsage: explanation === null ? null : summarizeUsage(explanation),
    stopReason: endReason(end.status, leg),
    ...withValues(leg.supplements),
    ...(leg.keptAs === undefined ? {} : { keptAs: leg.keptAs })
  }
  switch (end.status) {
    case "COMPLETED":
      return { _tag: "RunEnded", ...common }
    case "REQUIRES_ACTION":
      return { _tag: "ToolSubmitRequired", ...common, toolCalls: shownCalls(leg.openCalls) }
    case "CANCELLED":
      return { _tag: "RunCancelled", ...common }
    case "FAILED":
      return {
        _tag: "RunFailed",
        ...common,
        error: end.fault.message,
        code: end.fault.code,
        retryable: end.fault.retryable,
        ...(end.fault.detail === undefined ? {} : { detail: end.fault.detail })
      }
  }
}

/** Decodes an explanation from the store. An older or a newer version may have written it; null if this version cannot read it. */
export const decodeExplanation = (json: unknown): Explanation | null => Option.getOrNull(readExplanation(json))

const readExplanation = Schema.decodeUnknownOption(Schema.NullOr(Explanation))

export const makeSettlement = (input: {
  readonly lease: Lease
  readonly leg: RecordedLeg
  readonly end: LegEnd
  readonly explanation: Explanation | null
  readonly terminal: TerminalEvent
  /** Events before the terminal event that the store may not have. */
  readonly rest: ReadonlyArray<TurnEvent>
  readonly counter: TokenCounterPort
  readonly followUps: Settlement["followUps"]
  readonly approved: Settlement["approved"]
}): Settlement => {
  const { leg } = input
  const fault = input.end.status === "FAILED" ? input.end.fault : null
  return {
    status: input.end.status,
    events: [...input.rest, input.terminal],
    answer: answerMessage(
      leg,
      { threadId: input.lease.threadId, runId: input.lease.runId, status: input.end.status, fault },
      input.counter
    ),
    usage: leg.usage,
    modelCalls: leg.modelCalls,
    firstTokenAt: leg.firstTokenAt,
    charges: leg.charges,
    approved: input.approved,
    followUps: input.followUps,
    model: leg.model,
    fault,
    explanation: input.explanation
  }
}

const notStorable: RunFault = {
  code: "answer_not_stored",
  message:
    "The database refused the content of the answer, so the answer was not stored. The operator finds the cause in the server's log.",
  retryable: false
}

/** Makes a settlement that every store accepts: the end of the leg and its usage, without any text that a model wrote. */
export const storable = (settlement: Settlement, terminal: LegEndEvent) => {
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
    stopReason: null,
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
      fault: notStorable,
      stopReason: null,
      toolCalls: [],
      toolResults: [],
      steps: [],
      supplements: null,
      tokens: 0
    },
    approved: null,
    followUps: settlement.followUps.filter(({ kind }) => kind === childEndKind),
    fault: notStorable,
    explanation: null
  }
  return { settlement: least, terminal: failed }
}
