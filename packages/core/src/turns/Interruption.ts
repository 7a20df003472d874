/**
 * Pure: what a failed run says when tools had been called in it. Their work may have had its effect, or goes on elsewhere (a video is still
 * being made, and paid for), so the same message must not be sent again without a look, whatever the failure was. `EndLeg` and `Recovery`
 * ask it.
 */
import type { LegEnd } from "./Settlement.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

export const interruptedCode = "interrupted"

const lookFirst = "What they began may be done, or go on: look at the thread before you send the message again."

/** `leg` is the number of the leg: in every leg but the first (0), the client's tools were called before. */
export const afterTools = (end: LegEnd, { steps }: Pick<RecordedLeg, "steps">, leg: number): LegEnd => {
  const hasCalled = leg > 0 || steps.some(({ toolCalls }) => toolCalls.length > 0)
  if (end.status !== "FAILED" || !end.fault.retryable || !hasCalled) return end
  const { code } = end.fault
  const fact =
    code === interruptedCode
      ? "The server went away while tools of this run were at work."
      : `The run failed (${code}) after tools had been called in it.`
  return { status: "FAILED", fault: { code, message: `${fact} ${lookFirst}`, retryable: false } }
}
