/** The catalogue and billing over HTTP: every endpoint, names with slashes, filters, and what is refused. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { say, uses } from "@colloquy/testing"
import {
  HostModels,
  Kernel,
  Metering,
  type MeteringPort,
  type ModelInfo,
  type Provider,
  Providers,
  StoreUnavailable
} from "@colloquy/core"
import { describeModel, ModelError } from "@colloquy/core/adapters"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { written } from "../../../test/written.ts"
import { Client, type RoutesOptions, webHandler } from "../src/index.ts"
import { open } from "./Service.ts"

const entry = (provider: string, name: string, known: Partial<ModelInfo> = {}): ModelInfo =>
  describeModel({ provider, name, modelType: "llm", ...known })

const camera = entry("router", "acme/vid-1", {
  modelType: "video",
  displayName: "Acme Vid",
  supportsVision: true,
  supportsAudioInput: false,
  details: {
    architecture: { input_modalities: ["text", "image"] },
    supported_durations: [5, 10],
    supported_resolutions: ["720p"],
    supported_aspect_ratios: null,
    generate_audio: true,
    upscale_factor: { min: 1, max: 4 },
    creativity: [0.1],
    pricing_skus: { "per-video-second": "0.08" },
    name: "not taken"
  }
})

const models: ReadonlyArray<ModelInfo> = [
  entry("router", "acme/m-1", {
    displayName: "Acme M1",
    contextLimit: 128_000,
    maxOutputTokens: 8192,
    supportsTools: true,
    thinkingControls: { efforts: ["low", "high"], budget: true, style: "adaptive" },
    inputCostPerMillionTokens: 0.7,
    outputCostPerMillionTokens: 2
  }),
  entry("router", "acme/deep/m-2", { contextLimit: 4000, supportsTools: false }),
  entry("router", "plain"),
  entry("router", "acme/vectors", { modelType: "embedding", embeddingDimensions: 1536 }),
  entry("router", "acme/paint", { modelType: "image", details: { supported_parameters: ["seed"] } }),
  camera,
  entry("router", "acme/vid-2", { modelType: "video", details: { seed: "yes", upscale_factor: 4, pricing_skus: [] } })
]

const router: Provider = {
  id: "router",
  listModels: Effect.succeed(models),
  listUpstreams: Effect.succeed([
    {
      id: "other",
      name: "Other",
      offers: []
    },
    {
      id: "acme",
      name: "Acme",
      offers: [
        {
          model: "acme/m-1",
          variant: "acme/turbo",
          contextLimit: 128_000,
          maxOutputTokens: null,
          inputCostPerMillionTokens: 0.7,
          outputCostPerMillionTokens: 2
        }
      ]
    }
  ])
}

const down = Effect.fail(new ModelError({ reason: "connection", provider: "down", model: "" }))

const ofTheHost = [
  entry("voices", "talk-1", { modelType: "realtime", details: { realtime_capabilities: { formats: ["pcm16"] } } }),
  entry("voices", "vectors-of-the-host", { modelType: "embedding" })
]

const service = (options: RoutesOptions = {}, metering?: MeteringPort) => {
  const providers = [router, { id: "down", listModels: down, listUpstreams: down }]
  const kernel = Kernel.layer.pipe(
    Layer.provide(Providers.layer({ providers, defaults: { provider: "router", model: "plain" } })),
    Layer.provide(InMemory.layer),
    Layer.provide(Layer.succeed(HostModels, ofTheHost)),
    Layer.provide(metering === undefined ? Layer.empty : Layer.succeed(Metering, metering)),
    // One provider is down on purpose.
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error")),
    Layer.provideMerge(TestClock.layer())
  )
  const web = webHandler({ kernel, authenticate: () => "ada", ...options })
  return {
    connect: () => Client.connect({ baseUrl: "http://service", apiKey: "any", handler: web.handler }),
    get: async (path: string, method = "GET") => {
      const headers = { "x-api-key": "any" }
      const response = await web.handler(new Request(`http://service${path}`, { method, headers }))
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) }
    },
    [Symbol.asyncDispose]: web.dispose
  }
}

const modelNames = (answer: { readonly body: { readonly models: ReadonlyArray<{ readonly name: string }> } }) =>
  answer.body.models.map(({ name }) => name)

describe("the catalogue", () => {
  it("answers as written down", async () => {
    await using app = service()
    const paths = [
      "/models?limit=2",
      "/models?model_type=realtime",
      "/models/acme%2Fm-1",
      "/models/providers",
      "/models/provider/voices",
      "/models/embedding/all",
      "/models/embedding/providers",
      "/models/embedding/acme%2Fvectors",
      "/models/image/all",
      "/models/video/all",
      "/models/video/acme%2Fvid-1",
      "/models/ghost",
      "/billing/models/providers",
      "/billing/balance",
      "/billing/usage/recent"
    ]
    const lines: Array<string> = []
    for (const path of paths) {
      const { body, status } = await app.get(path)
      lines.push(`GET ${path}\n${status}\n${written(body)}\n`)
    }
    expect(lines.join("\n")).toMatchSnapshot()
  })

  const filters: ReadonlyArray<readonly [query: string, total: number, first: string | undefined]> = [
    ["", 9, "acme/deep/m-2"],
    ["?provider=voices", 2, "talk-1"],
    ["?provider=nobody", 0, undefined],
    ["?model_type=video", 2, "acme/vid-1"],
    ["?supports_tools=true", 1, "acme/m-1"],
    ["?supports_tools=false&model_type=llm", 2, "acme/deep/m-2"],
    ["?min_context=5000", 1, "acme/m-1"],
    ["?max_context=5000", 1, "acme/deep/m-2"],
    ["?min_context=4000&max_context=4000", 1, "acme/deep/m-2"],
    ["?skip=8", 9, "vectors-of-the-host"],
    ["?skip=1000000&limit=15000", 9, undefined],
    ["?unknown=1&limit=1", 9, "acme/deep/m-2"]
  ]
  it.each(filters)("GET /models%s: %i in all, the first is %s", async (query, total, first) => {
    await using app = service()
    const answer = await app.get(`/models${query}`)
    assert.deepStrictEqual([answer.status, answer.body.total, modelNames(answer)[0]], [200, total, first])
  })

  it("pages the lists of one kind", async () => {
    await using app = service()
    assert.deepStrictEqual(modelNames(await app.get("/models/video/all?provider=router&skip=1&limit=1")), [
      "acme/vid-2"
    ])
    assert.deepStrictEqual((await app.get("/models/video/all?provider=else")).body, { models: [], total: 0 })
    assert.deepStrictEqual(modelNames(await app.get("/models/embedding/all?provider=voices")), ["vectors-of-the-host"])
    const page = await app.get("/models/provider/router?skip=2&limit=1")
    assert.deepStrictEqual([modelNames(page), page.body.total], [["acme/paint"], 7])
  })

  const addresses: ReadonlyArray<readonly [path: string, name: string]> = [
    ["/models/plain", "plain"],
    ["/models/acme/m-1", "acme/m-1"],
    ["/models/acme%2Fm-1", "acme/m-1"],
    ["/models/acme%2fm-1/", "acme/m-1"],
    ["/models/acme/m-1/", "acme/m-1"],
    ["/models/acme/m-1?x=/y", "acme/m-1"],
    ["/models/acme/deep/m-2", "acme/deep/m-2"],
    ["/models/acme%2Fdeep/m-2", "acme/deep/m-2"],
    ["/models/embedding/acme/vectors", "acme/vectors"],
    ["/models/video/acme/vid-2", "acme/vid-2"],
    ["/models/video/acme%2Fvid-2", "acme/vid-2"],
    ["/models/acme/vid-2", "acme/vid-2"]
  ]
  it.each(addresses)("finds at %s the model %s, below a base path too", async (path, name) => {
    await using app = service()
    assert.strictEqual((await app.get(path)).body.name, name)
    await using mounted = service({ basePath: "/ai/v1" })
    assert.strictEqual((await mounted.get(`/ai/v1${path}`)).body.name, name)
    assert.strictEqual((await mounted.get(path)).status, 404)
  })

  const missing = [
    "/models/ghost",
    "/models/acme/ghost",
    "/models/ACME/M-1",
    "/models/embedding/acme/m-1",
    "/models/embedding/plain",
    "/models/video/acme/m-1",
    "/models/video/ghost",
    "/models/image/acme/paint",
    "/models/acme//m-1/x",
    "/models/%E0%A4%A",
    `/models/acme/${"x".repeat(500)}`
  ]
  it.each(missing)("answers 404 at %s", async (path) => {
    await using app = service()
    const { body, status } = await app.get(path)
    assert.deepStrictEqual([status, typeof body.detail], [404, "string"])
  })

  it("answers HEAD as GET, and other methods with what a path has", async () => {
    await using app = service()
    assert.strictEqual((await app.get("/models/acme/m-1", "HEAD")).status, 200)
    for (const path of ["/models", "/models/acme/m-1", "/models/acme%2Fm-1", "/billing/balance"]) {
      const { headers, status } = await app.get(path, "POST")
      assert.deepStrictEqual([status, headers.get("allow")], [405, "GET, HEAD"])
    }
  })

  const refused: ReadonlyArray<readonly [path: string, ...fields: ReadonlyArray<string>]> = [
    ["/models?limit=0", "limit"],
    ["/models?limit=15001&skip=-1", "limit", "skip"],
    ["/models?model_type=brain", "model_type"],
    ["/models?supports_tools=perhaps&min_context=x&max_context=-1", "max_context", "min_context", "supports_tools"],
    ["/models/video/all?limit=1e3", "limit"],
    ["/models/provider/router?skip=1.5", "skip"],
    ["/billing/usage/recent?page=0&page_size=101", "page", "page_size"]
  ]
  it.each(refused)("refuses %s and names every field", async (path, ...fields) => {
    await using app = service()
    const { body, status } = await app.get(path)
    const named = body.detail.map(({ loc }: { readonly loc: ReadonlyArray<string> }) => loc.join("."))
    assert.deepStrictEqual([status, named.sort()], [422, fields.map((field) => `query.${field}`)])
  })

  it("speaks to the typed client", async () => {
    await using app = service()
    const { billing, models: known } = await app.connect()
    assert.strictEqual((await known.get("acme/deep/m-2")).context_limit, 4000)
    assert.deepStrictEqual((await known.video("acme/vid-1")).pricing_skus, { "per-video-second": "0.08" })
    assert.deepStrictEqual((await known.list({ supports_tools: true, limit: 1 })).total, 1)
    assert.deepStrictEqual((await known.videos({ skip: 2 })).models, [])
    assert.deepStrictEqual((await known.providers()).providers, ["router", "voices"])
    assert.deepStrictEqual(await billing.balance(), { balance_usd: null })
    assert.strictEqual((await billing.recentUsage({ page: 2 })).page, 2)
    assert.strictEqual((await billing.upstreams()).providers[0]?.slug, "acme")
  })

  it("is for those with a key", async () => {
    await using app = service({ authenticate: null })
    for (const path of ["/models", "/models/acme/m-1", "/billing/balance", "/billing/models/providers"]) {
      assert.strictEqual((await app.get(path)).status, 401)
    }
  })
})

describe("billing", () => {
  const metering = (balance: NonNullable<MeteringPort["balance"]>): MeteringPort => ({
    ensureCredit: () => Effect.void,
    record: () => Effect.void,
    balance
  })

  it("tells the balance that the host keeps", async () => {
    await using rich = service({}, metering(Effect.succeed(12.5)))
    assert.deepStrictEqual((await rich.get("/billing/balance")).body, { balance_usd: 12.5 })
    await using unreachable = service({}, metering(Effect.fail(new StoreUnavailable({ operation: "balance" }))))
    assert.strictEqual((await unreachable.get("/billing/balance")).status, 503)
  })

  it("tells what an owner used, and nobody else", async () => {
    await using app = await open([
      [say("One."), uses({ inputTokens: 3, outputTokens: 1, costUsd: 0.25 })],
      [say("Two."), uses({ inputTokens: 3, outputTokens: 1, costUsd: 0.5 })],
      [say("Three."), uses({ inputTokens: 3, outputTokens: 1 })]
    ])
    for (const model_name of ["model-a", "model-a", "model-b"]) {
      await app.call("POST", "/threads/messages", { content: "Hi", model_name })
    }
    const recent = async (query: string, key?: string) => {
      const { body } = await app.call(
        "GET",
        `/billing/usage/recent${query}`,
        undefined,
        key === undefined ? {} : { key }
      )
      const { data, ...page } = body
      return { ...page, rows: data.map((row: Record<string, unknown>) => [row["model"], row["amount_deducted_usd"]]) }
    }
    const rows = [
      ["model-a", 0.75],
      ["model-b", null]
    ]
    assert.deepStrictEqual(await recent(""), { page: 1, page_size: 25, total: 2, total_pages: 1, rows })
    const second = { page: 2, page_size: 1, total: 2, total_pages: 2, rows: rows.slice(1) }
    assert.deepStrictEqual(await recent("?page=2&page_size=1"), second)
    const nothing = { page: 1, page_size: 25, total: 0, total_pages: 0, rows: [] }
    assert.deepStrictEqual(await recent("", "key-of-bob"), nothing)
  })
})

describe("the record of an assistant that was given no embedding model", () => {
  it("names the provider and the model that the server chose", async () => {
    const vectors: Provider = {
      id: "vectors",
      embedding: { embed: () => Effect.die("not asked"), maxTexts: 1, maxCharacters: 1 },
      defaultEmbedding: { model: "vectors-large", dimensions: 1024 }
    }
    const kernel = Kernel.layer.pipe(
      Layer.provide(
        Providers.layer({ providers: [router, vectors], defaults: { provider: "router", model: "plain" } })
      ),
      Layer.provide(InMemory.layer)
    )
    const web = webHandler({ kernel, authenticate: () => "ada" })
    const headers = { "x-api-key": "any", "content-type": "application/json" }
    const create = async (body: object) => {
      const request = new Request("http://service/assistants", { method: "POST", headers, body: JSON.stringify(body) })
      const answer = (await (await web.handler(request)).json()) as Record<string, unknown>
      return [answer["embedding_provider"], answer["embedding_model_name"], answer["embedding_dims"]]
    }
    assert.deepStrictEqual(await create({ name: "a" }), ["vectors", "vectors-large", 1024])
    assert.deepStrictEqual(await create({ name: "b", embedding_provider: "" }), ["vectors", "vectors-large", 1024])
    await web.dispose()
  })
})
