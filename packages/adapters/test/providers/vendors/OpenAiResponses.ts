/** The wire of OpenAI Responses: every item is opened, written and closed, and the last event repeats the whole response. */
import type { Usage } from "@colloquy/core"
import type { FinishReason } from "@colloquy/core/adapters"
import { list, record } from "../../../src/protocols/Wire.ts"
import * as OpenAi from "../../../src/providers/OpenAi.ts"
import type { Said } from "@colloquy/testing/contracts"
import type { Vendor } from "../Vendor.ts"
import { refuse, secret } from "./OpenAiChat.ts"

const frame = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

type Kind = "reasoning" | "message" | "refusal" | "function_call"

interface Item {
  readonly kind: Kind
  readonly index: number
  readonly id: string
  readonly call: { readonly slot: number; readonly id: string; readonly name: string } | null
  written: string
}

const part = (item: Item) =>
  item.kind === "refusal"
    ? { type: "refusal", refusal: item.written }
    : { type: "output_text", text: item.written, annotations: [], logprobs: [] }

const whole = (item: Item, status: "in_progress" | "completed") => {
  const { id, kind, call, written } = item
  if (kind === "reasoning") {
    const isDone = status === "completed"
    return {
      id,
      type: "reasoning",
      summary: isDone ? [{ type: "summary_text", text: written }] : [],
      encrypted_content: isDone ? `opaque-${id}` : "opa"
    }
  }
  if (call !== null) return { id, type: "function_call", status, arguments: written, call_id: call.id, name: call.name }
  return { id, type: "message", status, role: "assistant", content: status === "completed" ? [part(item)] : [] }
}

const open = (item: Item): string => {
  const place = { output_index: item.index, item_id: item.id }
  const added = frame({
    type: "response.output_item.added",
    output_index: item.index,
    item: whole({ ...item, written: "" }, "in_progress")
  })
  if (item.kind === "function_call") return added
  if (item.kind === "reasoning") {
    const empty = { type: "summary_text", text: "" }
    return added + frame({ type: "response.reasoning_summary_part.added", ...place, summary_index: 0, part: empty })
  }
  return (
    added +
    frame({ type: "response.content_part.added", ...place, content_index: 0, part: part({ ...item, written: "" }) })
  )
}

const deltaTypes: { readonly [kind in Kind]: string } = {
  reasoning: "response.reasoning_summary_text",
  message: "response.output_text",
  refusal: "response.refusal",
  function_call: "response.function_call_arguments"
}

const itemPlace = (item: Item) => ({
  output_index: item.index,
  item_id: item.id,
  ...(item.kind === "reasoning" ? { summary_index: 0 } : item.kind === "function_call" ? {} : { content_index: 0 })
})

const wholeFields: { readonly [kind in Kind]: string } = {
  reasoning: "text",
  message: "text",
  refusal: "refusal",
  function_call: "arguments"
}

const close = (item: Item): string =>
  frame({ type: `${deltaTypes[item.kind]}.done`, ...itemPlace(item), [wholeFields[item.kind]]: item.written }) +
  frame({ type: "response.output_item.done", output_index: item.index, item: whole(item, "completed") })

export const response = (status: string, rest: { readonly [field: string]: unknown } = {}) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status,
  error: null,
  incomplete_details: null,
  model: "model-1-2026",
  output: [],
  parallel_tool_calls: true,
  tools: [],
  usage: null,
  ...rest
})

const outcomes: {
  readonly [reason in FinishReason]: readonly [status: "completed" | "incomplete", reason: string | null]
} = {
  stop: ["completed", null],
  tool_calls: ["completed", null],
  continue: ["completed", null],
  length: ["incomplete", "max_output_tokens"],
  filtered: ["incomplete", "content_filter"]
}

const usageToWire = (usage: Usage | null) =>
  usage && {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens
  }

const render = (says: ReadonlyArray<Said>): ReadonlyArray<string> => {
  const items: Array<Item> = []
  const done = new Set<Item>()

  const opened = (kind: Kind, call: Item["call"] = null): readonly [item: Item, frames: string] => {
    const item: Item = { kind, index: items.length, id: `item_${items.length}`, call, written: "" }
    items.push(item)
    return [item, open(item)]
  }

  const closed = (which: ReadonlyArray<Item>): string =>
    which
      .filter((item) => !done.has(item))
      .map((item) => {
        done.add(item)
        return close(item)
      })
      .join("")

  const write = (item: Item, delta: string): string => {
    item.written += delta
    return frame({ type: `${deltaTypes[item.kind]}.delta`, ...itemPlace(item), delta })
  }

  /** Goes on with the last item when it is of this kind, otherwise closes it and opens another. */
  const speak = (kind: Kind, delta: string): string => {
    const last = items.at(-1)
    if (last?.kind === kind) return write(last, delta)
    const before = closed(items)
    const [item, frames] = opened(kind)
    return before + frames + write(item, delta)
  }

  const conclude = ({ finish, usage }: Extract<Said, { readonly finish: unknown }>): string => {
    const [status, reason] = items.some((item) => item.kind === "refusal") ? outcomes.stop : outcomes[finish]
    const rest = {
      incomplete_details: reason === null ? null : { reason },
      output: items.map((item) => whole(item, "completed")),
      usage: usageToWire(usage)
    }
    return closed(items) + frame({ type: `response.${status}`, response: response(status, rest) })
  }

  const one = (said: Said): string => {
    if ("text" in said) return speak("message", said.text)
    if ("reasoning" in said) return speak("reasoning", said.reasoning)
    if ("refusal" in said) return speak("refusal", said.refusal)
    if ("call" in said)
      return closed(items.filter((item) => item.call === null)) + opened("function_call", said.call)[1]
    if ("arguments" in said) {
      const { slot, text } = said.arguments
      const item = items.find((each) => each.call?.slot === slot)
      return item === undefined ? "" : write(item, text)
    }
    if ("finish" in said) return conclude(said)
    const error = { code: "server_error", message: `upstream is busy: ${secret}` }
    return frame({ type: "response.failed", response: response("failed", { error }) })
  }

  const created = frame({ type: "response.created", response: response("in_progress") })
  return numbered(says.map((said, index) => (index === 0 ? created : "") + one(said)))
}

/** Every event has a number. */
const numbered = (frames: ReadonlyArray<string>): ReadonlyArray<string> => {
  let next = 0
  return frames.map((each) => each.replace(/^data: \{/gm, () => `data: {"sequence_number":${next++},`))
}

export const openAiResponses: Vendor = {
  name: "OpenAI Responses",
  path: "/v1/responses",
  keyHeader: ["authorization", (key) => `Bearer ${key}`],
  provider: ({ server, ...settings }) => OpenAi.provider({ ...settings, baseUrl: `${server}/v1` }),
  render,
  refuse,
  needsBack: "opaque-item_0",
  history: (body) => list(record(body).input)
}
