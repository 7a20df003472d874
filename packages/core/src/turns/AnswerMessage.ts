/** Pure: the message that is stored of a recorded leg. */
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import type { MessageStatus, NewMessage, RunFault, Step, StopReason } from "../threads/Message.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

/** An answer of a part has no model call, and is done. */
export const endReason = (
  status: MessageStatus,
  { stopReason }: Pick<RecordedLeg, "stopReason">
): StopReason | null => {
  if (status === "COMPLETED") return stopReason ?? "stop"
  return status === "REQUIRES_ACTION" ? "tools" : null
}

/** The stored message of a leg. Steps are stored only if they contain more than `content`. */
export const answerMessage = (
  leg: RecordedLeg,
  {
    fault,
    runId,
    status,
    threadId
  }: {
    readonly threadId: ThreadId
    readonly runId: RunId
    readonly status: MessageStatus
    readonly fault: RunFault | null
  },
  counter: TokenCounterPort
): NewMessage => {
  const isPlain = leg.steps.every((step) => step.toolCalls.length === 0 && step.providerData === null)
  return {
    id: leg.messageId,
    threadId,
    runId,
    role: "assistant",
    content: leg.content === "" ? null : leg.content,
    status,
    fault,
    stopReason: endReason(status, leg),
    // Only a leg that waits for its client has open calls. In every other leg the calls are part of the steps.
    toolCalls: status === "REQUIRES_ACTION" ? leg.openCalls : [],
    toolResults: [],
    steps: isPlain ? [] : leg.steps,
    provider: leg.provider,
    model: leg.model,
    assistant: leg.assistant,
    usage: leg.usage,
    metadata: null,
    supplements: leg.supplements,
    tokens: leg.steps.reduce((sum, step) => sum + stepTokens(step, counter), 0),
    createdAt: new Date(leg.at)
  }
}

const stepTokens = (step: Step, counter: TokenCounterPort): number =>
  counter.count(
    step.text +
      step.toolCalls.map((call) => call.name + call.arguments).join("") +
      step.hostedResults.map((result) => result.output).join("")
  )
