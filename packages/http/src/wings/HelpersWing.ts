/** Helpers: the runs of other assistants that an answer rests on. */
import { helperRunsIn } from "@colloquy/core/wings"
import type { Wing } from "./Wing.ts"

export const helpersWing: Wing = {
  part: "helpers",
  fields: ({ answer }) => {
    const runs = helperRunsIn(answer)
    if (runs.length === 0) return {}
    return {
      added: {
        helper_runs: runs.map(({ assistantId, name, runId, status, threadId, toolCallId }) => ({
          tool_call_id: toolCallId,
          name,
          assistant_id: assistantId,
          thread_id: threadId,
          run_id: runId,
          status
        }))
      }
    }
  }
}
