/**
 * Keeps the order of an answer's parts (reasoning, texts and calls), for providers that want the parts back in that order, each with the data
 * that the provider attached to it: a signature, encrypted reasoning, a phase. The message itself holds texts and calls, so only their
 * positions are kept here. If the message was changed since, or the request is for another model, the message alone is sent: another model
 * refuses what this one has encrypted or signed.
 *
 * Used by `OpenAiResponses` and by the bridges.
 */
import type { ToolCall } from "@colloquy/core"
import type { ChatRequest } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import { type AnswerMessage, replayedFields } from "./Lowering.ts"
import { count, isRecord, jsonRecord, list, record, string, type WireRecord } from "./Wire.ts"

/** One part as it is kept with the answer. */
export type KeptPart =
  | { readonly type: "text"; readonly from: number; readonly length: number; readonly data: Schema.JsonObject }
  | { readonly type: "reasoning"; readonly text: string; readonly data: Schema.JsonObject }
  | { readonly type: "call"; readonly id: string; readonly data: Schema.JsonObject }

/** One part as it is sent back. */
export type AnswerPart =
  | { readonly type: "text"; readonly text: string; readonly data: Schema.JsonObject }
  | { readonly type: "reasoning"; readonly text: string; readonly data: Schema.JsonObject }
  | { readonly type: "call"; readonly call: ToolCall; readonly data: Schema.JsonObject }

/** The data to keep with an answer. Null when the message itself contains everything. */
export const keepParts = (model: string, parts: ReadonlyArray<KeptPart>): Schema.Json | null =>
  parts.some((part) => part.type === "reasoning" || Object.keys(part.data).length > 0) ? { model, parts } : null

export const replayedParts = (answer: AnswerMessage, request: ChatRequest): ReadonlyArray<AnswerPart> => {
  const replay = replayedFields(answer, request)
  const kept = replay.model === request.model ? list(replay.parts).filter(isRecord) : []
  const length = kept.reduce((end, part) => Math.max(end, count(part.from) + count(part.length)), 0)
  if (kept.length === 0 || length !== answer.content.length) return neutralParts(answer)
  const parts = kept.flatMap((part) => replayedPart(part, answer))
  const calls = parts.flatMap((part) => (part.type === "call" ? [part.call] : []))
  return withoutTrailingReasoning([
    ...parts,
    ...answer.toolCalls.filter((call) => !calls.includes(call)).map(plainCall)
  ])
}

const neutralParts = ({ content, toolCalls }: AnswerMessage): ReadonlyArray<AnswerPart> => [
  ...plainText(content, {}),
  ...toolCalls.map(plainCall)
]

const plainText = (text: string, data: Schema.JsonObject): ReadonlyArray<AnswerPart> =>
  text === "" ? [] : [{ type: "text", text, data }]

const plainCall = (call: ToolCall): AnswerPart => ({ type: "call", call, data: {} })

const replayedPart = (part: WireRecord, { content, toolCalls }: AnswerMessage): ReadonlyArray<AnswerPart> => {
  const data = jsonRecord(record(part.data))
  if (part.type === "reasoning") return [{ type: "reasoning", text: string(part.text) ?? "", data }]
  if (part.type === "text")
    return plainText(content.slice(count(part.from), count(part.from) + count(part.length)), data)
  return toolCalls.filter((call) => call.id === part.id).map((call): AnswerPart => ({ type: "call", call, data }))
}

/** A provider refuses reasoning that no text or call follows. */
const withoutTrailingReasoning = (parts: ReadonlyArray<AnswerPart>): ReadonlyArray<AnswerPart> =>
  parts.slice(0, parts.findLastIndex((part) => part.type !== "reasoning") + 1)
