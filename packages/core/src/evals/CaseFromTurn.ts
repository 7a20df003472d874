/** Pure: stored messages as those of a case, and what the tools of a turn returned. Each step of an answer becomes a message, as a model reads it. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { promptOutput } from "../prompts/PromptMessages.ts"
import type { Message } from "../threads/Message.ts"
import type { ToolCall, ToolResult } from "../tools/ToolCall.ts"
import type { CaseMessage, RecordedTool } from "./Case.ts"

interface SaidStep {
  readonly text: string | null
  readonly calls: ReadonlyArray<{ readonly call: ToolCall; readonly result: ToolResult | undefined }>
}

/** An answer that an older version stored may have calls and no steps. */
const saidSteps = ({ content, steps, toolCalls, toolResults }: Message): ReadonlyArray<SaidStep> => {
  const all = steps.length > 0 ? steps : [{ text: content ?? "", toolCalls, hostedResults: [] }]
  return all.map((step) => {
    const results = new Map([...toolResults, ...step.hostedResults].map((result) => [result.toolCallId, result]))
    return {
      text: step.text === "" && step.toolCalls.length > 0 ? null : step.text,
      calls: step.toolCalls.map(({ arguments: text, id, name }) => ({
        call: { id, name, arguments: text },
        result: results.get(id)
      }))
    }
  })
}

/** The text of a call that was never answered, which a case needs in the middle of a conversation. */
const unanswered = "No result: the conversation went on before this call was answered."

export const caseMessages = (messages: ReadonlyArray<Message>): ReadonlyArray<CaseMessage> =>
  messages.flatMap((message): ReadonlyArray<CaseMessage> => {
    if (message.role === "user") return [{ role: "user", content: message.content ?? "" }]
    return saidSteps(message).flatMap(({ calls, text }): ReadonlyArray<CaseMessage> => {
      if (calls.length === 0) return text === null || text === "" ? [] : [{ role: "assistant", content: text }]
      return [
        { role: "assistant", content: text, toolCalls: calls.map(({ call }) => call) },
        ...calls.map(({ call, result }) => ({
          role: "tool" as const,
          content: result === undefined ? unanswered : promptOutput(result),
          toolCallId: call.id
        }))
      ]
    })
  })

/** No tool was called with other arguments: the kernel said so itself, and says it again. */
const isCallable = ({ call }: SaidStep["calls"][number]): boolean => Option.isSome(readArguments(call.arguments))
const readArguments = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.JsonObject))

/** What the model read as results of its calls in these answers, in the order of the calls. */
export const recordedTools = (answers: ReadonlyArray<Message>): ReadonlyArray<RecordedTool> =>
  answers.flatMap((answer) =>
    saidSteps(answer).flatMap(({ calls }) =>
      calls
        .filter(isCallable)
        .flatMap(({ call, result }) =>
          result === undefined || result.isPending === true
            ? []
            : [{ name: call.name, arguments: call.arguments, output: promptOutput(result) }]
        )
    )
  )
