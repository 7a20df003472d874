/** Live lists of models, and what the host's own table adds to them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import * as FakeVendor from "./FakeVendor.ts"

const none = Effect.die("this provider has no list")

describe("listModels", () => {
  it.live("OpenAI: names, kinds by name, and the host's table", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const ids = ["chat-5", "text-embedding-9", "omni-moderation", "chat-realtime", "chat-transcribe"]
      fake.script(
        "/v1/models",
        FakeVendor.json({ object: "list", data: [...ids.map((id) => ({ id, object: "model" })), { id: 7 }, null] })
      )
      const provider = OpenAi.provider({
        baseUrl: `${fake.baseUrl}/v1`,
        apiKey: Redacted.make("sk-1"),
        organization: "org-1",
        models: { "chat-5": { contextLimit: 1000 } }
      })
      const models = yield* provider.listModels ?? none
      assert.deepStrictEqual(
        models.map((each) => [each.name, each.provider, each.modelType, each.contextLimit]),
        [
          ["chat-5", "openai", "llm", 1000],
          ["text-embedding-9", "openai", "embedding", null],
          ["chat-realtime", "openai", "realtime", null],
          ["chat-transcribe", "openai", "stt", null]
        ]
      )
      const headers = fake.requests[0]?.headers
      assert.deepInclude({ ...headers }, { authorization: "Bearer sk-1", "openai-organization": "org-1" })
      assert.deepStrictEqual(provider.describe?.("chat-5"), { contextLimit: 1000 })
      assert.deepStrictEqual(provider.describe?.("constructor"), {})
    })
  )

  it.live("a key may be given as plain text, and is sent alike", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const sentKey = (header: string) => fake.requests.at(-1)?.headers[header]
      const plain = { apiKey: "sk-plain" }
      for (const [provider, path, header, sent] of [
        [OpenAi.provider({ ...plain, baseUrl: `${fake.baseUrl}/o` }), "/o/models", "authorization", "Bearer sk-plain"],
        [
          OpenAiCompatible.provider({ ...plain, id: "c", baseUrl: `${fake.baseUrl}/c` }),
          "/c/models",
          "authorization",
          "Bearer sk-plain"
        ],
        [Anthropic.provider({ ...plain, baseUrl: `${fake.baseUrl}/a` }), "/a/v1/models", "x-api-key", "sk-plain"],
        [Gemini.provider({ ...plain, baseUrl: `${fake.baseUrl}/g` }), "/g/models", "x-goog-api-key", "sk-plain"]
      ] as const) {
        fake.script(path, FakeVendor.json({ object: "list", data: [], models: [] }))
        yield* Effect.ignore(provider.listModels ?? none)
        assert.strictEqual(sentKey(header), sent, path)
      }
    })
  )

  it.live("a dialect: a bare list, sizes, and kinds that the catalogue does not have", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const entries = [
        { id: "a", type: "chat", context_length: 8192, display_name: "A" },
        { id: "b", type: "embedding" },
        { id: "c", type: "moderation" },
        { id: "d", max_model_len: 4096 }
      ]
      fake.script("/v1/models", FakeVendor.json(entries))
      const models = yield* (
        OpenAiCompatible.provider({ ...OpenAiCompatible.together, baseUrl: `${fake.baseUrl}/v1` }).listModels ?? none
      )
      assert.deepStrictEqual(
        models.map((each) => [each.name, each.modelType, each.contextLimit, each.displayName]),
        [
          ["a", "llm", 8192, "A"],
          ["b", "embedding", null, null],
          ["d", "llm", 4096, null]
        ]
      )
    })
  )

  it.live("the router: all pages", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const entry = (id: number) => ({ id: `acme/m-${id}`, architecture: { output_modalities: ["text"] } })
      const page = (from: number, length: number) =>
        FakeVendor.json({ data: Array.from({ length }, (_, index) => entry(from + index)) })
      fake.script("/v1/models?output_modalities=all&limit=1000&offset=0", page(0, 1000))
      fake.script("/v1/models?output_modalities=all&limit=1000&offset=1000", page(1000, 3))
      const models = yield* OpenRouter.provider({ baseUrl: `${fake.baseUrl}/v1` }).listModels ?? none
      assert.strictEqual(models.length, 1003)
      assert.strictEqual(fake.requests[0]?.headers.authorization, undefined)
    })
  )

  it.live("fails with a typed error", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(
        "/v1/models",
        FakeVendor.json({ error: { code: "invalid_api_key" } }, 401, { "x-request-id": "req-7" }),
        FakeVendor.json("no JSON")
      )
      const provider = OpenAi.provider({ baseUrl: `${fake.baseUrl}/v1` })
      const refused = yield* Effect.flip(provider.listModels ?? none)
      assert.deepInclude(Object.assign({}, refused), {
        reason: "auth",
        provider: "openai",
        code: "invalid_api_key",
        requestId: "req-7"
      })
      assert.strictEqual((yield* Effect.flip(provider.listModels ?? none)).reason, "malformed")
    })
  )
})
