/** The window of a model call as one bar, and the messages that are new since the call before. Pure. */
import type { RunInspection } from "../wire.ts"

export type Prompt = RunInspection["prompts"][number]
export type PromptPart = Prompt["parts"][number]

export interface Segment {
  readonly name: string
  readonly tokens: number
  /** Share of the window, 0 to 1. */
  readonly share: number
}

/** The parts, the room kept for the answer, and the free room. If the window is unknown, the parts alone fill the bar. */
export const makeSegments = ({ parts }: Prompt, limit: number | null, reserved: number): ReadonlyArray<Segment> => {
  const used = parts.filter(({ estimated_tokens }) => estimated_tokens > 0)
  const sum = used.reduce((total, { estimated_tokens }) => total + estimated_tokens, 0)
  const whole = Math.max(limit ?? sum, sum, 1)
  const segments = used.map(({ estimated_tokens: tokens, part: name }) => ({ name, tokens, share: tokens / whole }))
  if (limit === null) return segments
  const kept = Math.max(0, Math.min(reserved, limit - sum))
  const free = Math.max(0, limit - sum - kept)
  return [
    ...segments,
    { name: "answer", tokens: kept, share: kept / whole },
    { name: "free", tokens: free, share: free / whole }
  ]
}

/** Whether each message of a part is new since the call before. */
export const newMessages = (part: PromptPart, before: Prompt | undefined): ReadonlyArray<boolean> => {
  const known = new Set(
    before?.parts.find((each) => each.part === part.part)?.messages.map(({ role, text }) => `${role} ${text}`)
  )
  return part.messages.map(({ role, text }) => before !== undefined && !known.has(`${role} ${text}`))
}
