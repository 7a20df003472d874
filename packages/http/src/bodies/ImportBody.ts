/**
 * The body of an import: JSON, or a message on each line. Its messages are given to the kernel as they are, with the kernel's names: the
 * kernel checks them all and tells the index of what is wrong.
 */
import { type Steps } from "@colloquy/core/adapters"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ValidationError } from "../wire/Errors.ts"
import { isRecord } from "../wire/Json.ts"
import { readJsonLines } from "./JsonLines.ts"
import type { Body } from "./RequestBody.ts"

export interface ImportBody {
  readonly metadata: Schema.JsonObject | null
  readonly scratch: boolean
  readonly messages: () => Steps<ReadonlyArray<unknown>>
}

const isJsonObject = Schema.is(Schema.JsonObject)

const problem = (loc: ReadonlyArray<string>, msg: string): ReadonlyArray<ValidationError> => [
  { loc: ["body", ...loc], msg, type: "value_error" }
]

export const importBody: Body<ImportBody> = {
  files: {},
  decode: ({ lines, value }) => {
    if (lines !== undefined)
      return Result.succeed({ metadata: null, scratch: false, messages: () => readJsonLines(lines, fromWire) })
    if (!isRecord(value)) return Result.fail(problem([], "Expected an object with messages"))
    const { messages, metadata = null, scratch = null } = value
    const wrong = [
      ...(metadata !== null && !isJsonObject(metadata) ? problem(["metadata"], "Expected an object") : []),
      ...(scratch !== null && typeof scratch !== "boolean" ? problem(["scratch"], "Expected true or false") : [])
    ]
    if (!Array.isArray(messages))
      return Result.fail([...wrong, ...problem(["messages"], "Expected a list of messages")])
    if (wrong.length > 0) return Result.fail(wrong)
    return Result.succeed({
      metadata: isJsonObject(metadata) ? metadata : null,
      scratch: scratch === true,
      messages: () => renamed(messages)
    })
  }
}

const atOnce = 64

function* renamed(messages: ReadonlyArray<unknown>): Steps<ReadonlyArray<unknown>> {
  const read: Array<unknown> = []
  for (const message of messages) {
    read.push(fromWire(message))
    if (read.length % atOnce === 0) yield
  }
  return read
}

const fromWire = (message: unknown): unknown => {
  if (!isRecord(message)) return message
  const { content = null, created_at, metadata, role, tool_call_id, tool_calls } = message
  const calls = Array.isArray(tool_calls) ? tool_calls.map(callFromWire) : tool_calls
  return { role, content, toolCalls: calls, toolCallId: tool_call_id, createdAt: created_at, metadata }
}

const callFromWire = (call: unknown): unknown => {
  if (!isRecord(call)) return call
  const made = isRecord(call["function"]) ? call["function"] : {}
  return { id: call["id"], name: made["name"], arguments: made["arguments"] }
}
