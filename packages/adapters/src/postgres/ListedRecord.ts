/**
 * Decodes rows of messages for lists. Most messages are plain: they have no tool calls, steps, results, supplements or faults. The JSON of a plain
 * message's fields is cut out of the row's text and passed on without being parsed, which makes lists cheaper; other messages are parsed.
 * A field is found by its key: quotes inside a JSON string are escaped, so the text `,"key":` can only be a key.
 */
import type { ThreadId } from "@colloquy/core"
import type { ListedMessage, PlainMessage } from "@colloquy/core/adapters"
import { decodeList, type MessageRow } from "./MessageRecord.ts"
import { fromJson } from "./StoredText.ts"

export const decodeListed = (rows: ReadonlyArray<MessageRow>): ReadonlyArray<ListedMessage> => {
  const plain = rows.map(({ message }) => plainMessage(message))
  const others = decodeList(rows.filter((_, index) => plain[index] === null)).values()
  return plain.flatMap((message) => message ?? others.next().value ?? [])
}

/** The beginning of a text of `messageText`, up to the content in the body, which `messageBody` in `MessageRecord.ts` writes. */
const front = /^\[("[^"]+"),"([^"]+)",(null|"[^"]+"),\d+,("\w+"),("\w+"),\d+,(-?\d+),\{"content":/u

/** The key that follows the content. Its first occurrence counts, because the metadata, which comes later, may contain the same key. */
const behindContent = ',"toolCalls":'
/** The text that follows the content of a message without tool calls and steps. */
const nothingCalled = `${behindContent}[],"steps":[],"provider":`

/** The rest of a message without tool results. A message with supplements or a fault has them after the metadata; `isOneValue` recognises it. */
const rest =
  /(null|"[^"\\]*"),"model":(null|"[^"\\]*")(?:,"assistant":\[("[^"]+"),(\d+)\])?,"usage":(null|\{[^{}]*\}),"metadata":(.+)\},\[\]\]$/suy

/**
 * These are classes, because V8 assumes that object literals created thousands of times at one place live long: it would allocate them in
 * the old generation, where their texts would stay in memory until the next full collection.
 */
class PlainRow implements PlainMessage {
  readonly threadId: ThreadId
  readonly createdAt: Date
  readonly usage: PlainMessage["usage"]
  readonly json: PlainMessage["json"]

  constructor(head: RegExpExecArray, tail: RegExpExecArray, json: PlainMessage["json"]) {
    const [threadId = "", createdAt = "", usage = ""] = [head[2], head[6], tail[5]]
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the column holds ids of threads
    this.threadId = threadId as ThreadId
    this.createdAt = new Date(Number(createdAt))
    this.usage = usage === "null" ? null : fromJson(usage)
    this.json = json
  }
}

class PlainFields {
  readonly id: string
  readonly runId: string
  readonly role: string
  readonly status: string
  readonly content: string
  readonly provider: string
  readonly model: string
  readonly metadata: string
  readonly assistantId: string
  readonly assistantVersion: string

  constructor(head: RegExpExecArray, content: string, tail: RegExpExecArray) {
    this.id = head[1] ?? ""
    this.runId = head[3] ?? ""
    this.role = head[4] ?? ""
    this.status = head[5] ?? ""
    this.content = content
    this.provider = tail[1] ?? ""
    this.model = tail[2] ?? ""
    this.metadata = tail[6] ?? ""
    this.assistantId = tail[3] ?? "null"
    this.assistantVersion = tail[4] ?? "null"
  }
}

const plainMessage = (text: string): PlainMessage | null => {
  const head = front.exec(text)
  if (head === null) return null
  const start = head[0].length
  const end = text.indexOf(behindContent, start)
  rest.lastIndex = end + nothingCalled.length
  const tail = text.startsWith(nothingCalled, end) ? rest.exec(text) : null
  if (tail === null) return null
  const json = new PlainFields(head, text.slice(start, end), tail)
  if (json.metadata !== "null" && !isOneValue(json.metadata)) return null
  return new PlainRow(head, tail, json)
}

/** Whether the text is the value of `metadata` alone. It is not when another field (the supplements, the fault) follows. */
const isOneValue = (text: string): boolean => Object.keys(fromJson<object>(`{"metadata":${text}}`)).length === 1
