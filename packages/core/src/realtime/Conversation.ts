/**
 * Pure: the conversation of a session, in the order of speaking, even if the vendor reports it in another order. A late transcript is put
 * at the position of its turn. Entries with nothing unfinished before them are `ready` to be stored. An entry that changes afterwards (an
 * interruption, a tool's result) becomes ready again, with the same key.
 */
import type * as Schema from "effect/Schema"
import type { ToolCall, ToolResult } from "../tools/ToolCall.ts"
import { addUsage, type Usage } from "../primitives/Usage.ts"
import type { Cut, VendorEvent, VoiceTimes } from "./RealtimeModel.ts"

interface Item {
  readonly itemId: string
  readonly text: string
  /** True: interrupted; later reports of the vendor about it were not heard. */
  readonly isCut: boolean
}

export interface Entry {
  /** The id of the user's item, or of the response. */
  readonly key: string
  readonly role: "user" | "assistant"
  readonly items: ReadonlyArray<Item>
  readonly calls: ReadonlyArray<ToolCall>
  readonly results: ReadonlyArray<ToolResult>
  /** The supplements of the parts, by their names. */
  readonly kept: Schema.JsonObject
  readonly usage: Usage | null
  /** How long this answer to speech took. */
  readonly times: VoiceTimes | null
  readonly isDone: boolean
  /** The time when it got its position. */
  readonly at: number
  /** Since when the transcript of a user's turn is awaited; null: the turn is still being spoken. */
  readonly awaitedSince: number | null
  readonly version: number
  /** The version that was given to the store; 0: none. */
  readonly stored: number
}

export interface Conversation {
  readonly entries: ReadonlyArray<Entry>
  /** The response that is being spoken. */
  readonly speaking: string | null
}

/** Nothing was said yet. */
export const emptyConversation: Conversation = { entries: [], speaking: null }

const newEntry = (key: string, role: Entry["role"], at: number): Entry => ({
  key,
  role,
  items: [],
  calls: [],
  results: [],
  kept: {},
  usage: null,
  times: null,
  isDone: false,
  at,
  awaitedSince: at,
  version: 1,
  stored: 0
})

const isSpoken = (entry: Entry): boolean => entry.calls.length > 0 || entryText(entry).trim() !== ""

/** The words of one entry. */
export const entryText = (entry: Entry): string =>
  entry.items
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n")

/** Adds an event of the vendor, if it belongs to the conversation. */
export const hear = (conversation: Conversation, event: VendorEvent, now: number): Conversation => {
  switch (event._tag) {
    case "UserItem":
      return event.transcribed
        ? placeUser(conversation, event.itemId, event.before, now, event.isOpen === true ? null : now)
        : conversation
    case "SpeechEnded":
      return change(conversation, event.itemId, (entry) => ({ ...entry, awaitedSince: now }))
    case "Typed":
      return finishUser(placeUser(conversation, event.itemId, null, now, now), event.itemId, event.text)
    case "TranscriptDelta":
      return event.role === "user"
        ? changeUser(conversation, event.itemId, (text) => text + event.text)
        : speak(conversation, event.itemId, now, (text) => text + event.text)
    case "TranscriptFinal":
      return event.role === "user"
        ? finishUser(conversation, event.itemId, event.text)
        : speak(conversation, event.itemId, now, () => event.text)
    case "TranscriptFailed":
      // A transcript that failed keeps the text that was recognised so far.
      return change(conversation, event.itemId, (entry) => ({ ...entry, isDone: true }))
    case "NothingSaid":
      return change(conversation, event.itemId, (entry) => ({ ...entry, items: [], isDone: true }))
    case "ToolCalled":
      return addCall(conversation, event.call, now)
    case "ResponseStarted":
      return begin(closeResponses(conversation), event.responseId, now)
    case "ResponseDone":
      return {
        ...change(conversation, event.responseId, (entry) => ({ ...entry, isDone: true })),
        speaking: conversation.speaking === event.responseId ? null : conversation.speaking
      }
    case "Interrupted":
      return event.cut === null ? conversation : cut(conversation, event.cut)
    case "CutShort":
      return cut(conversation, event.cut)
    case "Timed":
      return change(conversation, event.responseId, (entry) => ({ ...entry, times: event.times }))
    case "Used":
      return chargeLast(conversation, event.usage)
    default:
      return conversation
  }
}

const entryWithCall = ({ entries }: Conversation, toolCallId: string): Entry | undefined =>
  entries.findLast(({ calls }) => calls.some(({ id }) => id === toolCallId))

/** Keeps a part's value with the answer that made the call. The last value is stored. */
export const keepWith = (
  conversation: Conversation,
  toolCallId: string,
  part: string,
  value: Schema.Json
): Conversation => {
  const owner = entryWithCall(conversation, toolCallId)
  return owner === undefined
    ? conversation
    : change(conversation, owner.key, (entry) => ({ ...entry, kept: Object.assign({}, entry.kept, { [part]: value }) }))
}

export const keptWith = (conversation: Conversation, toolCallId: string, part: string): Schema.Json | null =>
  entryWithCall(conversation, toolCallId)?.kept[part] ?? null

/** Adds the result of a call to the answer that made it. */
export const addResult = (conversation: Conversation, result: ToolResult): Conversation => {
  const owner = entryWithCall(conversation, result.toolCallId)
  return owner === undefined
    ? conversation
    : change(conversation, owner.key, (entry) => ({
        ...entry,
        results: [...entry.results.filter(({ toolCallId }) => toolCallId !== result.toolCallId), result]
      }))
}

/** Ends all entries: no further event comes. */
export const close = (conversation: Conversation): Conversation => ({
  entries: conversation.entries.map((entry) =>
    entry.isDone ? entry : { ...entry, isDone: true, version: entry.version + 1 }
  ),
  speaking: null
})

/** The entries that can be stored now, in order: nothing unfinished is before them, and the store does not have their current version. */
export const ready = ({ entries }: Conversation): ReadonlyArray<Entry> => {
  const open = entries.findIndex(({ isDone }) => !isDone)
  const settled = open === -1 ? entries : entries.slice(0, open)
  return settled.filter((entry) => entry.version !== entry.stored && (entry.stored > 0 || isSpoken(entry)))
}

/** The answer that is being given, as far as its words have come and the store does not have them. Everything before it can be stored. */
export const unfinishedAnswer = ({ entries }: Conversation): Entry | null => {
  const open = entries.find(({ isDone }) => !isDone)
  return open?.role === "assistant" && open.version !== open.stored && isSpoken(open) ? open : null
}

/** Records which versions of the entries were given to the store. */
export const markStored = (conversation: Conversation, stored: ReadonlyArray<Entry>): Conversation => {
  const versions = new Map(stored.map(({ key, version }) => [key, version]))
  return {
    ...conversation,
    entries: conversation.entries.map((entry) => ({ ...entry, stored: versions.get(entry.key) ?? entry.stored }))
  }
}

/** Spoken turns whose transcript is still missing. */
export const pendingTranscripts = ({ entries }: Conversation): ReadonlyArray<Entry> =>
  entries.filter((entry) => entry.role === "user" && !entry.isDone)

const change = (conversation: Conversation, key: string, edit: (entry: Entry) => Entry): Conversation => ({
  ...conversation,
  entries: conversation.entries.map((entry) =>
    entry.key === key ? { ...edit(entry), version: entry.version + 1 } : entry
  )
})

const placeUser = (
  conversation: Conversation,
  key: string,
  before: string | null,
  now: number,
  awaitedSince: number | null
): Conversation => {
  const { entries } = conversation
  if (entries.some((entry) => entry.key === key)) return conversation
  const behind = before === null ? -1 : entries.findIndex((entry) => isAt(entry, before) && entry.stored === 0)
  const index = behind === -1 ? entries.length : behind
  return {
    ...conversation,
    entries: [
      ...entries.slice(0, index),
      { ...newEntry(key, "user", now), awaitedSince, items: [silence(key)] },
      ...entries.slice(index)
    ]
  }
}

const isAt = (entry: Entry, id: string): boolean => entry.key === id || entry.items.some(({ itemId }) => itemId === id)

const silence = (itemId: string): Item => ({ itemId, text: "", isCut: false })

const changeUser = (conversation: Conversation, key: string, edit: (text: string) => string): Conversation =>
  change(conversation, key, (entry) =>
    entry.role === "user" ? { ...entry, items: entry.items.map((item) => ({ ...item, text: edit(item.text) })) } : entry
  )

const finishUser = (conversation: Conversation, key: string, text: string): Conversation =>
  change(
    changeUser(conversation, key, () => text),
    key,
    (entry) => ({ ...entry, isDone: true })
  )

const begin = (conversation: Conversation, key: string, now: number): Conversation => {
  const known = conversation.entries.find((entry) => entry.key === key)
  // An entry that ended without a word has no position yet; new words under its id get the current position.
  const isEmpty = known !== undefined && known.isDone && known.stored === 0 && !isSpoken(known)
  if (known !== undefined && !isEmpty) return { ...conversation, speaking: key }
  const others = conversation.entries.filter((entry) => entry !== known)
  return { entries: [...others, newEntry(key, "assistant", now)], speaking: key }
}

/** Some vendors never end a response that was interrupted; the next response shows that it is over. */
const closeResponses = (conversation: Conversation): Conversation => ({
  ...conversation,
  entries: conversation.entries.map((entry) =>
    entry.role === "assistant" && !entry.isDone ? { ...entry, isDone: true, version: entry.version + 1 } : entry
  )
})

const speak = (
  conversation: Conversation,
  itemId: string,
  now: number,
  edit: (text: string) => string
): Conversation => {
  const owner = conversation.entries.find((entry) => entry.role === "assistant" && isAt(entry, itemId))
  if (owner !== undefined && owner.items.some((item) => item.itemId === itemId)) {
    return change(conversation, owner.key, (entry) => ({
      ...entry,
      items: entry.items.map((item) =>
        item.itemId === itemId && !item.isCut ? { ...item, text: edit(item.text) } : item
      )
    }))
  }
  const inResponse = conversation.speaking === null ? begin(conversation, itemId, now) : conversation
  return change(inResponse, inResponse.speaking ?? itemId, (entry) => ({
    ...entry,
    items: [...entry.items, { itemId, text: edit(""), isCut: false }]
  }))
}

const addCall = (conversation: Conversation, call: ToolCall, now: number): Conversation => {
  if (conversation.entries.some(({ calls }) => calls.some(({ id }) => id === call.id))) return conversation
  const inResponse = conversation.speaking === null ? begin(conversation, call.id, now) : conversation
  return change(inResponse, inResponse.speaking ?? call.id, (entry) => ({ ...entry, calls: [...entry.calls, call] }))
}

const cut = (conversation: Conversation, { generatedMillis, heardMillis, itemId }: Cut): Conversation => ({
  ...conversation,
  entries: conversation.entries.map((entry) =>
    entry.items.some((item) => item.itemId === itemId)
      ? {
          ...entry,
          version: entry.version + 1,
          items: entry.items.map((item) =>
            item.itemId === itemId
              ? { ...item, isCut: true, text: heardPart(item.text, heardMillis, generatedMillis) }
              : item
          )
        }
      : entry
  )
})

/** Assumes that text and audio have the same speed; a partly heard word is left out. */
export const heardPart = (text: string, heardMillis: number, generatedMillis: number): string => {
  if (generatedMillis <= 0 || heardMillis >= generatedMillis) return text
  const length = Math.floor((text.length * Math.max(0, heardMillis)) / generatedMillis)
  if (/\s/u.test(text.charAt(length))) return text.slice(0, length).trimEnd()
  let end = text.slice(0, length).search(/(?<!\S)\S*$/u)
  const [run = ""] = /^\S*/u.exec(text.slice(end)) ?? []
  if (withoutSpaces.test(run)) {
    for (const { segment } of new Intl.Segmenter("en", { granularity: "word" }).segment(run)) {
      if (end + segment.length > length) break
      end += segment.length
    }
  }
  return text.slice(0, end).trimEnd()
}

/** Scripts that put no spaces between words. */
const withoutSpaces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

const chargeLast = (conversation: Conversation, usage: Usage): Conversation => {
  const last = conversation.entries.findLast(({ role }) => role === "assistant")
  return last === undefined
    ? conversation
    : change(conversation, last.key, (entry) => ({
        ...entry,
        usage: entry.usage === null ? usage : addUsage(entry.usage, usage)
      }))
}

/** Whether the item was interrupted before. */
export const isCutOff = ({ entries }: Conversation, itemId: string): boolean =>
  entries.some(({ items }) => items.some((item) => item.itemId === itemId && item.isCut))

/** Whether the user interrupted it before all of it was heard. */
export const isCutShort = (entry: Entry): boolean => entry.items.some(({ isCut }) => isCut)
