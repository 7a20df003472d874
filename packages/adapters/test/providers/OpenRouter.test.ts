/** What only the router has: routing, the automatic model, budgets, and a list of models that tells everything. */
import { assert, describe, it } from "@effect/vitest"
import { type ModelInfo } from "@colloquy/core"
import { type ChatRequest, describeModel, type Routing } from "@colloquy/core/adapters"
import { readModel } from "../../src/protocols/RouterModels.ts"
import { lowerRouting, lowerThinking } from "../../src/providers/OpenRouter.ts"
import { request } from "./Scenarios.ts"

const automatic = { "router/auto": "auto-router" }

const everything: Routing = {
  providers: ["acme", "other"],
  allowFallbacks: false,
  sort: "price",
  ignore: ["bad"],
  maxPrice: { prompt: 1, completion: 2.5 },
  allowedModels: ["acme/*"],
  excludedModels: ["*/*:free"],
  costTier: "low"
}

describe("lowerRouting", () => {
  const lowered = (model: string, routing: Routing | null) =>
    lowerRouting(request("router", { model, routing }), automatic)

  it("sends the upstreams for every model, and the restrictions to the automatic one only", () => {
    const provider = {
      order: ["acme", "other"],
      ignore: ["bad"],
      allow_fallbacks: false,
      sort: "price",
      max_price: { prompt: 1, completion: 2.5 }
    }
    assert.deepStrictEqual(lowered("acme/m", everything), { provider })
    assert.deepStrictEqual(lowered("router/auto", everything), {
      provider,
      plugins: [{ id: "auto-router", allowed_models: ["acme/*"], excluded_models: ["*/*:free"], cost_tier: "low" }]
    })
  })

  it("sends nothing for what was not asked", () => {
    for (const routing of [null, {}, { providers: [], maxPrice: {} }, { allowedModels: [] }]) {
      assert.deepStrictEqual(lowered("router/auto", routing), {})
    }
    assert.deepStrictEqual(lowered("constructor", { costTier: "low" }), {})
    assert.deepStrictEqual(lowered("acme/m", { maxPrice: { prompt: 0 } }), { provider: { max_price: { prompt: 0 } } })
  })
})

describe("lowerThinking", () => {
  const cases: ReadonlyArray<
    readonly [thinking: ChatRequest["thinking"], expected: object, info?: Partial<ModelInfo>]
  > = [
    [null, {}],
    [{}, { reasoning: { enabled: true } }],
    [{ effort: "max" }, { reasoning: { effort: "max" } }],
    [{ effort: "low", maxTokens: 900, budgetTokens: 5 }, { reasoning: { max_tokens: 900 } }],
    [{ budgetTokens: 5 }, { reasoning: { max_tokens: 5 } }],
    [{ budgetTokens: 0, effort: "high" }, { reasoning: { effort: "none" } }],
    [{ excludeReasoning: true }, { reasoning: { enabled: true, exclude: true } }],
    [{ effort: "low" }, {}, { supportsThinking: false }],
    [
      { effort: "low", maxTokens: 900 },
      { reasoning: { effort: "low" } },
      { thinkingControls: { efforts: ["low"], budget: false, style: null } }
    ]
  ]
  for (const [thinking, expected, known] of cases) {
    it(`${JSON.stringify(thinking)} becomes ${JSON.stringify(expected)}`, () => {
      const info = describeModel({ name: "m", provider: "router", modelType: "llm", ...known })
      assert.deepStrictEqual<object>(lowerThinking(request("router", { thinking, info })), expected)
    })
  }
})

describe("readModel", () => {
  it("reads limits, prices and capabilities", () => {
    const known = readModel({
      id: "acme/m-1",
      name: "Acme M1",
      context_length: 128_000,
      architecture: { input_modalities: ["text", "image", "file"], output_modalities: ["text"] },
      pricing: { prompt: "0.0000007", completion: "0.000002" },
      top_provider: { max_completion_tokens: 8192 },
      supported_parameters: ["tools", "reasoning"],
      reasoning: { supported_efforts: ["low", "high"], supports_max_tokens: false }
    })
    assert.deepStrictEqual(known, {
      modelType: "llm",
      displayName: "Acme M1",
      contextLimit: 128_000,
      maxOutputTokens: 8192,
      supportsTools: true,
      supportsJsonOutput: false,
      supportsOutputSchema: false,
      supportsThinking: true,
      supportsVision: true,
      supportsPdfInput: true,
      supportsAudioInput: false,
      supportsVideoInput: false,
      supportsAudioOutput: false,
      thinkingControls: { efforts: ["low", "high"], budget: false, style: null },
      inputCostPerMillionTokens: 0.7,
      outputCostPerMillionTokens: 2
    })
  })

  it("takes an entry that tells nothing, and leaves out a kind that the catalogue does not have", () => {
    const bare = readModel({
      id: "x",
      architecture: { output_modalities: ["image"] },
      pricing: { prompt: "-1", completion: "" }
    })
    assert.deepInclude(bare, {
      modelType: "image",
      contextLimit: null,
      inputCostPerMillionTokens: null,
      outputCostPerMillionTokens: null
    })
    assert.isNull(readModel({ id: "x", architecture: { output_modalities: ["rerank"] } }))
    assert.isNull(readModel({ id: "x" }))
  })
})
