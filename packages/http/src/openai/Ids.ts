/**
 * Ids of OpenAI's objects, and the records that they name here. A response is one leg of a run of a thread, and its id holds all three; so
 * nothing is looked up in a table, and an id that was made up names nothing.
 */
import { RunId, ThreadId } from "@colloquy/core"

/** The content of a response's id. */
export interface ResponseIds {
  readonly threadId: ThreadId
  readonly runId: RunId
  readonly leg: number
}

const hexFromUuid = (uuid: string): string => uuid.replaceAll("-", "")

const uuidFromHex = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5")

/** `resp_`, thread, run; behind them the leg, where it is not the first. */
export const writeResponseId = ({ leg, runId, threadId }: ResponseIds): string =>
  `resp_${hexFromUuid(threadId)}${hexFromUuid(runId)}${leg === 0 ? "" : leg.toString(16)}`

const response = /^resp_([0-9a-f]{32})([0-9a-f]{32})([1-9a-f][0-9a-f]{0,3})?$/u

/** Null: no response has such an id. */
export const readResponseId = (id: string): ResponseIds | null => {
  const [, thread, run, leg = "0"] = response.exec(id) ?? []
  return thread === undefined || run === undefined
    ? null
    : {
        threadId: ThreadId.make(uuidFromHex(thread)),
        runId: RunId.make(uuidFromHex(run)),
        leg: Number.parseInt(leg, 16)
      }
}

export const writeConversationId = (threadId: ThreadId): string => `conv_${hexFromUuid(threadId)}`

export const readConversationId = (id: string): ThreadId | null => {
  const [, thread] = /^conv_([0-9a-f]{32})$/u.exec(id) ?? []
  return thread === undefined ? null : ThreadId.make(uuidFromHex(thread))
}

export const writeCompletionId = (runId: RunId): string => `chatcmpl-${hexFromUuid(runId)}`

/** An item of a response: the message, or one of its calls. */
export const writeItemId = (kind: "msg" | "fc", messageId: string, index = 0): string =>
  `${kind}_${hexFromUuid(messageId)}${kind === "msg" ? "" : index.toString(16)}`

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu

export const isUuid = (text: string): boolean => uuid.test(text)
