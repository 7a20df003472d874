/**
 * Parts of a conversation that every vendor's lowering treats alike: a file that the model cannot read, a text file, arguments that a
 * model wrote wrong, an answer's own data. Pure; nothing here knows a wire.
 */
import type { ChatMessage, ChatRequest, ContentPart } from "@colloquy/core"
import type * as Schema from "effect/Schema"
import { base64, isRecord, jsonRecord, parseJson, record, type WireRecord } from "./Wire.ts"

export type FilePart = Exclude<ContentPart, { readonly type: "text" }>

export type AnswerMessage = Extract<ChatMessage, { readonly role: "assistant" }>

/** Says to the model what it does not get. */
export const noteOfMissing = (part: FilePart): string =>
  `[${nameOf(part)} (${part.mediaType}) is attached, but this model cannot read it.]`

/** A text file as text; undefined for every other file. */
export const textOfFile = (part: FilePart): string | undefined =>
  "bytes" in part.source && /^text\/|[/+](json|xml|yaml)\b/.test(part.mediaType)
    ? `File ${nameOf(part)}:\n\n${new TextDecoder().decode(part.source.bytes)}`
    : undefined

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
