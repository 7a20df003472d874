/**
 * A model of `effect/ai` with a wire of its own: it posts the prompt as JSON and reads one encoded part a line. No package of that world is
 * needed for it, and the bridge sees what it sees of every other model.
 */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as EffectAi from "../../../src/providers/EffectAi.ts"
import { list, record } from "../../../src/protocols/Wire.ts"
import type { Said } from "@colloquy/testing/contracts"
import type { Vendor } from "../Vendors.ts"
import { refuse } from "./OpenAiChat.ts"

type Part = Response.StreamPartEncoded
type Finish = Extract<Said, { readonly finish: unknown }>

const failure = (reason: AiError.AiErrorReason) => AiError.make({ module: "Lines", method: "streamText", reason })

const failureOf = ({ status }: globalThis.Response) =>
  failure(
    status === 429
      ? new AiError.RateLimitError({ retryAfter: Duration.zero })
      : AiError.reasonFromHttpStatus({ status, description: "no" })
  )

const parse = (line: string): Part => JSON.parse(line)

const partsOf = (response: globalThis.Response): Stream.Stream<Part, AiError.AiError> => {
  const { body } = response
  if (!response.ok || body === null) return Stream.fail(failureOf(response))
  const broken = () => failure(new AiError.UnknownError({ description: "the connection broke" }))
  return Stream.fromReadableStream({ evaluate: () => body, onError: broken }).pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line !== ""),
    Stream.map(parse)
  )
}

const modelAt = (url: string, model: string, key: Redacted.Redacted<string> | null) =>
  LanguageModel.make({
    generateText: () => Effect.die("not streamed"),
    streamText: ({ prompt, tools }) => {
      const body = JSON.stringify({ model, prompt: prompt.content, tools: tools.map((tool) => tool.name) })
      const headers = key === null ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
      return Stream.unwrap(
        Effect.tryPromise({
          try: (signal) => fetch(url, { method: "POST", headers, body, signal }),
          catch: () => failure(new AiError.UnknownError({ description: "no connection" }))
        }).pipe(Effect.map(partsOf))
      )
    }
  })

const reasons: { readonly [reason in Finish["finish"]]: Response.FinishReason } = {
  stop: "stop",
  tool_calls: "tool-calls",
  length: "length",
  filtered: "content-filter",
  continue: "pause"
}

const finish = ({ finish: reason, usage }: Finish): Part => ({
  type: "finish",
  reason: reasons[reason],
  usage: {
    inputTokens: {
      total: usage?.inputTokens,
      uncached: undefined,
      cacheRead: usage?.cachedInputTokens,
      cacheWrite: undefined
    },
    outputTokens: { total: usage?.outputTokens, text: undefined, reasoning: usage?.reasoningTokens }
  },
  response: undefined
})

/** Calls come whole, before the end; every thought is signed. */
const render = (says: ReadonlyArray<Said>): ReadonlyArray<string> =>
  says.map((said, index) => {
    const id = String(index)
    return partsFor(said, id, says)
      .map((part) => `${JSON.stringify(part)}\n`)
      .join("")
  })

const partsFor = (said: Said, id: string, says: ReadonlyArray<Said>): ReadonlyArray<Part> => {
  if ("reasoning" in said) {
    return [
      { type: "reasoning-start", id },
      { type: "reasoning-delta", id, delta: said.reasoning },
      { type: "reasoning-end", id, metadata: { vendor: { signature: "c2ln" } } }
    ]
  }
  if ("text" in said || "refusal" in said) {
    const delta = "text" in said ? said.text : said.refusal
    return [
      { type: "text-start", id },
      { type: "text-delta", id, delta },
      { type: "text-end", id }
    ]
  }
  return "finish" in said ? [...says.flatMap((each) => callsFor(each, says)), finish(said)] : []
}

const callsFor = (said: Said, says: ReadonlyArray<Said>): ReadonlyArray<Part> => {
  if (!("call" in said)) return []
  const { id, name, slot } = said.call
  const written = says.map((each) => ("arguments" in each && each.arguments.slot === slot ? each.arguments.text : ""))
  return [{ type: "tool-call", id, name, params: JSON.parse(written.join("") || "{}") }]
}

export const effectAi: Vendor = {
  name: "a model of effect/ai",
  provider: ({ server, apiKey: ofTheHost }) =>
    EffectAi.provider({
      id: "effect-ai",
      languageModel: (model, ofTheCustomer) =>
        Layer.effect(LanguageModel.LanguageModel, modelAt(`${server}/model`, model, ofTheCustomer ?? ofTheHost ?? null))
    }),
  path: "/model",
  keyHeader: ["authorization", (key) => `Bearer ${key}`],
  render,
  refuse,
  history: (body) => list(record(body).prompt)
}
