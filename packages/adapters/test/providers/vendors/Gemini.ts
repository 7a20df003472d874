/** The wire of Gemini: chunks without names or an end mark, calls that come whole, the usage on every chunk. */
import * as Gemini from "../../../src/providers/Gemini.ts"
import { list, parseJson, record } from "../../../src/protocols/Wire.ts"
import type { RefusedWith, Said } from "@colloquy/testing/contracts"
import type { Vendor } from "../Vendor.ts"
import { secret } from "./OpenAiChat.ts"

type Finish = Extract<Said, { readonly finish: unknown }>

const chunk = (parts: ReadonlyArray<unknown>, more: object = {}, usage: Finish["usage"] = null): string => {
  const body = {
    candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
    usageMetadata: usageToWire(usage),
    modelVersion: "model-1-2026",
    responseId: "r1"
  }
  return `data: ${JSON.stringify(body)}\r\n\r\n`
}

/** Before the end only the input is known. */
const usageToWire = (usage: Finish["usage"]) =>
  usage === null
    ? { promptTokenCount: 1, totalTokenCount: 1 }
    : {
        promptTokenCount: usage.inputTokens,
        cachedContentTokenCount: usage.cachedInputTokens,
        candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
        thoughtsTokenCount: usage.reasoningTokens,
        totalTokenCount: usage.inputTokens + usage.outputTokens
      }

const finishWords: { readonly [reason in Finish["finish"]]: string } = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  filtered: "SAFETY",
  continue: "CONTINUATION"
}

const render = (says: ReadonlyArray<Said>): ReadonlyArray<string> =>
  says.map((said) => {
    if ("text" in said) return chunk([{ text: said.text }])
    if ("refusal" in said) return chunk([{ text: said.refusal }])
    if ("reasoning" in said) return chunk([{ text: said.reasoning, thought: true }])
    if ("error" in said) {
      return `data: ${JSON.stringify({ error: { code: 503, message: `busy: ${secret}`, status: "UNAVAILABLE" } })}\r\n\r\n`
    }
    if (!("finish" in said)) return ""
    const calls = says.flatMap((each) => ("call" in each ? [renderCall(each.call, says)] : []))
    const last = chunk([{ text: "" }], { finishReason: finishWords[said.finish] }, said.usage)
    return calls.length === 0 ? last : chunk(calls) + last
  })

const renderCall = (
  call: { readonly slot: number; readonly id: string; readonly name: string },
  says: ReadonlyArray<Said>
) => {
  const written = says.map((each) =>
    "arguments" in each && each.arguments.slot === call.slot ? each.arguments.text : ""
  )
  const { id, name } = call
  const signature = call.slot === 0 ? { thoughtSignature: "c2ln" } : {}
  return { functionCall: { id, name, args: record(parseJson(written.join(""))) }, ...signature }
}

type Refusal = readonly [status: number, word: string, details: ReadonlyArray<unknown>, message?: string]

const refusals: { readonly [reason in RefusedWith]: Refusal } = {
  rate_limited: [429, "RESOURCE_EXHAUSTED", []],
  overloaded: [503, "UNAVAILABLE", []],
  auth: [400, "INVALID_ARGUMENT", [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }]],
  quota: [
    429,
    "RESOURCE_EXHAUSTED",
    [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }]
      },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }
    ]
  ],
  context_too_long: [
    400,
    "INVALID_ARGUMENT",
    [],
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
  ],
  model_not_found: [404, "NOT_FOUND", []],
  invalid_request: [400, "INVALID_ARGUMENT", []],
  unknown: [418, "TEAPOT", []]
}

export const gemini: Vendor = {
  name: "Gemini",
  provider: ({ server, ...settings }) => Gemini.provider({ ...settings, baseUrl: `${server}/v1beta` }),
  path: "/v1beta/models/model-1:streamGenerateContent?alt=sse",
  keyHeader: ["x-goog-api-key", (key) => key],
  render,
  refuse: (reason) => {
    const [code, status, details, message = "no"] = refusals[reason]
    return { status: code, body: { error: { code, message, status, details } } }
  },
  history: (body) => list(record(body).contents)
}
