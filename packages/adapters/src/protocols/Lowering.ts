/**
 * Pure functions that the protocols share when they convert a conversation to their vendor's format: for files that the model cannot read,
 * text files, malformed arguments of calls, data that goes back to the provider, and turns whose roles must alternate.
 */
import type { ChatMessage, ChatRequest, ContentPart } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import { dataUrl, isRecord, jsonRecord, parseJson, record, type WireRecord } from "./Wire.ts"

export type FilePart = Exclude<ContentPart, { readonly type: "text" }>

export type AnswerMessage = Extract<ChatMessage, { readonly role: "assistant" }>

/** Tells the model that a file is attached which it cannot read. */
export const noteForUnreadableFile = (part: FilePart): string =>
  `[${quotedName(part)} (${part.mediaType}) is attached, but this model cannot read it.]`

/** The content of a text file; undefined for every other file. */
export const plainFileText = ({ mediaType, source }: FilePart): string | undefined =>
  "bytes" in source && /^text\/|[/+](json|xml|yaml)\b/.test(mediaType)
    ? new TextDecoder().decode(source.bytes)
    : undefined

/** The name of a text file and its content, as `plainFileText` gives it, for the text of a message. */
export const textOfFile = (part: FilePart): string | undefined => {
  const plain = plainFileText(part)
  return plain === undefined ? undefined : `File ${quotedName(part)}:\n\n${plain}`
}

const quotedName = (part: FilePart): string => (part.filename === null ? "A file" : `"${part.filename}"`)

/** The URL of a file: its own, or a `data:` URL with its bytes. */
export const fileUrl = ({ mediaType, source }: FilePart): string =>
  "url" in source ? source.url : dataUrl(mediaType, source.bytes)

/** The arguments of an earlier call as an object. Malformed arguments become `{}`, because a server would refuse the whole conversation. */
export const readArguments = (written: string): Schema.JsonObject => jsonRecord(record(parseJson(written)))

export const areArguments = (written: string): boolean => isRecord(parseJson(written))

/** The data that this provider wants back with its answer. Empty when the answer came from another provider. */
export const replayedFields = (answer: AnswerMessage, request: ChatRequest): WireRecord =>
  answer.providerData?.provider === request.provider ? record(answer.providerData.data) : {}

/**
 * The system prompt. If the request wants JSON and the prompt does not contain the word "JSON", a sentence that asks for JSON is added:
 * vendors refuse JSON mode without that word. Only the system prompt is searched, because it stays the same from turn to turn.
 */
export const systemWithJson = (request: ChatRequest): string | null => {
  const system = request.system ?? ""
  const needsWord = request.jsonOutput && !/json/i.test(system)
  const whole = needsWord ? `${system}\n\nAnswer with one JSON object and nothing else.`.trimStart() : system
  return whole === "" ? null : whole
}

/**
 * The vendor's word for the requested thinking effort, or the nearest word that the model supports. Undefined when the request names no
 * effort or the model has no such control. `unlisted` translates the kernel's words for a model whose words are unknown.
 */
export const effortWord = (
  { thinking, info }: ChatRequest,
  unlisted: { readonly [asked: string]: string } = {}
): string | undefined => {
  const asked = thinking?.budgetTokens === 0 ? "none" : thinking?.effort
  if (asked === undefined || info.supportsThinking === false) return undefined
  const listed = info.thinkingControls?.efforts
  return listed === undefined ? (unlisted[asked] ?? asked) : effortWords[asked].find((word) => listed.includes(word))
}

/** For each effort, the vendors' words in the order of preference. */
const effortWords = {
  none: ["none", "minimal"],
  low: ["low"],
  medium: ["medium"],
  high: ["high"],
  max: ["max", "xhigh", "high"]
}

export interface WireTurn<Role extends string, Part> {
  readonly role: Role
  readonly parts: ReadonlyArray<Part>
}

/** For vendors whose roles must alternate: joins neighbouring turns of the same role, and drops turns without parts. */
export const joinTurns = <Role extends string, Part>(
  turns: ReadonlyArray<WireTurn<Role, Part>>
): ReadonlyArray<WireTurn<Role, Part>> => {
  const joined: Array<{ readonly role: Role; readonly parts: Array<Part> }> = []
  for (const { role, parts } of turns) {
    const last = joined.at(-1)
    if (parts.length === 0) continue
    if (last?.role === role) last.parts.push(...parts)
    else joined.push({ role, parts: [...parts] })
  }
  return joined
}

const noteForEmptyMessage = "[This message is empty.]"
/** For vendors that refuse a conversation whose first message is the model's. */
export const noteForMissingBeginning = "[What came before is left out.]"

export const hasWords = (text: string): boolean => text.trim() !== ""

/** The parts of a user's message without blank texts, which some vendors refuse. Never empty. */
export const partsWithWords = (content: ReadonlyArray<ContentPart>): ReadonlyArray<ContentPart> => {
  const parts = content.filter((part) => part.type !== "text" || hasWords(part.text))
  return parts.length === 0 ? [{ type: "text", text: noteForEmptyMessage }] : parts
}
