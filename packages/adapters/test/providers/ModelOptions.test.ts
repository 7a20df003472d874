/** What each provider takes of the settings of an answer, and what a reply says of those that it does not take. */
import { Kernel, type ModelInfo, Principal, type Provider, Providers, Turns } from "@colloquy/core"
import { type ChatDriver, type ChatEvent, type ModelOptions, noUsage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import { MockLanguageModelV4 } from "ai/test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { InMemory } from "../../src/in-memory/index.ts"
import * as AiSdk from "../../src/providers/AiSdk.ts"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as Compatible from "../../src/providers/OpenAiCompatible.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"

const answers: ChatDriver = () =>
  Stream.fromIterable<ChatEvent>([
    { _tag: "TextDelta", text: "Hi" },
    { _tag: "Usage", usage: noUsage },
    { _tag: "Finished", reason: "stop", model: null, providerData: null }
  ])

const tool = { name: "get_time", description: null, parameters: null }

/** Of every setting at once, the names of those without an effect. */
const ignoredBy = (provider: Provider, info: Partial<ModelInfo>, options: ModelOptions) =>
  Effect.gen(function* () {
    const request = { content: "Hello", tools: [tool], modelOptions: options }
    const { ignored } = yield* (yield* Turns).send(request)
    return ignored.map(({ option }) => option.replace("model_options.", ""))
  }).pipe(
    Principal.provide("ada"),
    Effect.provide(
      Kernel.layer.pipe(
        Layer.provide([
          Providers.layer({
            providers: [{ ...provider, chat: answers, describe: () => info }],
            defaults: { provider: provider.id, model: "model-1" }
          }),
          InMemory.layer
        ]),
        Layer.fresh
      )
    )
  )

const every: ModelOptions = {
  temperature: 0.2,
  topP: 0.9,
  maxOutputTokens: 100,
  stop: ["END"],
  seed: 7,
  toolChoice: "required",
  parallelToolCalls: false,
  maxSteps: 3
}

const many = { stop: ["1", "2", "3", "4", "5", "6"], toolChoice: { name: "get_time" } } as const

const cases: ReadonlyArray<
  readonly [name: string, provider: Provider, every: string, reasoning: string, many: string]
> = [
  ["OpenAI", OpenAi.provider(), "stop seed", "temperature top_p stop seed", "stop"],
  ["OpenAI, Chat Completions", OpenAi.provider({ wire: "chat" }), "", "temperature top_p stop", "stop"],
  ["OpenRouter", OpenRouter.provider(), "", "", ""],
  ["Anthropic", Anthropic.provider(), "top_p seed", "top_p seed", ""],
  ["Gemini", Gemini.provider(), "parallel_tool_calls", "parallel_tool_calls", "stop"],
  ["Groq", Compatible.provider(Compatible.groq), "", "", "stop"],
  [
    "DeepSeek",
    Compatible.provider(Compatible.deepSeek),
    "seed parallel_tool_calls",
    "temperature top_p seed parallel_tool_calls",
    ""
  ],
  ["xAI", Compatible.provider(Compatible.xAi), "", "stop", "stop"],
  [
    "Ollama",
    Compatible.provider(Compatible.ollama),
    "tool_choice parallel_tool_calls",
    "tool_choice parallel_tool_calls",
    "tool_choice"
  ],
  [
    "AI SDK",
    AiSdk.provider({ id: "sdk", languageModel: () => new MockLanguageModelV4() }),
    "parallel_tool_calls",
    "parallel_tool_calls",
    ""
  ]
]

describe("the settings of an answer", () => {
  for (const [name, provider, ofAll, ofReasoning, ofMany] of cases) {
    it.effect(`that ${name} does not take are told`, () =>
      Effect.gen(function* () {
        const words = (list: ReadonlyArray<string>) => list.join(" ")
        assert.strictEqual(words(yield* ignoredBy(provider, {}, every)), ofAll)
        assert.strictEqual(words(yield* ignoredBy(provider, { supportsThinking: true }, every)), ofReasoning)
        assert.strictEqual(words(yield* ignoredBy(provider, {}, many)), ofMany)
        assert.strictEqual(words(yield* ignoredBy(provider, {}, {})), "")
      })
    )
  }
})
