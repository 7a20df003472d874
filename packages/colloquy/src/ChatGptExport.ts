/**
 * A conversation of ChatGPT's export (`conversations.json`) as messages for `threads.import`, and a file with a list read entry by entry. A
 * conversation there is a tree: an edited question or another answer is a branch. The branch that was shown last is read.
 */
import type { ImportedMessage } from "@colloquy/core"
import {
  Conversation,
  type Fields,
  functionCall,
  isObject,
  listOrEmpty,
  objectsIn,
  readTime,
  textOr
} from "./ImportedConversation.ts"

/**
 * One conversation of the export. Thinking, instructions and hidden messages are left out; pictures, files and sound become lines that name
 * them. Of parents that are missing or go round in a circle, what can be reached is read.
 */
export const fromChatGpt = (exported: unknown): ReadonlyArray<ImportedMessage> => {
  const conversation = new Conversation()
  /** The calls without an output so far. `browser.search` is answered by `browser`. */
  const open = new Map<string, string>()
  for (const [index, { author, content, metadata, recipient, time }] of shownBranch(exported).entries()) {
    const role = textOr(author["role"], "")
    if (!isObject(content) || metadata["is_visually_hidden_from_conversation"] === true) continue
    const kind = textOr(content["content_type"], "")
    if (unsaid.has(kind)) continue
    const words = messageWords(content, metadata)
    // An id of the export may be there twice.
    const callId = `call_${index}`
    if (role === "tool") {
      const name = textOr(author["name"], "tool")
      const asked = open.get(toolset(name))
      open.delete(toolset(name))
      if (asked === undefined) conversation.call(functionCall(callId, toolName(name), {}))
      conversation.output(asked ?? callId, words)
    } else if (role === "assistant" && recipient !== "" && recipient !== "all") {
      conversation.call(functionCall(callId, toolName(recipient), callArguments(words)))
      open.set(toolset(recipient), callId)
    } else if (role === "user" || role === "assistant") conversation.say(role, words, readTime(time))
  }
  return conversation.messages()
}

/** Kinds of contents that nobody has said: thinking, and what the user has set for all conversations. */
const unsaid: ReadonlySet<string> = new Set([
  "thoughts",
  "reasoning_recap",
  "user_editable_context",
  "model_editable_context",
  "app_pairing_content"
])

interface Shown {
  readonly author: Fields
  readonly content: unknown
  readonly metadata: Fields
  readonly recipient: string
  readonly time: unknown
}

/** From the first message to the last one that was shown. */
const shownBranch = (exported: unknown): ReadonlyArray<Shown> => {
  const mapping = isObject(exported) && isObject(exported["mapping"]) ? exported["mapping"] : {}
  const node = (id: unknown): Fields | null => {
    const found = typeof id === "string" && Object.hasOwn(mapping, id) ? mapping[id] : null
    return isObject(found) ? found : null
  }
  const current = isObject(exported) ? exported["current_node"] : null
  let at = node(current) === null ? newestNode(mapping) : current
  const branch: Array<Shown> = []
  const seen = new Set<unknown>()
  for (let found = node(at); found !== null && !seen.has(at); found = node(at)) {
    seen.add(at)
    const { message, parent } = found
    if (isObject(message)) branch.push(shown(message))
    at = parent
  }
  return branch.toReversed()
}

const shown = ({ author, content, create_time, metadata, recipient }: Fields): Shown => ({
  author: isObject(author) ? author : {},
  content,
  metadata: isObject(metadata) ? metadata : {},
  recipient: textOr(recipient, ""),
  time: create_time
})

/** The end of an export that does not say which branch was shown. */
const newestNode = (mapping: Fields): string | null => {
  let newest: string | null = null
  let latest = -Infinity
  for (const [id, entry] of Object.entries(mapping)) {
    const message = isObject(entry) && isObject(entry["message"]) ? entry["message"] : {}
    const time = message["create_time"]
    const at = typeof time === "number" ? time : 0
    if (at < latest) continue
    newest = id
    latest = at
  }
  return newest
}

/** Vendors of models refuse other names: `dalle.text2im` becomes `dalle_text2im`. */
const toolName = (name: string): string => name.replaceAll(/[^\w-]+/gu, "_").slice(0, 64) || "tool"

const toolset = (name: string): string => name.split(".", 1)[0] ?? name

const callArguments = (words: string): Fields => {
  try {
    const parsed: unknown = JSON.parse(words)
    if (isObject(parsed)) return parsed
  } catch {
    // Code or a query, not JSON.
  }
  return { input: words }
}

/** Marks of ChatGPT's own citations, which nobody sees there: `citeturn0search1` between two characters of private use. */
const marks = /\uE200[^\uE201]{0,2000}\uE201/gu

const messageWords = (content: Fields, metadata: Fields): string => {
  const names = new Map(
    objectsIn(metadata["attachments"]).map(({ id, name }) => [textOr(id, ""), textOr(name, "file")] as const)
  )
  const parts = listOrEmpty(content["parts"])
  const isTranscribed = parts.some((part) => isObject(part) && part["content_type"] === "audio_transcription")
  const words = parts.map((part) => {
    if (typeof part === "string") return part
    if (!isObject(part)) return ""
    const kind = textOr(part["content_type"], "file")
    if (typeof part["text"] === "string") return part["text"]
    if (isTranscribed && kind.includes("audio")) return ""
    const id = textOr(part["asset_pointer"], "").replace(/^[\w-]+:\/\//u, "")
    const name = names.get(id) ?? (kind.startsWith("image") ? "a picture" : kind.includes("audio") ? "sound" : kind)
    names.delete(id)
    return `[A file was here: ${name}]`
  })
  const own = textOr(content["text"] ?? content["result"], "")
  const files = [...names.values()].map((name) => `[A file was here: ${name}]`)
  return [...words, own, ...files]
    .map((text) => text.replaceAll(marks, "").trim())
    .filter((text) => text !== "")
    .join("\n\n")
}

/** Characters of one entry of a list. A larger one is no conversation that could be imported. */
const longestEntry = 64 * 1024 * 1024

/**
 * The entries of a JSON file whose value is a list, one after the other, so that a file of any size needs the memory of its largest entry:
 * `listEntries(createReadStream("conversations.json"))`. It throws where the file is no such list, or ends in the middle.
 */
export async function* listEntries(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  const reader = new EntryReader()
  for await (const piece of source) {
    yield* reader.read(typeof piece === "string" ? piece : decoder.decode(piece, { stream: true }))
  }
  yield* reader.read(decoder.decode())
  reader.end()
}

class EntryReader {
  private state: "before" | "between" | "inside" | "after" = "before"
  private pieces: Array<string> = []
  private length = 0
  private depth = 0
  private isText = false
  private isEscaped = false
  private index = 0

  end(): void {
    if (this.state !== "after") throw new TypeError(`The file ends in the middle, in entry ${this.index}.`)
  }

  *read(piece: string): Generator<unknown> {
    let start = 0
    for (let at = 0; at < piece.length; at++) {
      const character = piece.charCodeAt(at)
      if (this.state === "inside" && this.isText) {
        if (this.isEscaped) this.isEscaped = false
        else if (character === backslash) this.isEscaped = true
        else if (character === quote) this.isText = false
      } else if (isBlank(character) || (character === byteOrderMark && this.state === "before")) continue
      else if (this.state === "before") {
        if (character !== openList) throw new TypeError("The file is no JSON list.")
        this.state = "between"
      } else if (this.state === "after") throw new TypeError("Something follows the list.")
      else if (this.depth === 0 && (character === comma || character === closeList)) {
        if (this.state === "inside") yield this.entry(piece.slice(start, at))
        this.state = character === comma ? "between" : "after"
      } else {
        if (this.state === "between") start = at
        this.state = "inside"
        if (character === quote) this.isText = true
        else if (character === openList || character === openObject) this.depth += 1
        else if (character === closeList || character === closeObject) this.depth -= 1
      }
    }
    if (this.state === "inside") this.keep(piece.slice(start))
  }

  private keep(text: string): void {
    this.length += text.length
    if (this.length > longestEntry) throw new TypeError(`Entry ${this.index} has more than ${longestEntry} characters.`)
    this.pieces.push(text)
  }

  private entry(last: string): unknown {
    this.keep(last)
    const text = this.pieces.join("")
    this.pieces = []
    this.length = 0
    try {
      const parsed: unknown = JSON.parse(text)
      this.index += 1
      return parsed
    } catch {
      // The parser's own message has a piece of the conversation in it.
      throw new TypeError(`Entry ${this.index} is no JSON.`)
    }
  }
}

const [quote, backslash, comma, openList, closeList, openObject, closeObject, byteOrderMark] = [
  0x22, 0x5c, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d, 0xfeff
]
const isBlank = (character: number): boolean =>
  character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09
