/**
 * A message as a list shows it. A store that keeps messages as JSON gives those in which nothing but text was said as the JSON that it has,
 * so that a long list is not read only to be written again. Used by what writes lists (`http`); what looks into messages asks for `Message`.
 */
import type { ThreadId } from "../primitives/Ids.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Message } from "./Message.ts"

/** No calls, no results, no steps, nothing of a part of a turn. */
export interface PlainMessage {
  readonly threadId: ThreadId
  readonly createdAt: Date
  readonly usage: Usage | null
  /** Fields of the message, each as the text that `JSON.stringify` makes of it. */
  readonly json: {
    readonly [Field in "id" | "runId" | "role" | "status" | "content" | "provider" | "model" | "metadata"]: string
  }
}

export type ListedMessage = Message | PlainMessage

export const isPlain = (message: ListedMessage): message is PlainMessage => "json" in message
