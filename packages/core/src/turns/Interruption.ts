/**
 * Pure: what an interrupted run says when tools of the server had been called in it. Their work may have had its effect, or goes on elsewhere (a
 * video is still being made, and paid for), so the same message must not be sent again without a look. `EndLeg` and `Recovery` ask it.
 */
import type { LegEnd } from "./Settlement.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

export const interruptedCode = "interrupted"

const message =
  "The server went away while tools of this run were at work. What they began may be done, or go on: look at the thread before you send the message again."

export const afterTools = (end: LegEnd, { steps }: Pick<RecordedLeg, "steps">): LegEnd => {
  const isInterrupted = end.status === "FAILED" && end.fault.code === interruptedCode
  if (!isInterrupted || steps.every(({ toolCalls }) => toolCalls.length === 0)) return end
  return { status: "FAILED", fault: { code: interruptedCode, message, retryable: false } }
}
