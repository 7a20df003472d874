/** The wire of OpenAI Chat Completions, of a local server that speaks it, and of the router. */
import * as OpenAi from "../../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../../src/providers/OpenAiCompatible.ts"
import * as OpenRouter from "../../../src/providers/OpenRouter.ts"
import { list, record } from "../../../src/protocols/Wire.ts"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import type { Vendor } from "../Vendor.ts"

export const frame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "model-1-2026" }

const chunk = (delta: unknown, finish: string | null = null): string =>
  frame({ ...head, choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }], usage: null })

const finishWords = {
  stop: "stop",
  tool_calls: "tool_calls",
  length: "length",
  filtered: "content_filter",
  continue: "stop"
}

/** What a provider may write, and no error may repeat. */
export const secret = "sk-of-the-host wrote a secret"

const errorFrame = frame({ error: { message: `upstream is busy: ${secret}`, type: "server_error", code: 502 } })

/** The field for reasoning is what the servers disagree on. */
const renderWith =
  (reasoningField: "reasoning" | "reasoning_content") =>
  (says: ReadonlyArray<Said>): ReadonlyArray<string> =>
    says.map((said) => {
      if ("text" in said) return chunk({ content: said.text })
      if ("reasoning" in said) return chunk({ [reasoningField]: said.reasoning })
      if ("refusal" in said) return chunk({ refusal: said.refusal })
      if ("error" in said) return errorFrame
      if ("call" in said) {
        const { slot, id, name } = said.call
        return chunk({ tool_calls: [{ index: slot, id, type: "function", function: { name, arguments: "" } }] })
      }
      if ("arguments" in said) {
        return chunk({ tool_calls: [{ index: said.arguments.slot, function: { arguments: said.arguments.text } }] })
      }
      // A refusal in words ends like any other answer.
      const finish = says.some((each) => "refusal" in each) ? "stop" : finishWords[said.finish]
      return `${chunk({}, finish)}${renderUsage(said)}data: [DONE]\n\n`
    })

const renderUsage = ({ usage }: Extract<Said, { readonly finish: unknown }>): string =>
  usage === null
    ? ""
    : frame({
        ...head,
        choices: [],
        usage: {
          prompt_tokens: usage.inputTokens,
          completion_tokens: usage.outputTokens,
          total_tokens: usage.inputTokens + usage.outputTokens,
          prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
          completion_tokens_details: { reasoning_tokens: usage.reasoningTokens }
        }
      })

const refusals: { readonly [reason in RefusedWith]: readonly [status: number, type: string, code: string | null] } = {
  rate_limited: [429, "requests", "rate_limit_exceeded"],
  overloaded: [503, "server_error", null],
  auth: [401, "invalid_request_error", "invalid_api_key"],
  quota: [429, "insufficient_quota", "insufficient_quota"],
  context_too_long: [400, "invalid_request_error", "context_length_exceeded"],
  model_not_found: [404, "invalid_request_error", "model_not_found"],
  invalid_request: [400, "invalid_request_error", "invalid_value"],
  unknown: [418, "teapot", null]
}

export const refuse: Vendor["refuse"] = (reason) => {
  const [status, type, code] = refusals[reason]
  return { status, body: { error: { message: "no", type, param: null, code } } }
}

const wire: Pick<Vendor, "path" | "keyHeader" | "refuse" | "history"> = {
  path: "/v1/chat/completions",
  keyHeader: ["authorization", (key) => `Bearer ${key}`],
  refuse,
  history: (body) => list(record(body).messages)
}

export const openAi: Vendor = {
  ...wire,
  name: "OpenAI Chat",
  provider: ({ server, ...settings }) => OpenAi.provider({ ...settings, wire: "chat", baseUrl: `${server}/v1` }),
  render: (says) => withRole(renderWith("reasoning_content")(says))
}

/** The first chunk says who speaks, and nothing else. */
const withRole = (frames: ReadonlyArray<string>): ReadonlyArray<string> =>
  frames.map((each, index) =>
    index === 0 ? `${chunk({ role: "assistant", content: "", refusal: null })}${each}` : each
  )

/** Comments, CRLF and no role, as some servers send it, and errors as a Python server writes them. */
export const openAiCompatible: Vendor = {
  ...wire,
  name: "a local server",
  provider: ({ server, ...settings }) =>
    OpenAiCompatible.provider({ ...OpenAiCompatible.vLlm, ...settings, baseUrl: `${server}/v1` }),
  render: (says) => renderWith("reasoning")(says).map((frames) => `: ping\r\n\r\n${frames.replaceAll("\n", "\r\n")}`),
  refuse: (reason) =>
    reason === "context_too_long"
      ? {
          status: 400,
          body: { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 40303 }
        }
      : reason === "quota"
        ? { status: 402, body: { detail: "no credit" } }
        : { status: refusals[reason][0], body: { detail: "no" } }
}

const routerRefusals: { readonly [reason in RefusedWith]: readonly [status: number, type: string] } = {
  rate_limited: [429, "rate_limit_exceeded"],
  overloaded: [529, "provider_overloaded"],
  auth: [401, "authentication"],
  quota: [402, "payment_required"],
  context_too_long: [400, "context_length_exceeded"],
  model_not_found: [404, "not_found"],
  invalid_request: [400, "invalid_request"],
  unknown: [418, "teapot"]
}

export const openRouter: Vendor = {
  ...wire,
  name: "OpenRouter",
  provider: ({ server, ...settings }) => OpenRouter.provider({ ...settings, baseUrl: `${server}/v1` }),
  render: (says) => withRole(renderWith("reasoning")(says)).map((frames) => `: OPENROUTER PROCESSING\n\n${frames}`),
  refuse: (reason) => {
    const [status, type] = routerRefusals[reason]
    return { status, body: { error: { code: status, message: "no", metadata: { error_type: type } }, user_id: "u" } }
  }
}
