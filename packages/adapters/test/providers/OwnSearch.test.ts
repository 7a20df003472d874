/** A model's own search of the web: which models have one, and how each vendor is asked for it. */
import type { Provider } from "@colloquy/core"
import { type ChatRequest, describeModel } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import { record } from "../../src/protocols/Wire.ts"

const look = { name: "look", description: null, parameters: null }

const asked = (
  provider: Provider,
  fields: Partial<ChatRequest>,
  details: { [field: string]: string[] } | null = null
) => {
  const info = describeModel({ name: "m", provider: provider.id, modelType: "llm", details })
  return record(
    provider.wire?.({
      provider: provider.id,
      model: "m",
      info,
      system: null,
      tools: [],
      toolChoice: "auto",
      messages: [{ role: "user", content: [{ type: "text", text: "?" }] }],
      thinking: null,
      routing: null,
      jsonOutput: false,
      maxOutputTokens: null,
      apiKey: null,
      conversationId: "c",
      ...fields
    })
  )
}

describe("a model's own search", () => {
  const own = { ownTools: ["web_search"] } as const
  const both = { ...own, tools: [look] }

  it("is a tool beside the others, as the vendor names it, and is not there unasked", () => {
    assert.deepStrictEqual(asked(OpenAi.provider(), own).tools, [{ type: "web_search" }])
    assert.lengthOf(Object(asked(OpenAi.provider(), both).tools), 2)
    const search = { type: "web_search_20250305", name: "web_search", max_uses: 8 }
    assert.deepInclude(Object(asked(Anthropic.provider(), own).tools)[0], search)
    assert.deepStrictEqual(Object(asked(Anthropic.provider(), both).tools)[0], search)
    assert.deepStrictEqual(asked(Gemini.provider(), own).tools, [{ googleSearch: {} }])
    assert.deepStrictEqual(asked(Gemini.provider(), both).tools, [
      { functionDeclarations: [{ name: "look" }] },
      { googleSearch: {} }
    ])
    assert.deepStrictEqual(asked(OpenRouter.provider(), own).plugins, [{ id: "web" }])
    for (const provider of [OpenAi.provider(), Anthropic.provider(), Gemini.provider(), OpenRouter.provider()]) {
      const plain = asked(provider, {})
      assert.deepStrictEqual([plain.tools, plain.plugins], [undefined, undefined])
    }
  })

  it("stands beside the plugin of the automatic choice", () => {
    const request = { ...own, model: "openrouter/auto", routing: { costTier: "low" as const } }
    assert.deepStrictEqual(asked(OpenRouter.provider(), request).plugins, [
      { id: "auto-router", cost_tier: "low" },
      { id: "web" }
    ])
  })

  it("is known of the models that have one", () => {
    const searches = (provider: Provider, model: string) => provider.describe?.(model)?.details?.["web_search"] === true
    const openAi = OpenAi.provider()
    assert.deepStrictEqual(
      ["gpt-5.1", "gpt-4.1-mini", "o3", "gpt-3.5-turbo", "gpt-4o-audio-preview", "gpt-image-1"].map((name) =>
        searches(openAi, name)
      ),
      [true, true, true, false, false, false]
    )
    assert.isFalse(searches(OpenAi.provider({ wire: "chat" }), "gpt-5.1"))
    assert.deepStrictEqual(
      ["claude-sonnet-4-5", "claude-opus-5", "claude-3-haiku-20240307"].map((name) =>
        searches(Anthropic.provider(), name)
      ),
      [true, true, false]
    )
    assert.deepStrictEqual(
      ["gemini-3-pro", "gemini-2.5-flash", "gemini-3-pro-image"].map((name) => searches(Gemini.provider(), name)),
      [true, false, false]
    )
  })

  it("models of the router that paint are told that they may", () => {
    const painting = asked(OpenRouter.provider(), {}, { response_modalities: ["image", "text"] })
    assert.deepStrictEqual(painting.modalities, ["image", "text"])
  })
})
