/**
 * Parts of a conversation that the vendors' lowerings treat alike: a file that the model cannot read, a text file, arguments that a
 * model wrote wrong, an answer's own data, turns that must alternate. Pure; nothing here knows a wire.
 */
import type { ChatMessage, ChatRequest, ContentPart } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import { base64, isRecord, jsonRecord, parseJson, record, type WireRecord } from "./Wire.ts"

export type FilePart = Exclude<ContentPart, { readonly type: "text" }>

export type AnswerMessage = Extract<ChatMessage, { readonly role: "assistant" }>

/** Says to the model what it does not get. */
export const noteOfMissing = (part: FilePart): string =>
  `[${nameOf(part)} (${part.mediaType}) is attached, but this model cannot read it.]`

/** What stands in a text file; undefined for every other file. */
export const plainTextOf = ({ mediaType, source }: FilePart): string | undefined =>
  "bytes" in source && /^text\/|[/+](json|xml|yaml)\b/.test(mediaType)
    ? new TextDecoder().decode(source.bytes)
    : undefined

/** A text file as a part of the conversation's text; undefined for every other file. */
export const textOfFile = (part: FilePart): string | undefined => {
  const plain = plainTextOf(part)
  return plain === undefined ? undefined : `File ${nameOf(part)}:\n\n${plain}`
}

const nameOf = (part: FilePart): string => (part.filename === null ? "A file" : `"${part.filename}"`)

/** The address of a part: its own, or one that holds the bytes. */
export const urlOf = ({ mediaType, source }: FilePart): string =>
  "url" in source ? source.url : `data:${mediaType};base64,${base64(source.bytes)}`

/** The arguments of an old call as an object, because servers parse them: what a model once wrote wrong must not refuse a conversation. */
export const argumentsOf = (written: string): Schema.JsonObject => jsonRecord(record(parseJson(written)))

export const areArguments = (written: string): boolean => isRecord(parseJson(written))

/** What this provider wanted back with its answer; empty when the answer is another provider's. */
export const replayOf = (answer: AnswerMessage, request: ChatRequest): WireRecord =>
  answer.providerData?.provider === request.provider ? record(answer.providerData.data) : {}

/**
 * The system prompt with a request for JSON where one is due and the prompt does not speak of it. Vendors refuse to write JSON unless
 * the word stands in the prompt; only the system prompt is searched, because it stays the same from turn to turn.
 */
export const systemWithJson = (request: ChatRequest): string | null => {
  const system = request.system ?? ""
  const needsWord = request.jsonOutput && !/json/i.test(system)
  const whole = needsWord ? `${system}\n\nAnswer with one JSON object and nothing else.`.trimStart() : system
  return whole === "" ? null : whole
}

/**
 * The word of effort that the request asks for, or the nearest that the model lists; undefined when it asks for none or the model has no
 * such control. `unlisted` has the words for a model whose words are not known, where they are not the kernel's own.
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

/** Words for each wish, the best first. */
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

/** For vendors whose roles must alternate: neighbours of one role become one turn, a turn without parts is none. */
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

/** For vendors that refuse a text without a word in it, and a conversation that the model begins. */
export const noteOfSilence = "[This message is empty.]"
export const noteOfBeginning = "[What came before is left out.]"

export const hasWords = (text: string): boolean => text.trim() !== ""
