/** Live lists of models that come in pages: Anthropic's and Gemini's, and how a turn asks where several headers are possible. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import { record } from "../../src/protocols/Wire.ts"
import * as FakeVendor from "./FakeVendor.ts"
import { request } from "./Scenarios.ts"
import { anthropic } from "./vendors/Anthropic.ts"
import { gemini } from "./vendors/Gemini.ts"

const none = Effect.die("this provider has no list")
const apiKey = Redacted.make("sk-1")
const yes = { supported: true }
const no = { supported: false }

describe("Anthropic", () => {
  it.live("lists its models with what they can do", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const capabilities = {
        image_input: yes,
        pdf_input: no,
        effort: { supported: true, low: yes, medium: yes, high: yes, max: no, xhigh: null },
        thinking: { supported: true, types: { adaptive: yes, enabled: no, disabled: yes, between_tools: no } }
      }
      const limits = { max_input_tokens: 200_000, max_tokens: 64_000 }
      const first = { id: "claude-a", type: "model", display_name: "A", lifecycle: "active", capabilities, ...limits }
      const second = [
        { id: "claude-3-7-b", type: "model", display_name: "B", capabilities: null, max_input_tokens: null },
        { id: "claude-c", lifecycle: "retired" },
        { id: 7 },
        null
      ]
      fake.script("/v1/models?limit=1000", FakeVendor.json({ data: [first], has_more: true, last_id: "claude-a&x" }))
      fake.script(
        "/v1/models?limit=1000&after_id=claude-a%26x",
        FakeVendor.json({ data: second, has_more: false, last_id: "claude-c" })
      )
      const { listModels } = Anthropic.provider({
        apiKey,
        baseUrl: `${fake.baseUrl}/v1`,
        models: { "claude-a": { maxOutputTokens: 1000, inputCostPerMillionTokens: 3 } }
      })
      const [a, b, ...more] = yield* listModels ?? none
      assert.isEmpty(more)
      assert.deepInclude(a, {
        name: "claude-a",
        provider: "anthropic",
        displayName: "A",
        contextLimit: 200_000,
        maxOutputTokens: 1000,
        inputCostPerMillionTokens: 3,
        supportsVision: true,
        supportsPdfInput: false,
        supportsAudioInput: false,
        thinkingControls: { efforts: ["none", "low", "medium", "high"], budget: false, style: "adaptive" }
      })
      assert.deepInclude(b, { name: "claude-3-7-b", contextLimit: null, supportsVision: null })
      assert.strictEqual(b?.thinkingControls?.style, "budget")
      assert.deepInclude({ ...fake.requests[0]?.headers }, { "x-api-key": "sk-1", "anthropic-version": "2023-06-01" })
    })
  )

  it.live("speaks with the headers of either version", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const reply = FakeVendor.sse(anthropic.render([{ text: "Hi" }, { finish: "stop", usage: null }]))
      fake.script(anthropic.path, reply, reply)
      const baseUrl = `${fake.baseUrl}/v1`
      const { classicHeaders, currentHeaders } = Anthropic
      for (const headers of [{ ...classicHeaders, betas: ["a", "b"] }, currentHeaders]) {
        const provider = Anthropic.provider({ apiKey, baseUrl, headers })
        yield* Stream.runDrain(provider.chat?.(request("anthropic")) ?? Stream.die("no chat"))
      }
      const sent = fake.requests.map(({ headers }) => [
        headers["anthropic-version"],
        headers["x-api-key"],
        headers.authorization,
        headers["anthropic-beta"]
      ])
      assert.deepStrictEqual(sent, [
        ["2023-06-01", "sk-1", undefined, "a,b"],
        ["2026-10-21", undefined, "Bearer sk-1", undefined]
      ])
    })
  )
})

describe("Gemini", () => {
  it.live("lists its models by what they are for", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const entry = (name: string, method: string, more: object = {}) => ({
        name: `models/${name}`,
        displayName: name,
        inputTokenLimit: 1000,
        outputTokenLimit: 100,
        supportedGenerationMethods: [method, "countTokens"],
        ...more
      })
      const pages = [
        [entry("gemini-9", "generateContent", { thinking: true }), entry("gemini-embedding-001", "embedContent")],
        [
          entry("imagen", "predict"),
          entry("veo", "predictLongRunning"),
          entry("aqa", "generateAnswer"),
          null,
          { name: 7 }
        ]
      ]
      fake.script("/v1beta/models?pageSize=1000", FakeVendor.json({ models: pages[0], nextPageToken: "t=1" }))
      fake.script("/v1beta/models?pageSize=1000&pageToken=t%3D1", FakeVendor.json({ models: pages[1] }))
      const provider = Gemini.provider({ apiKey, baseUrl: `${fake.baseUrl}/v1beta` })
      const models = yield* provider.listModels ?? none
      assert.deepStrictEqual(
        models.map((each) => [each.name, each.modelType, each.contextLimit, each.supportsThinking]),
        [
          ["gemini-9", "llm", 1000, true],
          ["gemini-embedding-001", "embedding", 1000, null],
          ["imagen", "image", 1000, null],
          ["veo", "video", 1000, null]
        ]
      )
      assert.strictEqual(models[1]?.embeddingDimensions, 3072)
      assert.strictEqual(fake.requests[0]?.headers["x-goog-api-key"], "sk-1")
    })
  )

  it.live("models that talk and paint are listed as both, and pictures tell what may be asked of them", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const entry = (name: string, method: string) => ({
        name: `models/${name}`,
        supportedGenerationMethods: [method]
      })
      const talking = [
        "gemini-2.5-flash-image",
        "gemini-3-pro-image-preview",
        "gemini-3-pro",
        "nano-banana-pro-preview"
      ]
      const models = [...talking.map((name) => entry(name, "generateContent")), entry("imagen-4", "predict")]
      fake.script("/v1beta/models?pageSize=1000", FakeVendor.json({ models }))
      const provider = Gemini.provider({ apiKey, baseUrl: `${fake.baseUrl}/v1beta` })
      const listed = yield* provider.listModels ?? none
      assert.deepStrictEqual(
        listed.map(({ modelType, name }) => `${name} ${modelType}`),
        [
          "gemini-2.5-flash-image llm",
          "gemini-2.5-flash-image image",
          "gemini-3-pro-image-preview llm",
          "gemini-3-pro-image-preview image",
          "gemini-3-pro llm",
          "nano-banana-pro-preview llm",
          "nano-banana-pro-preview image",
          "imagen-4 image"
        ]
      )
      const takes = (name: string) => {
        const image = listed.find((each) => each.name === name && each.modelType === "image")
        return [image?.supportsVision, Object.keys(record(image?.details?.["supported_parameters"]))]
      }
      assert.deepStrictEqual(takes("gemini-2.5-flash-image"), [true, ["seed", "aspect_ratio"]])
      assert.deepStrictEqual(takes("gemini-3-pro-image-preview"), [true, ["seed", "aspect_ratio", "resolution"]])
      assert.deepStrictEqual(takes("imagen-4"), [false, ["n", "aspect_ratio", "resolution", "output_format"]])
    })
  )

  it.live("a list that does not end is cut", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const page = FakeVendor.json({ models: [], nextPageToken: "again" })
      const path = "/v1beta/models?pageSize=1000"
      fake.script(path, page)
      fake.script(`${path}&pageToken=again`, ...Array.from({ length: 50 }, () => page))
      yield* Gemini.provider({ baseUrl: `${fake.baseUrl}/v1beta` }).listModels ?? none
      assert.strictEqual(fake.requests.length, 20)
    })
  )

  it.live("takes a name with its folder, and lets no name leave it", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const reply = FakeVendor.sse(gemini.render([{ text: "Hi" }, { finish: "stop", usage: null }]))
      const names = ["models/model-1", "tunedModels/mine", "../../x?key=y#"]
      const paths = ["models/model-1", "tunedModels/mine", "models/..%2F..%2Fx%3Fkey%3Dy%23"]
      for (const path of paths) fake.script(`/v1beta/${path}:streamGenerateContent?alt=sse`, reply)
      const { chat } = Gemini.provider({ apiKey, baseUrl: `${fake.baseUrl}/v1beta` })
      for (const model of names) yield* Stream.runDrain(chat?.(request("gemini", { model })) ?? Stream.die("no chat"))
      assert.strictEqual(fake.unused(), 0)
    })
  )
})

describe("both", () => {
  it.live("fail with a typed error", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script("/v1/models?limit=1000", FakeVendor.json(anthropic.refuse("auth").body, 401, { "request-id": "r" }))
      fake.script("/v1/models?pageSize=1000", FakeVendor.json(gemini.refuse("auth").body, 400))
      const settings = { apiKey, baseUrl: `${fake.baseUrl}/v1` }
      const first = yield* Effect.flip(Anthropic.provider(settings).listModels ?? none)
      assert.deepInclude(Object.assign({}, first), { reason: "auth", requestId: "r", code: "authentication_error" })
      const second = yield* Effect.flip(Gemini.provider(settings).listModels ?? none)
      assert.deepInclude(Object.assign({}, second), { reason: "auth", code: "INVALID_ARGUMENT" })
    })
  )
})
