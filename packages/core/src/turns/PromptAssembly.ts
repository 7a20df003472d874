/**
 * Step 6 of a turn, pure: one request that fits the model's window, and the explanation of what went in. The order is the order of
 * stability: system prompt, tools, history, the turn itself; so a prefix that was sent once is sent again byte for byte.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ChatMessage } from "../models/ChatRequest.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { History, Message, Step } from "../threads/Message.ts"
import type { ToolCall, ToolResult } from "../tools/ToolCall.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import { pack, sizeOf, tokensPerMessage, toUnits } from "./ContextWindow.ts"
import { ContextTooLong } from "./TurnErrors.ts"
import type { ContextUsage } from "./TurnEvent.ts"

/** Which parts went into a prompt with how many tokens, and what was left out and why. */
export const Explanation = Schema.Struct({
  model: Schema.String,
  contextLimit: Schema.NullOr(Schema.Int),
  /** Kept free for the answer. */
  reservedForAnswer: Schema.Int,
  usedTokens: Schema.Int,
  parts: Schema.Array(
    Schema.Struct({
      part: Schema.Literals(["system", "tools", "history", "turn"]),
      tokens: Schema.Int,
      messages: Schema.Int
    })
  ),
  leftOut: Schema.Array(
    Schema.Struct({ part: Schema.Literal("history"), messages: Schema.Int, tokens: Schema.Int, because: Schema.String })
  )
})
export type Explanation = typeof Explanation.Type

/** Room in the model's window, before any history. */
export interface Room {
  readonly contextLimit: number | null
  readonly reservedForAnswer: number
  /** Tokens that a prompt may have. */
  readonly forPrompt: number
}

export const roomFor = (info: ModelInfo, assumedContextLimit: number): Room => {
  const limit = info.contextLimit ?? assumedContextLimit
  const reservedForAnswer = Math.min(info.maxOutputTokens ?? 8192, Math.floor(limit / 4))
  return { contextLimit: info.contextLimit, reservedForAnswer, forPrompt: limit - reservedForAnswer }
}

/** What every prompt of the turn begins with. */
export interface Preamble {
  readonly system: string | null
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly systemTokens: number
  readonly toolTokens: number
}

export const preambleOf = (
  system: string | null,
  tools: ReadonlyArray<ToolDefinition>,
  counter: TokenCounterPort
): Preamble => ({
  system,
  tools,
  systemTokens: system === null ? 0 : counter.count(system) + tokensPerMessage,
  toolTokens: tools.length === 0 ? 0 : counter.count(JSON.stringify(tools)) + tokensPerMessage
})

/** Refuses a turn that can never fit: checked before anything is stored. */
export const checkRoom = (
  preamble: Preamble,
  messageTokens: number,
  room: Room,
  model: string
): Result.Result<void, ContextTooLong> => {
  const needed = preamble.systemTokens + preamble.toolTokens + messageTokens + tokensPerMessage
  return needed <= room.forPrompt
    ? Result.void
    : Result.fail(new ContextTooLong({ needed, available: room.forPrompt, model }))
}

export interface AssembledPrompt {
  readonly messages: ReadonlyArray<ChatMessage>
  readonly promptTokens: number
  readonly explanation: Explanation
}

/** `steps` are those of the leg that goes on, which no stored message holds yet. */
export const assemble = (input: {
  readonly preamble: Preamble
  readonly room: Room
  readonly provider: string
  readonly model: string
  readonly runId: RunId
  readonly history: History
  readonly steps: ReadonlyArray<Step>
  readonly counter: TokenCounterPort
}): Result.Result<AssembledPrompt, ContextTooLong> => {
  const { preamble, room, history } = input
  const earlier: Array<Message> = []
  const current: Array<Message> = []
  for (const message of history.messages) (message.runId === input.runId ? current : earlier).push(message)
  const stepMessages: Array<ChatMessage> = []
  for (const step of input.steps) addStep(stepMessages, step, [], input.provider)
  const turnTokens =
    current.reduce((sum, message) => sum + sizeOf(message), 0) +
    stepMessages.reduce((sum, message) => sum + input.counter.count(textOf(message)) + tokensPerMessage, 0)
  const fixed = preamble.systemTokens + preamble.toolTokens + turnTokens
  if (fixed > room.forPrompt) {
    return Result.fail(new ContextTooLong({ needed: fixed, available: room.forPrompt, model: input.model }))
  }
  const packed = pack(toUnits(earlier), history.older, room.forPrompt - fixed, Math.max(1, room.forPrompt >> 3))
  const keptMessages = packed.kept.flatMap((unit) => unit.messages)
  const messages: Array<ChatMessage> = []
  for (const message of keptMessages) addMessage(messages, message, input.provider)
  for (const message of current) addMessage(messages, message, input.provider)
  messages.push(...stepMessages)
  const promptTokens = fixed + packed.keptTokens
  return Result.succeed({
    messages,
    promptTokens,
    explanation: {
      model: input.model,
      contextLimit: room.contextLimit,
      reservedForAnswer: room.reservedForAnswer,
      usedTokens: promptTokens,
      parts: [
        { part: "system", tokens: preamble.systemTokens, messages: preamble.system === null ? 0 : 1 },
        { part: "tools", tokens: preamble.toolTokens, messages: 0 },
        { part: "history", tokens: packed.keptTokens, messages: keptMessages.length },
        { part: "turn", tokens: turnTokens, messages: current.length + stepMessages.length }
      ],
      leftOut:
        packed.leftOut.messages === 0
          ? []
          : [{ part: "history", ...packed.leftOut, because: "older than what fits into the model's window" }]
    }
  })
}

export const contextUsageOf = (explanation: Explanation): ContextUsage => ({
  model: explanation.model,
  usedTokens: explanation.usedTokens,
  contextLimit: explanation.contextLimit,
  percent:
    explanation.contextLimit === null
      ? null
      : Math.round((explanation.usedTokens / explanation.contextLimit) * 1000) / 10,
  summaryTokens: 0
})

/** A call that was never answered (a run that was cancelled, superseded or cut) is closed with these words. */
const unansweredCall = "No result: the conversation went on before this call was answered."

const addMessage = (into: Array<ChatMessage>, message: Message, provider: string): void => {
  if (message.role === "user") {
    into.push({ role: "user", content: [{ type: "text", text: message.content ?? "" }] })
  } else if (message.steps.length > 0) {
    for (const step of message.steps) addStep(into, step, message.toolResults, provider)
  } else if (message.content !== null) {
    into.push({ role: "assistant", content: message.content, toolCalls: [], providerData: null })
  }
}

const addStep = (
  into: Array<ChatMessage>,
  step: Step,
  submitted: ReadonlyArray<ToolResult>,
  provider: string
): void => {
  // A step of nothing but data for another provider says nothing to this one.
  if (step.text === "" && step.toolCalls.length === 0 && step.providerData?.provider !== provider) return
  into.push({ role: "assistant", content: step.text, toolCalls: step.toolCalls, providerData: step.providerData })
  const results = [...step.hostedResults, ...submitted]
  const resultOf = ({ id }: ToolCall) => results.find(({ toolCallId }) => toolCallId === id)
  for (const call of step.toolCalls) into.push(toolMessage(call, resultOf(call)))
}

const toolMessage = (call: ToolCall, result: ToolResult | undefined): ChatMessage => ({
  role: "tool",
  toolCallId: call.id,
  toolName: call.name,
  output: result?.output ?? unansweredCall
})

const textOf = (message: ChatMessage): string => {
  switch (message.role) {
    case "user":
      return message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    case "assistant":
      return message.content + message.toolCalls.map((call) => call.name + call.arguments).join("")
    case "tool":
      return message.output
  }
}
