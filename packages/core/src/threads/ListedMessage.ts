/**
 * A message for lists. A store that keeps messages as JSON returns plain text messages as stored JSON, so that a long list is not parsed
 * only to be serialised again. For code that writes lists (`http`); code that reads the contents uses `Message`.
 */
import type { ThreadId } from "../primitives/Ids.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Message, StopReason } from "./Message.ts"

/** Why a message ended, if nothing is told of it: what a store need not keep for each of many plain answers. */
export const usualStop = ({
  role,
  status,
  toolCalls
}: Pick<Message, "role" | "status"> & { readonly toolCalls: ReadonlyArray<unknown> }): StopReason | null => {
  if (role === "user") return null
  if (toolCalls.length > 0) return "tools"
  return status === "COMPLETED" ? "stop" : null
}

/** A message without calls, results, steps, supplements and a fault, that ended as usual. */
export interface PlainMessage {
  readonly threadId: ThreadId
  readonly createdAt: Date
  readonly usage: Usage | null
  /** Fields of the message, and those of its `assistant`, each as the text that `JSON.stringify` returns for it. */
  readonly json: {
    readonly [
      Field in
        | "id"
        | "runId"
        | "role"
        | "status"
        | "content"
        | "provider"
        | "model"
        | "metadata"
        | "assistantId"
        | "assistantVersion"
    ]: string
  }
}

export type ListedMessage = Message | PlainMessage

/** Whether a message has nothing but its text. */
export const isPlain = (message: ListedMessage): message is PlainMessage => "json" in message
