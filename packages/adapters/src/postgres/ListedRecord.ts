/**
 * Rows of messages for lists. Of a plain message the JSON of its fields is cut out of the row's text and handed on as it is; others are read
 * as everywhere. A field is found by the key before it: in JSON every quote inside of a text is escaped, so what looks like `,"key":` is one.
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

/** The front of `message_text`, and of a body as `bodyOf` in `MessageRecord.ts` writes it. */
const front = /^\[("[^"]+"),"([^"]+)",(null|"[^"]+"),\d+,("\w+"),("\w+"),\d+,(-?\d+),\{"content":/u

/** Behind the content, and how it goes on where there are no calls and no steps. The first one counts: metadata may have the same keys. */
const behindContent = ',"toolCalls":'
const nothingCalled = `${behindContent}[],"steps":[],"provider":`

/** The rest, where nothing was submitted for calls. Supplements would stand behind the metadata. */
const rest = /(null|"[^"\\]*"),"model":(null|"[^"\\]*"),"usage":(null|\{[^{}]*\}),"metadata":(.+)\},\[\]\]$/suy

/**
 * Instances of classes, because V8 takes literals that are made by the thousand for long-lived: it would make them in the old generation, and
 * what they hold would stay until that is collected.
 */
class PlainRow implements PlainMessage {
  readonly threadId: ThreadId
  readonly createdAt: Date
  readonly usage: PlainMessage["usage"]
  readonly json: PlainMessage["json"]

  constructor(threadId: string, createdAt: string, usage: string, json: PlainMessage["json"]) {
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

  constructor(head: RegExpExecArray, content: string, tail: RegExpExecArray) {
    this.id = head[1] ?? ""
    this.runId = head[3] ?? ""
    this.role = head[4] ?? ""
    this.status = head[5] ?? ""
    this.content = content
    this.provider = tail[1] ?? ""
    this.model = tail[2] ?? ""
    this.metadata = tail[4] ?? ""
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
  return new PlainRow(head[2] ?? "", head[6] ?? "", tail[3] ?? "", json)
}

/** False: another field follows. */
const isOneValue = (text: string): boolean => Object.keys(fromJson<object>(`{"metadata":${text}}`)).length === 1
