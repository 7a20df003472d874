/**
 * Pure: matches the outputs that a client submits to the open calls of a run. One list must answer every open call exactly once, in any
 * order. If anything does not match, it is named and nothing is changed.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ToolCall, ToolOutput, ToolResult } from "./ToolCall.ts"

export const ToolOutputProblem = Schema.Struct({
  toolCallId: Schema.String,
  /** Index in the submitted list; null for a call that the list leaves out. */
  index: Schema.NullOr(Schema.Int),
  problem: Schema.Literals(["unknown", "duplicate", "already_answered", "missing"])
})
export type ToolOutputProblem = typeof ToolOutputProblem.Type

export class ToolOutputsRejected extends Schema.TaggedError<ToolOutputsRejected>()("ToolOutputsRejected", {
  problems: Schema.Array(ToolOutputProblem)
}) {
  override get message() {
    const named = this.problems.map((each) => `${each.toolCallId} (${each.problem.replace("_", " ")})`).join(", ")
    return `The tool outputs do not match the open calls of the run: ${named}. Send one output for each open call, in one list.`
  }
}

/** Matches outputs to calls. The results come in the order of the calls. */
export const matchToolOutputs = (
  open: ReadonlyArray<ToolCall>,
  answered: ReadonlySet<string>,
  outputs: ReadonlyArray<ToolOutput>
): Result.Result<ReadonlyArray<ToolResult>, ToolOutputsRejected> => {
  const openIds = new Set(open.map((call) => call.id))
  const byId = new Map<string, ToolOutput>()
  const problems: Array<ToolOutputProblem> = []
  outputs.forEach((output, index) => {
    const toolCallId = output.toolCallId
    if (answered.has(toolCallId)) problems.push({ toolCallId, index, problem: "already_answered" })
    else if (!openIds.has(toolCallId)) problems.push({ toolCallId, index, problem: "unknown" })
    else if (byId.has(toolCallId)) problems.push({ toolCallId, index, problem: "duplicate" })
    else byId.set(toolCallId, output)
  })
  const results: Array<ToolResult> = []
  for (const call of open) {
    const output = byId.get(call.id)
    if (output === undefined) problems.push({ toolCallId: call.id, index: null, problem: "missing" })
    else results.push({ toolCallId: call.id, toolName: call.name, output: output.output, hosted: false })
  }
  return problems.length === 0 ? Result.succeed(results) : Result.fail(new ToolOutputsRejected({ problems }))
}
