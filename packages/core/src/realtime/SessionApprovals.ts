/** Pure: calls of hosted tools that wait for the decision of a person, in a session whose client asks one. */
import type { Decided, SessionState, CallDecision } from "./SessionSteps.ts"
import { complain, stay, tell } from "./SessionSteps.ts"
import { readArguments } from "./ToolCallLedger.ts"

export const askApproval = (state: SessionState, toolCallId: string): Decided => {
  const entry = state.ledger.get(toolCallId)
  if (entry?.state !== "running" || state.phase !== "live") return stay(state)
  const { call } = entry
  return {
    state: { ...state, undecided: new Set(state.undecided).add(toolCallId) },
    actions: [tell({ _tag: "ApprovalNeeded", toolCallId, name: call.name, arguments: readArguments(call) })]
  }
}

/** Each call is decided once. A call that has ended in the meantime waits for nothing. */
export const decideApproval = (state: SessionState, { isApproved, reason, toolCallId }: CallDecision): Decided => {
  const undecided = new Set(state.undecided)
  const isWaiting = undecided.delete(toolCallId) && state.ledger.get(toolCallId)?.state === "running"
  return isWaiting
    ? { state: { ...state, undecided }, actions: [{ _tag: "DecideHosted", toolCallId, isApproved, reason }] }
    : { state: { ...state, undecided }, actions: [complain("invalid_frame", unknownCall)] }
}

const unknownCall = "No call of this id waits for an approval: it was decided before, has ended, or never needed one."
