/**
 * Decides the error of a failed run in which tools were called. Pure. The tools may have had an effect already, or their work may go on
 * elsewhere: a video may still be in production, and it costs money. So the error tells the user to look at the thread first, and is never
 * marked as retryable. Used by `EndLeg` and `Recovery`.
 */
import type { LegEnd } from "./Settlement.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

export const interruptedCode = "interrupted"

const lookFirst =
  "The work of these tools may be finished or may still go on. Look at the thread before you send the message again."

/** `leg` is the number of the leg. In every leg after the first (number 0), the client's tools were called before. */
export const afterTools = (end: LegEnd, { steps }: Pick<RecordedLeg, "steps">, leg: number): LegEnd => {
  const hasCalled = leg > 0 || steps.some(({ toolCalls }) => toolCalls.length > 0)
  if (end.status !== "FAILED" || !end.fault.retryable || !hasCalled) return end
  const { code } = end.fault
  const fact =
    code === interruptedCode
      ? "The server stopped while tools of this run were working."
      : `The run failed (${code}) after tools had been called in it.`
  return { status: "FAILED", fault: { code, message: `${fact} ${lookFirst}`, retryable: false } }
}
