/**
 * Pure: what was said in a session, in the order in which it was spoken, whatever the order in which the vendor reports it. A transcript
 * that comes late finds the place that its turn has taken. What stands before everything unfinished is `ready` to be stored; an entry that
 * changes afterwards (an interruption, a tool's result) becomes ready once more, under the same key.
 */
import type * as Schema from "effect/Schema"
import type { ToolCall, ToolResult } from "../tools/ToolCall.ts"
import { addUsage, type Usage } from "../primitives/Usage.ts"
import type { Cut, VendorEvent } from "./RealtimeModel.ts"

interface Item {
  readonly itemId: string
  readonly text: string
  /** Broken off: what the vendor still says of it was not heard. */
  readonly isCut: boolean
}

export interface Entry {
  /** The user's item, or the response. */
  readonly key: string
  readonly role: "user" | "assistant"
  readonly items: ReadonlyArray<Item>
  readonly calls: ReadonlyArray<ToolCall>
  readonly results: ReadonlyArray<ToolResult>
  /** What parts keep with it, by their names. */
  readonly kept: Schema.JsonObject
  readonly usage: Usage | null
  readonly isDone: boolean
  /** When it took its place. */
  readonly at: number
  readonly version: number
  /** The version that was given to the store; 0: none. */
  readonly stored: number
}

export interface Conversation {
  readonly entries: ReadonlyArray<Entry>
  /** The response that is being given. */
  readonly speaking: string | null
}

export const emptyConversation: Conversation = { entries: [], speaking: null }

const entryOf = (key: string, role: Entry["role"], at: number): Entry => ({
  key,
  role,
  items: [],
  calls: [],
  results: [],
  kept: {},
  usage: null,
  isDone: false,
  at,
  version: 1,
  stored: 0
})

const isSpoken = (entry: Entry): boolean => entry.calls.length > 0 || textOf(entry).trim() !== ""

export const textOf = (entry: Entry): string =>
  entry.items
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n")

/** What the vendor reports, as far as it belongs to what was said. */
export const hear = (conversation: Conversation, event: VendorEvent, now: number): Conversation => {
  switch (event._tag) {
    case "UserItem":
      return event.transcribed ? placeUser(conversation, event.itemId, event.before, now) : conversation
    case "Typed":
      return finishUser(placeUser(conversation, event.itemId, null, now), event.itemId, event.text)
    case "TranscriptDelta":
      return event.role === "user"
        ? changeUser(conversation, event.itemId, (text) => text + event.text)
        : speak(conversation, event.itemId, now, (text) => text + event.text)
    case "TranscriptFinal":
      return event.role === "user"
        ? finishUser(conversation, event.itemId, event.text)
        : speak(conversation, event.itemId, now, () => event.text)
    case "TranscriptFailed":
      // What was understood before it failed is better than nothing.
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
    case "Used":
      return chargeLast(conversation, event.usage)
    default:
      return conversation
  }
}

const ownerOf = ({ entries }: Conversation, toolCallId: string): Entry | undefined =>
  entries.findLast(({ calls }) => calls.some(({ id }) => id === toolCallId))

/** A part keeps this with the answer that made the call. The last value counts. */
export const keepWith = (
  conversation: Conversation,
  toolCallId: string,
  part: string,
  value: Schema.Json
): Conversation => {
  const owner = ownerOf(conversation, toolCallId)
  return owner === undefined
    ? conversation
    : change(conversation, owner.key, (entry) => ({ ...entry, kept: Object.assign({}, entry.kept, { [part]: value }) }))
}

export const keptWith = (conversation: Conversation, toolCallId: string, part: string): Schema.Json | null =>
  ownerOf(conversation, toolCallId)?.kept[part] ?? null

/** The result of a call stands with the answer that made it. */
export const addResult = (conversation: Conversation, result: ToolResult): Conversation => {
  const owner = ownerOf(conversation, result.toolCallId)
  return owner === undefined
    ? conversation
    : change(conversation, owner.key, (entry) => ({
        ...entry,
        results: [...entry.results.filter(({ toolCallId }) => toolCallId !== result.toolCallId), result]
      }))
}

/** Nothing more will come: what is there is what was said. */
export const close = (conversation: Conversation): Conversation => ({
  entries: conversation.entries.map((entry) =>
    entry.isDone ? entry : { ...entry, isDone: true, version: entry.version + 1 }
  ),
  speaking: null
})

/** What can be stored now, in order: nothing unfinished stands before it, and the store does not have it like this. */
export const ready = ({ entries }: Conversation): ReadonlyArray<Entry> => {
  const open = entries.findIndex(({ isDone }) => !isDone)
  const settled = open === -1 ? entries : entries.slice(0, open)
  return settled.filter((entry) => entry.version !== entry.stored && (entry.stored > 0 || isSpoken(entry)))
}

/** These entries were given to the store as they are. */
export const markStored = (conversation: Conversation, stored: ReadonlyArray<Entry>): Conversation => {
  const versions = new Map(stored.map(({ key, version }) => [key, version]))
  return {
    ...conversation,
    entries: conversation.entries.map((entry) => ({ ...entry, stored: versions.get(entry.key) ?? entry.stored }))
  }
}

/** Spoken turns of which the transcript is still to come. */
export const pendingTranscripts = ({ entries }: Conversation): ReadonlyArray<Entry> =>
  entries.filter((entry) => entry.role === "user" && !entry.isDone)

const change = (conversation: Conversation, key: string, edit: (entry: Entry) => Entry): Conversation => ({
  ...conversation,
  entries: conversation.entries.map((entry) =>
    entry.key === key ? { ...edit(entry), version: entry.version + 1 } : entry
  )
})

const placeUser = (conversation: Conversation, key: string, before: string | null, now: number): Conversation => {
  const { entries } = conversation
  if (entries.some((entry) => entry.key === key)) return conversation
  const behind = before === null ? -1 : entries.findIndex((entry) => isAt(entry, before) && entry.stored === 0)
  const place = behind === -1 ? entries.length : behind
  return {
    ...conversation,
    entries: [
      ...entries.slice(0, place),
      { ...entryOf(key, "user", now), items: [silence(key)] },
      ...entries.slice(place)
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
  // One that ended without a word has no place yet: what is said under its id from now on is said now.
  const isEmpty = known !== undefined && known.isDone && known.stored === 0 && !isSpoken(known)
  if (known !== undefined && !isEmpty) return { ...conversation, speaking: key }
  const others = conversation.entries.filter((entry) => entry !== known)
  return { entries: [...others, entryOf(key, "assistant", now)], speaking: key }
}

/** Some vendors never end a response that was interrupted; the next one shows that it is over. */
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
    entry.items.some((item) => item.itemId === itemId && !item.isCut)
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

/** Text and audio are taken to run side by side; a word that was begun is left out. */
export const heardPart = (text: string, heardMillis: number, generatedMillis: number): string => {
  if (generatedMillis <= 0 || heardMillis >= generatedMillis) return text
  const length = Math.floor((text.length * Math.max(0, heardMillis)) / generatedMillis)
  if (/\s/u.test(text.charAt(length))) return text.slice(0, length).trimEnd()
  const words = text.slice(0, length).search(/\s\S*$/u)
  return words === -1 ? "" : text.slice(0, words).trimEnd()
}

const chargeLast = (conversation: Conversation, usage: Usage): Conversation => {
  const last = conversation.entries.findLast(({ role }) => role === "assistant")
  return last === undefined
    ? conversation
    : change(conversation, last.key, (entry) => ({
        ...entry,
        usage: entry.usage === null ? usage : addUsage(entry.usage, usage)
      }))
}

/** Whether what is said of this item was broken off before. */
export const isCutOff = ({ entries }: Conversation, itemId: string): boolean =>
  entries.some(({ items }) => items.some((item) => item.itemId === itemId && item.isCut))

/** Whether the user spoke before all of it was heard. */
export const isCutShort = (entry: Entry): boolean => entry.items.some(({ isCut }) => isCut)
