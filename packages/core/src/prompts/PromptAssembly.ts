/**
 * Step 6 of a turn, pure: makes one request that fits the model's window, and the explanation of its parts. The most stable parts come
 * first (system prompt, tools, summary, history, recalled parts, the turn itself), so that the beginning of the prompt stays byte-equal. If
 * history and recalled parts need more room than there is, the room is shared by weight.
 */
import * as Result from "effect/Result"
import type { ChatMessage } from "../models/ChatRequest.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { History, Message, Step } from "../threads/Message.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import { ContextTooLong } from "./ContextTooLong.ts"
import { messageSize, mostLeftOut, pack, tokensPerMessage, toUnits } from "./ContextWindow.ts"
import type { Explanation } from "./Explanation.ts"
import { addMessage, addStep, type Rendered, messageText } from "./PromptMessages.ts"
import { fitPart, type FittedPart, historyWeight, type PromptPart, shareRoom, sizeOfPart } from "./PromptPart.ts"

/** The room in the model's window, before any history. */
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

/** The beginning of every prompt of the turn. */
export interface Preamble {
  readonly system: string | null
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly systemTokens: number
  readonly toolTokens: number
}

export const makePreamble = (
  system: string | null,
  tools: ReadonlyArray<ToolDefinition>,
  counter: TokenCounterPort
): Preamble => ({
  system,
  tools,
  systemTokens: system === null ? 0 : counter.count(system) + tokensPerMessage,
  toolTokens: tools.length === 0 ? 0 : counter.count(JSON.stringify(tools)) + tokensPerMessage
})

/** Refuses a turn that can never fit, before anything is stored. */
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
  /**
   * How many of the thread's oldest messages this prompt leaves out, and the next one as well: it has the room of this one, less an answer and
   * a question as long as the one here, or an eighth of the window.
   */
  readonly leavingSoon: number
}

export interface PromptInput {
  readonly preamble: Preamble
  readonly room: Room
  readonly provider: string
  readonly model: string
  readonly runId: RunId
  readonly history: History
  /** The steps of the current leg, which are not part of a stored message yet. */
  readonly steps: ReadonlyArray<Step>
  /** Messages at the end that belong to no answer: what the kernel itself has to say to the model. */
  readonly asides: ReadonlyArray<ChatMessage>
  readonly recalled: ReadonlyArray<PromptPart>
  readonly rendered: Rendered
  readonly counter: TokenCounterPort
}

export const assemble = (input: PromptInput): Result.Result<AssembledPrompt, ContextTooLong> => {
  const { counter, history, preamble, provider, room, runId } = input
  const earlier: Array<Message> = []
  const current: Array<Message> = []
  for (const message of history.messages) (message.runId === runId ? current : earlier).push(message)
  const stepMessages: Array<ChatMessage> = []
  for (const step of input.steps) addStep(stepMessages, step, [], provider)
  stepMessages.push(...input.asides)
  const turnTokens =
    current.reduce((sum, message) => sum + messageSize(message), 0) +
    stepMessages.reduce((sum, message) => sum + counter.count(messageText(message)) + tokensPerMessage, 0)
  const fixed = preamble.systemTokens + preamble.toolTokens + turnTokens
  if (fixed > room.forPrompt) {
    return Result.fail(new ContextTooLong({ needed: fixed, available: room.forPrompt, model: input.model }))
  }
  const units = toUnits(earlier)
  const shares = share(
    input,
    units.reduce((sum, unit) => sum + unit.tokens, history.older.tokens),
    room.forPrompt - fixed
  )
  const stride = Math.max(1, room.forPrompt >> 3)
  const packed = pack(units, history.older, shares.history, stride)
  const recalledTokens = shares.recalled.reduce((sum, part) => sum + part.tokens, 0)
  const roomSoon = room.forPrompt - fixed - recalledTokens - Math.max(stride, 2 * turnTokens)
  const messages: Array<ChatMessage> = []
  const past = partTexts(shares.recalled, "history")
  const keptMessages = packed.kept.flatMap((unit) => unit.messages)
  keptMessages.forEach((message, index) =>
    addMessage(messages, message, provider, input.rendered, index === 0 ? past : [])
  )
  const material = partTexts(shares.recalled, "turn")
  current.forEach((message, index) => {
    const before = index > 0 ? [] : keptMessages.length === 0 ? [...past, ...material] : material
    addMessage(messages, message, provider, input.rendered, before)
  })
  messages.push(...stepMessages)
  const promptTokens = fixed + packed.keptTokens + recalledTokens
  return Result.succeed({
    messages,
    promptTokens,
    leavingSoon:
      packed.leftOut.messages === 0 && packed.keptTokens <= roomSoon
        ? 0
        : mostLeftOut(units, history.older, roomSoon, stride),
    explanation: {
      model: input.model,
      contextLimit: room.contextLimit,
      reservedForAnswer: room.reservedForAnswer,
      usedTokens: promptTokens,
      parts: [
        { part: "system", tokens: preamble.systemTokens, messages: preamble.system === null ? 0 : 1 },
        { part: "tools", tokens: preamble.toolTokens, messages: 0 },
        { part: "history", tokens: packed.keptTokens, messages: keptMessages.length },
        ...shares.recalled.map(({ items, name, tokens }) => ({ part: name, tokens, messages: items })),
        { part: "turn", tokens: turnTokens, messages: current.length + stepMessages.length }
      ],
      leftOut: [
        ...(packed.leftOut.messages === 0
          ? []
          : [{ part: "history", ...packed.leftOut, because: "older than what fits into the model's window" }]),
        ...shares.recalled.flatMap(({ leftOut, name }) =>
          leftOut.items === 0
            ? []
            : [
                {
                  part: name,
                  messages: leftOut.items,
                  tokens: leftOut.tokens,
                  because: "no room in the model's window"
                }
              ]
        )
      ]
    }
  })
}

/** The tokens that the history may use, and the fitting content of each recalled part. */
const share = (
  { counter, recalled }: PromptInput,
  historyTokens: number,
  room: number
): { readonly history: number; readonly recalled: ReadonlyArray<PlacedPart> } => {
  if (recalled.length === 0) return { history: room, recalled: [] }
  const sizes = recalled.map((part) => sizeOfPart(part, counter))
  const [history = 0, ...rooms] = shareRoom(room, [
    { wants: historyTokens, weight: historyWeight },
    ...recalled.map(({ weight }, index) => ({ wants: sizes[index] ?? 0, weight }))
  ])
  return {
    history,
    recalled: recalled.map((part, index) => ({ ...fitPart(part, rooms[index] ?? 0, counter), place: part.place }))
  }
}

interface PlacedPart extends FittedPart {
  readonly place: PromptPart["place"]
}

const partTexts = (parts: ReadonlyArray<PlacedPart>, place: PromptPart["place"]): ReadonlyArray<string> =>
  parts.filter((part) => part.place === place && part.text !== "").map(({ text }) => text)
