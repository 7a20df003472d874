/** What the router tells of models that make videos and images, and of its upstreams and their prices. */
import type { ModelInfo } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import * as FakeVendor from "./FakeVendor.ts"

const models = "/v1/models?output_modalities=all&limit=1000&offset=0"
const none = Effect.die("this provider has no list")

const llm = (id: string) => ({ id, architecture: { output_modalities: ["text"] } })

const painter = {
  id: "acme/paint",
  name: "Paint",
  architecture: { input_modalities: ["text", "image"], output_modalities: ["image"] },
  supported_parameters: ["seed"]
}

const camera = {
  id: "acme/vid-1",
  name: "Acme Vid",
  architecture: { input_modalities: ["text", "image"], output_modalities: ["video"] }
}

const video = {
  name: "Acme Vid",
  supported_resolutions: ["720p", "1080p"],
  supported_aspect_ratios: ["16:9"],
  supported_sizes: null,
  supported_durations: [5, 10],
  supported_frame_images: ["first_frame"],
  generate_audio: true,
  seed: false,
  upscale_factor: { min: 1, max: 4 },
  creativity: null,
  pricing_skus: { "per-video-second": "0.08" },
  allowed_passthrough_parameters: ["negative_prompt"]
}

const { name: _, ...videoFields } = video

const listed = (fake: FakeVendor.FakeVendor, settings: OpenRouter.OpenRouterSettings = {}) =>
  OpenRouter.provider({ baseUrl: `${fake.baseUrl}/v1`, ...settings }).listModels ?? none

const upstreams = (fake: FakeVendor.FakeVendor) =>
  OpenRouter.provider({ baseUrl: `${fake.baseUrl}/v1` }).listUpstreams ?? none

describe("videos and images", () => {
  it.live("have what both lists tell, and null for the rest", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(models, FakeVendor.json({ data: [llm("acme/m"), painter, camera] }))
      fake.script(
        "/v1/videos/models",
        FakeVendor.json({ data: [{ id: "acme/vid-1", ...video }, { id: "acme/vid-2", name: "Two" }, { id: 7 }, null] })
      )
      const [text, image, first, second, ...rest] = yield* listed(fake)
      assert.deepStrictEqual([text?.name, rest], ["acme/m", []])
      assert.isNull(text?.details ?? null)
      assert.deepInclude(image, {
        modelType: "image",
        supportsVision: true,
        details: {
          architecture: { input_modalities: ["text", "image"], output_modalities: ["image"] },
          supported_parameters: null
        }
      })
      assert.deepInclude(first, {
        modelType: "video",
        displayName: "Acme Vid",
        supportsVision: true,
        supportsAudioInput: false,
        supportsAudioOutput: true,
        details: {
          architecture: { input_modalities: ["text", "image"], output_modalities: ["video"] },
          supported_parameters: null,
          ...videoFields
        }
      })
      const unknown = Object.fromEntries(Object.keys(videoFields).map((field) => [field, null]))
      assert.deepInclude(second, {
        name: "acme/vid-2",
        displayName: "Two",
        supportsVision: null,
        supportsAudioInput: null,
        supportsAudioOutput: null,
        details: unknown
      })
    })
  )

  it.live(
    "are listed without their limits when the list of videos cannot be had; the host's word beats it when it can",
    () =>
      Effect.gen(function* () {
        const fake = yield* FakeVendor.make
        fake.script(models, FakeVendor.json({ data: [camera] }), FakeVendor.json({ data: [camera] }))
        fake.script(
          "/v1/videos/models",
          FakeVendor.json("no JSON"),
          FakeVendor.json({ data: [{ id: camera.id, ...video }] })
        )
        const [without] = yield* listed(fake)
        assert.deepStrictEqual(Object.keys(without?.details ?? {}), ["architecture", "supported_parameters"])
        const [corrected] = yield* listed(fake, { models: { "acme/vid-1": { supportsAudioOutput: false } } })
        assert.deepStrictEqual([corrected?.supportsAudioOutput, corrected?.details?.["seed"]], [false, false])
      })
  )
})

describe("images", () => {
  const descriptors = {
    aspect_ratio: { type: "enum", values: ["1:1", "16:9"] },
    resolution: { type: "enum", values: ["1K", "2K"] },
    input_references: { type: "range", min: 0, max: 3 },
    seed: { type: "boolean" }
  }
  const architecture = { input_modalities: ["text", "image"], output_modalities: ["image"] }
  const talker = {
    id: "acme/talk-and-paint",
    name: "Both",
    architecture: { input_modalities: ["text", "image"], output_modalities: ["text", "image"] },
    supported_parameters: ["tools"]
  }
  const other = { ...talker, id: "acme/talks-with-pictures" }
  const all = FakeVendor.json({ data: [llm("acme/m"), painter, talker, other] })
  const kinds = (found: ReadonlyArray<ModelInfo>) => found.map(({ modelType, name }) => `${name} ${modelType}`)

  it.live(
    "have what the list of images tells: sizes, ratios, pictures to begin with; a model that talks too is both",
    () =>
      Effect.gen(function* () {
        const fake = yield* FakeVendor.make
        fake.script(models, all)
        const entry = (id: string, more: object = {}) => ({
          id,
          name: id,
          architecture,
          supported_parameters: descriptors,
          ...more
        })
        fake.script(
          "/v1/images/models",
          FakeVendor.json({
            data: [
              entry(painter.id),
              entry(talker.id),
              entry("acme/only-here", { architecture: null, supported_parameters: ["seed"] }),
              { id: 7 },
              null
            ]
          })
        )
        const found = yield* listed(fake)
        assert.deepStrictEqual(kinds(found), [
          "acme/m llm",
          "acme/paint image",
          "acme/talk-and-paint llm",
          "acme/talks-with-pictures llm",
          "acme/talk-and-paint image",
          "acme/only-here image"
        ])
        assert.deepStrictEqual(found[1]?.details, { architecture, supported_parameters: descriptors })
        assert.deepInclude(found[4], {
          displayName: "Both",
          supportsVision: true,
          details: { architecture, supported_parameters: descriptors }
        })
        assert.deepStrictEqual(found[2]?.details, { response_modalities: ["image", "text"] })
        assert.deepInclude(found[5], {
          supportsVision: null,
          details: { architecture: null, supported_parameters: null }
        })
      })
  )

  it.live("are listed without descriptors when that list cannot be had; the host's word beats it when it can", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(models, all, all)
      fake.script(
        "/v1/images/models",
        FakeVendor.json({ error: { code: 500 } }, 500),
        FakeVendor.json({ data: [{ id: painter.id, supported_parameters: descriptors }] })
      )
      const without = yield* listed(fake)
      assert.sameMembers(kinds(without), [
        "acme/m llm",
        "acme/paint image",
        "acme/talk-and-paint llm",
        "acme/talk-and-paint image",
        "acme/talks-with-pictures llm",
        "acme/talks-with-pictures image"
      ])
      for (const { details, modelType } of without) {
        if (modelType === "image") assert.isNull(details?.["supported_parameters"])
      }
      const [corrected] = (yield* listed(fake, { models: { [painter.id]: { supportsVision: false } } })).filter(
        ({ name }) => name === painter.id
      )
      assert.strictEqual(corrected?.supportsVision, false)
      assert.deepStrictEqual(corrected?.details?.["supported_parameters"], descriptors)
    })
  )
})

describe("upstreams", () => {
  const offer = (tag: string | undefined, name: string, prompt: string) => ({
    tag,
    provider_name: name,
    context_length: 8192,
    max_completion_tokens: 1024,
    pricing: { prompt, completion: "0.000002" }
  })

  it.live("come with what they ask for each model that talks", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const names = [{ name: "Acme", slug: "acme" }, { name: "Quiet", slug: "quiet" }, { slug: 7 }, null]
      fake.script("/v1/providers", FakeVendor.json({ data: names }))
      fake.script(models, FakeVendor.json({ data: [llm("a/one"), llm("a/two:free"), llm("a/gone"), painter] }))
      const offers = [offer("acme/turbo", "Acme", "0.000001"), offer(undefined, "Acme", "-1"), offer("new", "New", "0")]
      fake.script("/v1/models/a/one/endpoints", FakeVendor.json({ data: { endpoints: [...offers, {}, null] } }))
      fake.script("/v1/models/a/two:free/endpoints", FakeVendor.json({ data: { endpoints: [offers[2]] } }))
      fake.script("/v1/models/a/gone/endpoints", FakeVendor.json({ error: { code: 404 } }, 404))
      const limits = { contextLimit: 8192, maxOutputTokens: 1024, outputCostPerMillionTokens: 2 }
      assert.deepStrictEqual(yield* upstreams(fake), [
        {
          id: "acme",
          name: "Acme",
          offers: [
            { model: "a/one", variant: "acme/turbo", ...limits, inputCostPerMillionTokens: 1 },
            { model: "a/one", variant: null, ...limits, inputCostPerMillionTokens: null }
          ]
        },
        { id: "quiet", name: "Quiet", offers: [] },
        {
          id: "new",
          name: "New",
          offers: ["a/one", "a/two:free"].map((model) => ({
            model,
            variant: "new",
            ...limits,
            inputCostPerMillionTokens: 0
          }))
        }
      ])
      assert.strictEqual(fake.unused(), 0)
    })
  )

  it.live("fail with a typed error when not even their names can be had", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script("/v1/providers", FakeVendor.json({ error: { code: 401 } }, 401))
      assert.strictEqual((yield* Effect.flip(upstreams(fake))).reason, "auth")
    })
  )
})
