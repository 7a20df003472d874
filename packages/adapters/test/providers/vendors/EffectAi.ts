/**
 * A model of `effect/ai` with a wire of its own: it posts the prompt as JSON and reads one encoded part a line. No package of that world is
 * needed for it, and the bridge sees what it sees of every other model.
 */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as EffectAi from "../../../src/providers/EffectAi.ts"
import { list, parseJson, record } from "../../../src/protocols/Wire.ts"
import type { Said } from "@colloquy/testing/contracts"
import { bytesAsText } from "../../../../testing/src/contracts/DriverChecks.ts"
import type { Vendor } from "../Vendor.ts"
import { refuse } from "./OpenAiChat.ts"

type Part = Response.StreamPartEncoded
type Finish = Extract<Said, { readonly finish: unknown }>

const failure = (reason: AiError.AiErrorReason) => AiError.make({ module: "Lines", method: "streamText", reason })

/** A refusal as the packages of vendors tell it: by status and code, with what HTTP said. */
const refusal = async (response: globalThis.Response): Promise<AiError.AiError> => {
  const { headers, status } = response
  const body = await response.text()
  const error = record(record(parseJson(body)).error)
  const metadata = { vendor: { errorCode: String(error.code), errorType: String(error.type) } }
  const http = { response: { status, headers: Object.fromEntries(headers) }, body }
  const pause = Number(headers.get("retry-after") ?? Number.NaN)
  if (error.code === "insufficient_quota") return failure(new AiError.QuotaExhaustedError({ metadata, http }))
  return failure(
    status === 429
      ? new AiError.RateLimitError({ metadata, http, ...(pause >= 0 ? { retryAfter: Duration.seconds(pause) } : {}) })
      : AiError.reasonFromHttpStatus({ status, description: "no", metadata, http })
  )
}

const broken = () =>
  failure(new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "http://127.0.0.1/model" }))

const overloaded = failure(new AiError.InternalProviderError({ description: "no" }))

const readLine = (line: string): Effect.Effect<Part, AiError.AiError> => {
  const part: Part = JSON.parse(line)
  return part.type === "error" ? Effect.fail(overloaded) : Effect.succeed(part)
}

const readParts = (response: globalThis.Response): Stream.Stream<Part, AiError.AiError> => {
  const { body } = response
  if (!response.ok || body === null)
    return Stream.fromEffect(
      Effect.flatMap(
        Effect.promise(() => refusal(response)),
        Effect.fail
      )
    )
  return Stream.fromReadableStream({ evaluate: () => body, onError: broken }).pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line !== ""),
    Stream.mapEffect(readLine)
  )
}

const modelAt = (url: string, model: string, key: Redacted.Redacted<string> | null) =>
  LanguageModel.make({
    generateText: () => Effect.die("not streamed"),
    streamText: ({ prompt, toolChoice, tools }) => {
      const offered = tools.map((tool) => ({
        name: tool.name,
        description: Tool.getDescription(tool),
        parameters: Tool.getJsonSchema(tool)
      }))
      const body = JSON.stringify({ model, prompt: prompt.content, tools: offered, toolChoice }, bytesAsText)
      const headers = key === null ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
      return Stream.unwrap(
        Effect.tryPromise({
          try: (signal) => fetch(url, { method: "POST", headers, body, signal }),
          catch: broken
        }).pipe(Effect.map(readParts))
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

/** Calls come whole, before the end; every thought is signed, at its last piece. */
const render = (says: ReadonlyArray<Said>): ReadonlyArray<string> =>
  says.map((said, index) =>
    partsFor(said, index, says)
      .map((part) => `${JSON.stringify(part)}\n`)
      .join("")
  )

const isThought = (said: Said | undefined) => said !== undefined && "reasoning" in said

const partsFor = (said: Said, index: number, says: ReadonlyArray<Said>): ReadonlyArray<Part> => {
  const id = String(index)
  if ("reasoning" in said) {
    const thought = "thought"
    const metadata = { vendor: { signature: "c2ln" } }
    return [
      ...(isThought(says[index - 1]) ? [] : [{ type: "reasoning-start", id: thought } as const]),
      { type: "reasoning-delta", id: thought, delta: said.reasoning },
      ...(isThought(says[index + 1]) ? [] : [{ type: "reasoning-end", id: thought, metadata } as const])
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
  if ("error" in said) return [{ type: "error", error: said.error }]
  if (!("finish" in said)) return []
  const answered = { type: "response-metadata", modelId: "model-1-2026" } as const
  return [answered, ...says.flatMap((each) => callsFor(each, says)), finish(said)]
}

const callsFor = (said: Said, says: ReadonlyArray<Said>): ReadonlyArray<Part> => {
  if (!("call" in said)) return []
  const { id, name, slot } = said.call
  const written = says.map((each) => ("arguments" in each && each.arguments.slot === slot ? each.arguments.text : ""))
  return [{ type: "tool-call", id, name, params: JSON.parse(written.join("") || "{}") }]
}

const noSuchSetting = "effect/ai has no such setting; a host gives it as `configuration`"

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
  needsBack: "c2ln",
  cannot: { maxOutputTokens: noSuchSetting, sampling: noSuchSetting, thinking: noSuchSetting },
  history: (body) => list(record(body).prompt)
}
