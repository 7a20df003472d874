/** The wire of Anthropic Messages: events with names, blocks that are opened, filled and closed, pings in between. */
import * as Anthropic from "../../../src/providers/Anthropic.ts"
import { list, record } from "../../../src/protocols/Wire.ts"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import type { Vendor } from "../Vendor.ts"
import { secret } from "./OpenAiChat.ts"

const event = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

type Finish = Extract<Said, { readonly finish: unknown }>

const stopReasons: { readonly [reason in Finish["finish"]]: string } = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  filtered: "refusal",
  continue: "pause_turn"
}

/** What is known at the beginning: the input. */
const messageStart = (usage: Finish["usage"]): string =>
  event({
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "model-1-2026",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: (usage?.inputTokens ?? 0) - (usage?.cachedInputTokens ?? 0) - (usage?.cacheWriteTokens ?? 0),
        cache_creation_input_tokens: usage?.cacheWriteTokens ?? 0,
        cache_read_input_tokens: usage?.cachedInputTokens ?? 0,
        output_tokens: 1,
        service_tier: "standard"
      }
    }
  })

const messageEnd = ({ finish, usage }: Finish): string =>
  event({
    type: "message_delta",
    delta: { stop_reason: stopReasons[finish], stop_sequence: null },
    usage: {
      output_tokens: usage?.outputTokens ?? 1,
      output_tokens_details: { thinking_tokens: usage?.reasoningTokens ?? 0 },
      input_tokens: null
    }
  }) + event({ type: "message_stop" })

const open = (index: number, block: unknown): string =>
  event({ type: "content_block_start", index, content_block: block })

const delta = (index: number, change: unknown): string => event({ type: "content_block_delta", index, delta: change })

const close = (index: number): string => event({ type: "content_block_stop", index })

/** Texts and thoughts take turns; calls stay open side by side until the end. */
class Writer {
  private blocks = 0
  private prose: { readonly index: number; readonly type: "text" | "thinking" } | null = null
  private readonly calls = new Map<number, number>()

  say(type: "text" | "thinking", more: string): string {
    const before = this.prose?.type === type ? "" : this.endProse() + open(this.blocks, { type, [type]: "" })
    this.prose ??= { index: this.blocks++, type }
    return before + delta(this.prose.index, { type: `${type}_delta`, [type]: more })
  }

  call(slot: number, id: string, name: string): string {
    const before = this.endProse()
    this.calls.set(slot, this.blocks)
    return before + open(this.blocks++, { type: "tool_use", id, name, input: {} }) + this.write(slot, "")
  }

  write(slot: number, more: string): string {
    return delta(this.calls.get(slot) ?? 0, { type: "input_json_delta", partial_json: more })
  }

  end(): string {
    return this.endProse() + [...this.calls.values()].map(close).join("")
  }

  private endProse(): string {
    if (this.prose === null) return ""
    const { index, type } = this.prose
    this.prose = null
    return (type === "thinking" ? delta(index, { type: "signature_delta", signature: "c2ln" }) : "") + close(index)
  }
}

const render = (says: ReadonlyArray<Said>): ReadonlyArray<string> => {
  const writer = new Writer()
  const end = says.find((said) => "finish" in said)
  return says.map((said, index) => {
    const before = index === 0 ? messageStart(end?.usage ?? null) : event({ type: "ping" })
    return before + renderOne(said, writer)
  })
}

const renderOne = (said: Said, writer: Writer): string => {
  if ("text" in said) return writer.say("text", said.text)
  if ("refusal" in said) return writer.say("text", said.refusal)
  if ("reasoning" in said) return writer.say("thinking", said.reasoning)
  if ("call" in said) return writer.call(said.call.slot, said.call.id, said.call.name)
  if ("arguments" in said) return writer.write(said.arguments.slot, said.arguments.text)
  if ("error" in said) return event({ type: "error", error: { type: "overloaded_error", message: `busy: ${secret}` } })
  return writer.end() + messageEnd(said)
}

const refusals: { readonly [reason in RefusedWith]: readonly [status: number, type: string, message: string] } = {
  rate_limited: [429, "rate_limit_error", "slow down"],
  overloaded: [529, "overloaded_error", "busy"],
  auth: [401, "authentication_error", "no"],
  quota: [402, "billing_error", "no"],
  context_too_long: [400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"],
  model_not_found: [404, "not_found_error", "model: model-1"],
  invalid_request: [400, "invalid_request_error", "no"],
  unknown: [418, "teapot_error", "no"]
}

export const anthropic: Vendor = {
  name: "Anthropic",
  provider: ({ server, ...settings }) => Anthropic.provider({ ...settings, baseUrl: `${server}/v1` }),
  path: "/v1/messages",
  keyHeader: ["x-api-key", (key) => key],
  render,
  refuse: (reason) => {
    const [status, type, message] = refusals[reason]
    return { status, body: { type: "error", error: { type, message }, request_id: "req_1" } }
  },
  needsBack: "c2ln",
  cannot: { jsonOutput: "the wire has no JSON without a schema" },
  history: (body) => list(record(body).messages)
}
