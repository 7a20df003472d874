/** Results that are given from outside, before they are stored: parts rewrite them, and the next prompt must have room for them. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Principal } from "../access/Principal.ts"
import { cutTo } from "../models/ReportedFigures.ts"
import { ContextTooLong } from "../prompts/ContextTooLong.ts"
import { messageSize, tokensPerMessage } from "../prompts/ContextWindow.ts"
import { checkRoom } from "../prompts/PromptAssembly.ts"
import type { Message } from "../threads/Message.ts"
import type { ToolResult } from "../tools/ToolCall.ts"
import type { PlannedLeg } from "./Leg.ts"
import type { PartError } from "./RegisteredPart.ts"
import type { Rewrite } from "./Rewrite.ts"

export const rewriteOutputs = (
  rewrite: Rewrite | null,
  results: ReadonlyArray<ToolResult>,
  maxToolResult: number
): Effect.Effect<ReadonlyArray<ToolResult>, PartError, Principal> =>
  rewrite === null
    ? Effect.succeed(results.map(cutHosted(maxToolResult)))
    : Effect.forEach(results, (result) =>
        Effect.map(
          // What a person has decided is in words of the kernel, and the person's reason was rewritten before.
          result.decided === undefined ? rewrite(result.output) : Effect.succeed(result.output),
          (output) => cutHosted(maxToolResult)({ ...result, output })
        )
      )

/** The answer of a helper is cut as the output of any tool that the kernel runs, when it is rewritten. */
const cutHosted =
  (maxToolResult: number) =>
  (result: ToolResult): ToolResult =>
    result.hosted ? { ...result, output: cutTo(result.output, maxToolResult) } : result

/**
 * Checks the messages of the run, which the next prompt must contain. Outputs that make them too large for the model are refused, and the
 * run keeps waiting.
 */
export const checkOutputs = (
  { model, preamble, room }: PlannedLeg,
  messages: ReadonlyArray<Message>,
  outputTokens: number
) => {
  const turnTokens = messages.reduce((sum, message) => sum + messageSize(message), outputTokens)
  return Result.mapError(
    checkRoom(preamble, turnTokens - tokensPerMessage, room, model.model),
    ({ available, model: name, needed }) => new ContextTooLong({ available, model: name, needed, ofOutputs: true })
  )
}
