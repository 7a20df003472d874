/**
 * The ways to typed answers, each with the wire of its server: one entry tells how to build the provider against a server of ours, and how
 * that server says what the scenarios of `Answers.integration.test.ts` script.
 */
import { type Provider } from "@colloquy/core"
import { type AnswerMethod, noUsage } from "@colloquy/core/adapters"
import * as AiError from "effect/ai/AiError"
import * as DecisionModel from "effect/ai/DecisionModel"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import * as EffectAi from "../../src/providers/EffectAi.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import * as SystemOne from "../../src/providers/SystemOne.ts"
import { json, type Reply, sse } from "./FakeVendor.ts"
import { anthropic } from "./vendors/Anthropic.ts"

/** Shares of the options, in the order of the questions: urgent, topic, anger. */
export type Shares = ReadonlyArray<Readonly<Record<string, number>>>

export interface AnswerVendor {
  readonly name: string
  readonly provider: (server: string) => Provider
  readonly path: string
  /** Null where the host's own model holds the key. */
  readonly keyHeader: readonly [name: string, value: (key: string) => string] | null
  readonly method: AnswerMethod
  readonly estimated: boolean
  /** The replies to one ask, in the order in which the questions are asked. */
  readonly say: (shares: Shares) => ReadonlyArray<Reply>
  /** What the vendor says of itself. */
  readonly model: string
  readonly refuse: (status: number, sentence: string) => unknown
  /** Replies to the first request that hold no answer to the question. */
  readonly nonsense: ReadonlyArray<Reply>
}

const hostKey = Redacted.make("sk-of-the-host")
const bearer = ["authorization", (key: string) => `Bearer ${key}`] as const

const labels: { readonly [option: string]: string } = { true: "Yes", false: "No", refund: "A", delivery: "B" }
const optionLabel = (option: string): string => labels[option] ?? option

const labelled = (shares: Shares[number]) =>
  Object.entries(shares).map(([option, p]) => [optionLabel(option), p] as const)

// ------ the wire of System One

const systemOneAnswers = ([urgent, topic, anger]: Shares) => ({
  urgent: { type: "noul", noul: urgent?.["true"] },
  // What it says beside the probabilities is wrong on purpose: nobody reads it.
  topic: { type: "choice", choice: "delivery", confidence: 0, probabilities: topic },
  anger: { type: "score", score: 9, confidence: 9, legend: { 0: "wrong" }, probabilities: anger }
})

const systemOneReply = (answers: unknown): Reply =>
  json({ model: "typed-1.14.0", answers, usage: { input_tokens: 212, output_tokens: 3 } })

const soundAnswers = systemOneAnswers([
  { true: 0.8 },
  { refund: 0.95, delivery: 0.05 },
  { "0": 0.15, "1": 0.5, "2": 0.35 }
])

const systemOne: AnswerVendor = {
  name: "System One",
  provider: (server) => SystemOne.provider({ baseUrl: server, apiKey: hostKey }),
  path: "/v1/systemone",
  keyHeader: bearer,
  method: "native",
  estimated: false,
  say: (shares) => [systemOneReply(systemOneAnswers(shares))],
  model: "typed-1.14.0",
  refuse: (status, msg) =>
    status === 422
      ? { detail: [{ loc: ["body", "questions", "topic", "criteria"], msg, type: "too_short" }] }
      : { detail: { error_type: "some_error", message: msg } },
  nonsense: [
    json([]),
    json({}),
    json({ answers: null }),
    systemOneReply({}),
    systemOneReply({ ...soundAnswers, other: { type: "noul", noul: 1 } }),
    systemOneReply({ ...soundAnswers, urgent: { type: "noul", noul: 1.3 } }),
    systemOneReply({ ...soundAnswers, urgent: { type: "noul", noul: "0.5" } }),
    systemOneReply({ ...soundAnswers, urgent: { type: "noul" } }),
    systemOneReply({ ...soundAnswers, urgent: { type: "choice", probabilities: { true: 1, false: 0 } } }),
    systemOneReply({ ...soundAnswers, topic: { type: "choice", choice: "refund", confidence: 1 } }),
    systemOneReply({ ...soundAnswers, topic: { type: "choice", probabilities: { refund: 0.5, complaint: 0.5 } } }),
    systemOneReply({ ...soundAnswers, topic: { type: "choice", probabilities: { refund: 95, delivery: 5 } } }),
    systemOneReply({ ...soundAnswers, anger: { type: "score", probabilities: [0.2, 0.3, null] } }),
    systemOneReply({ ...soundAnswers, anger: { type: "score", probabilities: { 0: -1, 1: 1, 2: 1 } } })
  ]
}

// ------ log-probabilities

const openAiReply = (candidates: ReadonlyArray<readonly [string, number]>): Reply =>
  json({
    id: "c",
    object: "chat.completion",
    model: "model-1-2026",
    choices: [
      {
        index: 0,
        finish_reason: "length",
        message: { role: "assistant", content: candidates[0]?.[0] ?? "" },
        logprobs: {
          refusal: null,
          content: [
            {
              token: candidates[0]?.[0] ?? "",
              logprob: Math.log(candidates[0]?.[1] ?? 1),
              bytes: null,
              top_logprobs: candidates.map(([token, p]) => ({ token, logprob: Math.log(p), bytes: null }))
            }
          ]
        }
      }
    ],
    usage: { prompt_tokens: 71, completion_tokens: 1, total_tokens: 72 }
  })

const otherWords: ReadonlyArray<readonly [string, number]> = [
  ["I", 0.6],
  ["Well", 0.4]
]

const openAiLike = (name: string, provider: AnswerVendor["provider"]): AnswerVendor => ({
  name,
  provider,
  path: "/v1/chat/completions",
  keyHeader: bearer,
  method: "logprobs",
  estimated: false,
  say: (shares) => shares.map((each) => openAiReply(labelled(each))),
  model: "model-1-2026",
  refuse: (status, message) => ({
    error: { message, type: "some_error", code: status === 402 ? "insufficient_quota" : null }
  }),
  nonsense: [openAiReply(otherWords)]
})

const openAi = openAiLike("OpenAI, log-probabilities", (server) =>
  withoutWords(OpenAi.provider({ baseUrl: `${server}/v1`, apiKey: hostKey }))
)

const localServer = openAiLike("a local server, log-probabilities", (server) =>
  withoutWords(OpenAiCompatible.provider({ ...OpenAiCompatible.vLlm, baseUrl: `${server}/v1`, apiKey: hostKey }))
)

const router = openAiLike("the router, log-probabilities", (server) =>
  withoutWords(OpenRouter.provider({ baseUrl: `${server}/v1`, apiKey: hostKey }))
)

/** So that a failure shows: with conversations, the model would answer in words instead. */
const withoutWords = ({ id, nextToken }: Provider): Provider => ({ id, ...(nextToken && { nextToken }) })

const geminiReply = (candidates: ReadonlyArray<readonly [string, number]>): Reply => {
  const listed = candidates.map(([token, p], tokenId) => ({ token, tokenId, logProbability: Math.log(p) }))
  return json({
    modelVersion: "model-1-2026",
    candidates: [
      {
        content: { role: "model", parts: [{ text: candidates[0]?.[0] }] },
        finishReason: "MAX_TOKENS",
        avgLogprobs: -0.1,
        logprobsResult: { topCandidates: [{ candidates: listed }], chosenCandidates: listed.slice(0, 1) }
      }
    ],
    usageMetadata: { promptTokenCount: 71, candidatesTokenCount: 1, totalTokenCount: 72 }
  })
}

const googleWords: { readonly [status: number]: string } = {
  401: "UNAUTHENTICATED",
  422: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  529: "UNAVAILABLE"
}

const gemini: AnswerVendor = {
  name: "Gemini, log-probabilities",
  provider: (server) => withoutWords(Gemini.provider({ baseUrl: `${server}/v1beta`, apiKey: hostKey })),
  path: "/v1beta/models/model-1:generateContent",
  keyHeader: ["x-goog-api-key", (key) => key],
  method: "logprobs",
  estimated: false,
  say: (shares) => shares.map((each) => geminiReply(labelled(each))),
  model: "model-1-2026",
  refuse: (code, message) => ({ error: { code, message, status: googleWords[code] } }),
  nonsense: [geminiReply(otherWords)]
}

// ------ words

const anthropicReply = (text: string): Reply =>
  sse(anthropic.render([{ text }, { finish: "stop", usage: { ...noUsage, inputTokens: 71, outputTokens: 1 } }]))

const stated = (shares: Shares[number]) => JSON.stringify(Object.fromEntries(labelled(shares)))

const inWords: AnswerVendor = {
  name: "Anthropic, in the model's own words",
  provider: (server) => Anthropic.provider({ baseUrl: `${server}/v1`, apiKey: hostKey }),
  path: "/v1/messages",
  keyHeader: ["x-api-key", (key) => key],
  method: "stated",
  estimated: true,
  say: (shares) => shares.map((each) => anthropicReply(stated(each))),
  model: "model-1-2026",
  refuse: (_, message) => ({ type: "error", error: { type: "some_error", message } }),
  nonsense: [
    anthropicReply("I cannot say."),
    anthropicReply('{"Yes": 0.9, "Perhaps": 0.1}'),
    anthropicReply('{"Yes": "high", "No": "low"}'),
    anthropicReply("{}")
  ]
}

// ------ effect/ai

/** As a vendor's package would make it, over a wire of its own. */
const decisionModelAt = (server: string) =>
  DecisionModel.make({
    decide: ({ decisions, state }) =>
      Effect.tryPromise({
        try: async (): Promise<DecisionModel.ProviderResponse> => {
          const body = JSON.stringify({ state, decisions })
          const response = await fetch(`${server}/decisions`, { method: "POST", body })
          if (!response.ok) throw reasonFromStatus(response.status, Number(response.headers.get("retry-after-ms") ?? 0))
          return JSON.parse(await response.text())
        },
        catch: (reason) =>
          AiError.make({
            module: "Test",
            method: "decide",
            reason: AiError.isAiErrorReason(reason)
              ? reason
              : new AiError.InternalProviderError({ description: "down" })
          })
      })
  })

const reasonFromStatus = (status: number, pause: number): AiError.AiErrorReason => {
  switch (status) {
    case 401:
      return new AiError.AuthenticationError({ kind: "InvalidKey" })
    case 402:
      return new AiError.QuotaExhaustedError({})
    case 422:
      return new AiError.InvalidRequestError({})
    case 429:
      return new AiError.RateLimitError({ retryAfter: Duration.millis(pause) })
    default:
      return new AiError.InternalProviderError({ description: "down" })
  }
}

const decisionReply = (answers: unknown): Reply =>
  json({ answers, usage: { inputTokens: 212, outputTokens: 3 }, modelId: "model-1-2026" })

const decisionAnswers = ([urgent, topic, anger]: Shares) => ({
  urgent: { _tag: "Probability", probability: urgent?.["true"] },
  topic: { _tag: "Classify", label: "delivery", probabilities: topic },
  anger: { _tag: "Rate", rating: 0, probabilities: anger }
})

const decisionModel: AnswerVendor = {
  name: "effect/ai, a decision model",
  provider: (server) => EffectAi.provider({ id: "p", decisionModel: () => Effect.runSync(decisionModelAt(server)) }),
  path: "/decisions",
  keyHeader: null,
  method: "native",
  estimated: false,
  say: (shares) => [decisionReply(decisionAnswers(shares))],
  model: "model-1-2026",
  refuse: () => ({}),
  nonsense: [
    decisionReply({}),
    decisionReply({ urgent: { _tag: "Refusal" }, topic: { _tag: "Refusal" }, anger: { _tag: "Refusal" } }),
    decisionReply(decisionAnswers([{ true: 7 }, { refund: 1, delivery: 0 }, { "0": 1, "1": 0, "2": 0 }])),
    decisionReply(decisionAnswers([{ true: 1 }, { refund: 1 }, { "0": 1, "1": 0, "2": 0 }]))
  ]
}

export const answerVendors: ReadonlyArray<AnswerVendor> = [
  systemOne,
  openAi,
  localServer,
  router,
  gemini,
  inWords,
  decisionModel
]
