/**
 * Pure: the tool calls of one session, and which of them may still be answered. Each call is pending (at the client), running (hosted),
 * answered or cancelled; only pending calls accept outputs from the client.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { SessionToolOutput } from "./Frames.ts"

export type CallState = "pending" | "running" | "answered" | "cancelled"

export interface LedgerEntry {
  readonly call: ToolCall
  readonly hosted: boolean
  readonly state: CallState
}

export type ToolCallLedger = ReadonlyMap<string, LedgerEntry>

export const emptyLedger: ToolCallLedger = new Map()

/** The maximum of outputs in one frame. */
const maximumOutputs = 32

/** Opens a call of the model. If its id was used before, it is not a new call, and the ledger stays unchanged. */
export const openCall = (ledger: ToolCallLedger, call: ToolCall, hosted: boolean): ToolCallLedger =>
  ledger.has(call.id) ? ledger : new Map(ledger).set(call.id, { call, hosted, state: hosted ? "running" : "pending" })

/** Matches the client's outputs to the pending calls. If one does not match, all of them are refused, and the text names it. */
export const answerCalls = (
  ledger: ToolCallLedger,
  outputs: ReadonlyArray<SessionToolOutput>
): Result.Result<ToolCallLedger, string> => {
  if (outputs.length === 0 || outputs.length > maximumOutputs) {
    return Result.fail(`A frame holds 1 to ${maximumOutputs} outputs, not ${outputs.length}.`)
  }
  const answered = new Map(ledger)
  for (const { name, toolCallId } of outputs) {
    const problem = callProblem(answered.get(toolCallId), name)
    if (problem !== null)
      return Result.fail(`The call ${quoted(toolCallId)} ${problem}. Nothing of this frame was taken.`)
    move(answered, toolCallId, "answered")
  }
  return Result.succeed(answered)
}

/** Ids come from outside, so they are shown short and as JSON. */
const quoted = (id: string): string => JSON.stringify(id.slice(0, 100))

const callProblem = (entry: LedgerEntry | undefined, name: string): string | null => {
  if (entry === undefined) return "is not known in this session"
  if (entry.hosted) return "is run by the service"
  if (entry.state === "cancelled") return "was cancelled"
  if (entry.state === "answered") return "was answered before"
  if (entry.call.name !== name) return "has another name"
  return null
}

/** Ends a hosted call. Null when the call is no longer open. */
export const completeCall = (ledger: ToolCallLedger, id: string): ToolCallLedger | null =>
  ledger.get(id)?.state === "running" ? move(new Map(ledger), id, "answered") : null

/** Cancels calls, and returns those that were open. */
export const cancelCalls = (
  ledger: ToolCallLedger,
  ids: ReadonlyArray<string>
): { readonly ledger: ToolCallLedger; readonly cancelled: ReadonlyArray<string> } => {
  const next = new Map(ledger)
  const cancelled = [...new Set(ids)].filter((id) => isOpen(ledger.get(id)))
  for (const id of cancelled) move(next, id, "cancelled")
  return { ledger: next, cancelled }
}

const isOpen = (entry: LedgerEntry | undefined): boolean => entry?.state === "pending" || entry?.state === "running"

export const openCalls = (ledger: ToolCallLedger): ReadonlyArray<string> =>
  [...ledger].filter(([, entry]) => isOpen(entry)).map(([id]) => id)

const move = (ledger: Map<string, LedgerEntry>, id: string, state: CallState): ToolCallLedger => {
  const entry = ledger.get(id)
  return entry === undefined ? ledger : ledger.set(id, { ...entry, state })
}

/** The arguments of a call as the client reads them: an object if the model wrote one, otherwise its text. */
export const readArguments = ({ arguments: text }: ToolCall): Schema.Json => {
  const parsed = parseJson(text)
  return parsed._tag === "Some" ? parsed.value : text
}

const parseJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))
