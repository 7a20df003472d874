/**
 * A conversation as a client sends it whole: pure. OpenAI's clients carry the history themselves; the kernel's turns have one user's
 * message and a thread. So the last message of the user becomes the turn's. The messages before and behind it are a transcript, which the
 * model reads around it (`TranscriptPart`).
 */
import { ToolCall } from "@colloquy/core"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { invalid, type OpenAiError } from "./Errors.ts"

/**
 * A picture or sound: by an address that the vendor fetches, as it came (base64), or by its mark in `HeldMedia`, where a large one stays until
 * its turn has ended.
 */
export const MediaPart = Schema.Struct({
  type: Schema.Literals(["image", "audio"]),
  mediaType: Schema.String,
  url: Schema.optionalKey(Schema.String),
  base64: Schema.optionalKey(Schema.String),
  held: Schema.optionalKey(Schema.String)
})
export type MediaPart = typeof MediaPart.Type

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

const UserItem = Schema.Struct({
  role: Schema.Literal("user"),
  content: Schema.Array(Schema.Union([TextPart, MediaPart]))
})
const AssistantItem = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: Schema.String,
  toolCalls: Schema.Array(ToolCall)
})
const ToolItem = Schema.Struct({
  role: Schema.Literal("tool"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  output: Schema.String
})

export const Item = Schema.Union([UserItem, AssistantItem, ToolItem])
export type Item = typeof Item.Type
export type UserItem = typeof UserItem.Type

/** Items as they were read, and where each stood in the request. */
export interface ReadItem {
  readonly item: Item
  readonly param: string
}

export interface Conversation {
  /** The developer's messages, in their order. */
  readonly developer: ReadonlyArray<string>
  readonly items: ReadonlyArray<ReadItem>
}

export interface Split {
  readonly before: ReadonlyArray<Item>
  readonly current: UserItem
  readonly after: ReadonlyArray<Item>
}

export const textInItem = ({ content }: UserItem): string =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n")

export const mediaInItem = ({ content }: UserItem): ReadonlyArray<MediaPart> =>
  content.flatMap((part) => (part.type === "text" ? [] : [part]))

/** Every call must have its output right behind it, and every output its call: vendors refuse anything else. Outputs get their tool's name. */
export const checkCalls = (read: ReadonlyArray<ReadItem>): Result.Result<ReadonlyArray<Item>, OpenAiError> => {
  const items: Array<Item> = []
  const open = new Map<string, string>()
  const unanswered = () => {
    const ids = [...open.keys()].join(", ")
    return invalid(`These tool calls have no output: ${ids}. Send one for each of them, right behind the calls.`, null)
  }
  for (const { item, param } of read) {
    if (item.role === "tool") {
      const name = open.get(item.toolCallId)
      if (name === undefined)
        return Result.fail(invalid(`No tool call "${item.toolCallId}" stands before this output.`, param))
      open.delete(item.toolCallId)
      items.push({ ...item, toolName: name })
      continue
    }
    const before = items.at(-1)
    if (item.role === "assistant" && before?.role === "assistant" && (open.size > 0 || before.toolCalls.length === 0)) {
      // One answer in several items: its words, then each of its calls.
      items[items.length - 1] = {
        role: "assistant",
        content: [before.content, item.content].filter((text) => text !== "").join("\n\n"),
        toolCalls: [...before.toolCalls, ...item.toolCalls]
      }
    } else {
      if (open.size > 0) return Result.fail(unanswered())
      items.push(item)
    }
    if (item.role !== "assistant") continue
    for (const call of item.toolCalls) {
      if (open.has(call.id)) return Result.fail(invalid(`The tool call "${call.id}" stands there twice.`, param))
      open.set(call.id, call.name)
    }
  }
  return open.size > 0 ? Result.fail(unanswered()) : Result.succeed(items)
}

/** The last user's message is the turn's. Undefined: there is none. */
export const split = (items: ReadonlyArray<Item>): Split | undefined => {
  const at = items.findLastIndex(({ role }) => role === "user")
  const current = items[at]
  return current?.role === "user" ? { before: items.slice(0, at), current, after: items.slice(at + 1) } : undefined
}
