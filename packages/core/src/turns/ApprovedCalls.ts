/** Pure: the results of a message, and the history with them, after its approved calls have run. */
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { RunId } from "../primitives/Ids.ts"
import { promptOutput } from "../prompts/PromptMessages.ts"
import type { ApprovedResults } from "../runs/RunStore.ts"
import type { History } from "../threads/Message.ts"
import type { ToolResult } from "../tools/ToolCall.ts"

/** `ran` are the outputs of the leg's log. A call without one stays as it is: nobody knows what became of it. */
export const approvedResults = (
  results: ReadonlyArray<ToolResult>,
  ran: ReadonlyArray<ToolResult>,
  counter: TokenCounterPort
): ApprovedResults => {
  let tokens = 0
  const all = results.map((result) => {
    const found = result.isPending === true ? ran.find(({ toolCallId }) => toolCallId === result.toolCallId) : undefined
    if (found === undefined) return result
    const { isPending: _, ...known } = result
    const now = { ...known, output: found.output }
    tokens += counter.count(promptOutput(now))
    return now
  })
  return { results: all, tokens }
}

/** The results belong to the run's newest message. */
export const withResults = (
  { messages, older }: History,
  runId: RunId,
  { results, tokens }: ApprovedResults
): History => {
  const last = messages.findLastIndex((message) => message.runId === runId)
  const changed = messages.map((message, index) =>
    index === last ? { ...message, toolResults: results, tokens: message.tokens + tokens } : message
  )
  return { messages: changed, older }
}
