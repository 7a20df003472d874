/** Every provider of pictures against a server that speaks its wire: the contract of the port, and what each sends in its own words. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import type { ImageModel, ImageRequest } from "@colloquy/core/adapters"
import { type ImageVendor, imageModelSuite, type SeenImageRequest } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as AiSdk from "../../src/providers/AiSdk.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import { isRecord, list, record, string } from "../../src/protocols/Wire.ts"
import * as FakeVendor from "./FakeVendor.ts"

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
const fromBase64 = (text: unknown) => new Uint8Array(Buffer.from(string(text) ?? "", "base64"))

const mostBytes = 100_000

interface Wire {
  readonly name: string
  /** The library reads the whole answer, before the adapter sees it. */
  readonly isOfLibrary?: true
  readonly make: (baseUrl: string) => ImageModel | undefined
  readonly paths: ReadonlyArray<string>
  readonly answer: (pictures: ReadonlyArray<string>) => unknown
  readonly addressed: (url: string) => unknown
  readonly keyHeader: string
  readonly costUsd: number | null
  readonly takesInputs: boolean
  readonly read: (seen: FakeVendor.Seen) => Promise<Omit<SeenImageRequest, "key">>
}

const requestFromForm = async ({ bytes, headers }: FakeVendor.Seen): Promise<Omit<SeenImageRequest, "key">> => {
  const form = await new Response(Buffer.from(bytes), {
    headers: { "content-type": headers["content-type"] ?? "" }
  }).formData()
  const files = [...form.getAll("image"), ...form.getAll("image[]")].flatMap((each) =>
    typeof each === "string" ? [] : [each]
  )
  const inputs = await Promise.all(files.map(async (file) => new Uint8Array(await file.arrayBuffer())))
  return { prompt: string(form.get("prompt")) ?? "", inputs }
}

const openAiAnswer = (pictures: ReadonlyArray<string>) => ({
  created: 1,
  data: pictures.map((b64_json) => ({ b64_json })),
  usage: { input_tokens: 12, output_tokens: 1056, total_tokens: 1068 }
})
const openAiAddress = (url: string) => ({ created: 1, data: [{ url }] })
const readOpenAi: Wire["read"] = async (seen) =>
  isRecord(seen.body) ? { prompt: string(seen.body.prompt) ?? "", inputs: [] } : requestFromForm(seen)

const wires: { readonly [name: string]: Wire } = {
  "OpenAI's images": {
    name: "gpt-image-1",
    make: (baseUrl) => OpenAi.provider({ apiKey: "sk-of-the-host", baseUrl, maxAnswerBytes: mostBytes }).image,
    paths: ["/images/generations", "/images/edits"],
    answer: openAiAnswer,
    addressed: openAiAddress,
    keyHeader: "authorization",
    costUsd: null,
    takesInputs: true,
    read: readOpenAi
  },
  "the router's images": {
    name: "acme/paint-1",
    make: (baseUrl) => OpenRouter.provider({ apiKey: "sk-of-the-host", baseUrl, maxAnswerBytes: mostBytes }).image,
    paths: ["/images"],
    answer: (pictures) => ({
      created: 1,
      data: pictures.map((b64_json) => ({ b64_json, media_type: "image/png" })),
      usage: { prompt_tokens: 8, completion_tokens: 100, total_tokens: 108, cost: 0.04 }
    }),
    addressed: openAiAddress,
    keyHeader: "authorization",
    costUsd: 0.04,
    takesInputs: true,
    read: async ({ body }) => ({
      prompt: string(record(body).prompt) ?? "",
      inputs: list(record(body).input_references).map((each) =>
        fromBase64(string(record(record(each).image_url).url)?.split(",")[1])
      )
    })
  },
  "Gemini's pictures": {
    name: "gemini-3-pro-image",
    make: (baseUrl) => Gemini.provider({ apiKey: "sk-of-the-host", baseUrl, maxAnswerBytes: mostBytes }).image,
    paths: ["/models/gemini-3-pro-image:generateContent"],
    answer: (pictures) => ({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { text: "A draft", thought: true },
              { inlineData: { mimeType: "image/png", data: "ZHJhZnQ=" }, thought: true },
              { text: "Here it is." },
              ...pictures.map((data) => ({ inlineData: { mimeType: "image/png", data }, thoughtSignature: "c2ln" }))
            ]
          },
          finishReason: "STOP"
        }
      ],
      usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 1120 },
      modelVersion: "gemini-3-pro-image"
    }),
    addressed: (fileUri) => ({
      candidates: [{ content: { parts: [{ fileData: { mimeType: "image/png", fileUri } }] } }]
    }),
    keyHeader: "x-goog-api-key",
    costUsd: null,
    takesInputs: true,
    read: async ({ body }) => {
      const [content] = list(record(body).contents).map(record)
      const parts = list(content?.parts).map(record)
      return {
        prompt: parts.map(({ text }) => string(text) ?? "").join(""),
        inputs: parts.flatMap(({ inlineData }) => (isRecord(inlineData) ? [fromBase64(inlineData.data)] : []))
      }
    }
  },
  "Google's Imagen": {
    name: "imagen-4.0-generate-001",
    make: (baseUrl) => Gemini.provider({ apiKey: "sk-of-the-host", baseUrl, maxAnswerBytes: mostBytes }).image,
    paths: ["/models/imagen-4.0-generate-001:predict"],
    answer: (pictures) => ({
      predictions: pictures.map((bytesBase64Encoded) => ({ mimeType: "image/png", bytesBase64Encoded }))
    }),
    addressed: (gcsUri) => ({ predictions: [{ mimeType: "image/png", gcsUri }] }),
    keyHeader: "x-goog-api-key",
    costUsd: null,
    takesInputs: false,
    read: async ({ body }) => ({ prompt: string(record(list(record(body).instances)[0]).prompt) ?? "", inputs: [] })
  },
  "an image model of the AI SDK": {
    name: "paint-1",
    isOfLibrary: true,
    make: (baseURL) =>
      AiSdk.provider({
        id: "vendor",
        imageModel: (model, key) =>
          createOpenAICompatible({
            name: "vendor",
            baseURL,
            apiKey: key === null ? "sk-of-the-host" : Redacted.value(key),
            // The library would follow a redirect, so its host gives it a way that does not.
            fetch: (url, init) => fetch(url, { ...init, redirect: "error" })
          }).imageModel(model)
      }).image,
    paths: ["/images/generations", "/images/edits"],
    answer: openAiAnswer,
    addressed: openAiAddress,
    keyHeader: "authorization",
    costUsd: null,
    takesInputs: true,
    read: readOpenAi
  }
}

/** What every one of these vendors reads as an error. */
const errorBody = (message: string) => JSON.stringify({ error: { message, status: "", code: null } })

const open = (wire: Wire) =>
  Effect.gen(function* () {
    const [vendor, trap] = [yield* FakeVendor.make, yield* FakeVendor.make]
    const model = wire.make(vendor.baseUrl)
    if (model === undefined) throw new Error("The provider makes no pictures.")
    const script = (reply: FakeVendor.Reply) => {
      for (const path of wire.paths) vendor.script(path, reply)
    }
    const opened: ImageVendor = {
      model,
      name: wire.name,
      mostBytes: wire.isOfLibrary === true ? null : mostBytes,
      costUsd: wire.costUsd,
      gives: (...pictures) => script(FakeVendor.json(wire.answer(pictures.map(base64)))),
      givesAddress: (url) => script(FakeVendor.json(wire.addressed(url))),
      answers: (status, headers, body) => script({ status, headers, body: [body] }),
      breaksOff: () =>
        script({ headers: { "content-type": "application/json" }, body: ['{"data":[{"b64', FakeVendor.closed] }),
      hangs: () => {
        script({ headHeldBy: new FakeVendor.Gate(), body: [] })
        return {
          asked: Effect.asVoid(vendor.request(0)),
          left: Effect.flatMap(vendor.request(0), ({ aborted }) => Effect.promise(() => aborted))
        }
      },
      seen: Effect.promise(() =>
        Promise.all(
          vendor.requests.map(async (seen) => ({
            key: String(seen.headers[wire.keyHeader] ?? ""),
            ...(await wire.read(seen))
          }))
        )
      ),
      trap: { url: `${trap.baseUrl}/inside`, visits: () => trap.requests.length }
    }
    return { opened, vendor }
  })

for (const [name, wire] of Object.entries(wires)) {
  imageModelSuite(
    name,
    Effect.map(open(wire), ({ opened }) => opened),
    { takesInputs: wire.takesInputs, error: errorBody }
  )
}

describe("a request for a picture", () => {
  const options = {
    n: 2,
    size: "1024x1024",
    quality: "high",
    aspect_ratio: "16:9",
    resolution: "2K",
    seed: 7,
    output_format: "webp"
  } as const

  const sent = (name: keyof typeof wires, fields: Partial<ImageRequest> = {}) =>
    Effect.gen(function* () {
      const wire = wires[name]
      if (wire === undefined) throw new Error("There is no such wire.")
      const { opened, vendor } = yield* open(wire)
      opened.gives(Uint8Array.of(1, 2, 3))
      const common = { provider: "vendor", model: wire.name, prompt: "A fox", inputs: [], options, apiKey: null }
      yield* opened.model.generate({ ...common, ...fields })
      return vendor.requests[0]?.body
    })

  it.effect("has its options as the vendor names them", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* sent("OpenAI's images", { options: { n: 2, quality: "high" } }), {
        model: "gpt-image-1",
        prompt: "A fox",
        n: 2,
        quality: "high"
      })
      assert.deepStrictEqual(yield* sent("OpenAI's images", { model: "dall-e-3", options: {} }), {
        model: "dall-e-3",
        prompt: "A fox",
        response_format: "b64_json"
      })
      assert.deepStrictEqual(yield* sent("the router's images"), { model: "acme/paint-1", prompt: "A fox", ...options })
      assert.deepStrictEqual(yield* sent("Gemini's pictures"), {
        contents: [{ role: "user", parts: [{ text: "A fox" }] }],
        generationConfig: {
          responseModalities: ["TEXT", "IMAGE"],
          seed: 7,
          imageConfig: { aspectRatio: "16:9", imageSize: "2K" }
        }
      })
      assert.deepStrictEqual(yield* sent("Google's Imagen"), {
        instances: [{ prompt: "A fox" }],
        parameters: {
          sampleCount: 2,
          aspectRatio: "16:9",
          sampleImageSize: "2K",
          outputOptions: { mimeType: "image/webp" }
        }
      })
      assert.deepInclude(yield* sent("an image model of the AI SDK"), { prompt: "A fox", n: 2, size: "1024x1024" })
    })
  )

  it.effect("that Google will not fulfil is refused", () =>
    Effect.gen(function* () {
      const { opened, vendor } = yield* open(wires["Gemini's pictures"] ?? assert.fail())
      const [path = ""] = wires["Gemini's pictures"]?.paths ?? []
      for (const answer of [
        { promptFeedback: { blockReason: "SAFETY" } },
        { candidates: [{ finishReason: "IMAGE_SAFETY" }] }
      ]) {
        vendor.script(path, FakeVendor.json(answer))
        const request = {
          provider: "v",
          model: "gemini-3-pro-image",
          prompt: "A fox",
          inputs: [],
          options: {},
          apiKey: null
        }
        assert.strictEqual((yield* Effect.flip(opened.model.generate(request))).reason, "refused")
      }
    })
  )

  it.effect("gives up on an answer that has no end", () =>
    Effect.gen(function* () {
      const vendor = yield* FakeVendor.make
      vendor.script("/images", {
        headers: { "content-type": "application/json" },
        body: ['{"data":[{"b64_json":"', { forever: "A".repeat(65_536) }]
      })
      const { image } = OpenRouter.provider({ baseUrl: vendor.baseUrl, maxAnswerBytes: 1_000_000 })
      const request = { provider: "router", model: "m", prompt: "A fox", inputs: [], options: {}, apiKey: null }
      const error = yield* Effect.flip(image?.generate(request) ?? assert.fail())
      assert.deepInclude(error, { reason: "malformed", code: "oversized_answer" })
      yield* Effect.promise(() => vendor.requests[0]?.aborted ?? assert.fail())
      assert.isBelow(vendor.requests[0]?.bytesWritten ?? Infinity, 8_000_000)
    })
  )
})
