/**
 * Pure: the part of the conversation that a model of typed answers gets. Whole runs are kept, the newest that fit. The running turn is
 * always included; if it does not fit, the question cannot be asked.
 */
import type { History, Message } from "../threads/Message.ts"
import type { RunId } from "../primitives/Ids.ts"
import { pack, messageSize, toUnits } from "../prompts/ContextWindow.ts"
import type { AnswerContext } from "./AnswerContext.ts"

export type ShownMessages = NonNullable<AnswerContext["messages"]>

/** `room` is the number of tokens that are left for the conversation. Undefined: the running turn does not fit. */
export const messagesWithin = (history: History, runId: RunId, room: number): ShownMessages | undefined => {
  const current = history.messages.filter((message) => message.runId === runId)
  const earlier = history.messages.filter((message) => message.runId !== runId)
  const left = room - current.reduce((sum, message) => sum + messageSize(message), 0)
  if (left < 0) return undefined
  const { kept } = pack(toUnits(earlier), history.older, left, Math.max(1, room >> 3))
  return [...kept.flatMap(({ messages }) => messages), ...current].flatMap(shown)
}

/** A message without text (a failed answer, a picture) is left out, because this model reads text only. */
const shown = ({ content, role }: Message): ShownMessages =>
  content === null || content === "" ? [] : [{ role, content }]
