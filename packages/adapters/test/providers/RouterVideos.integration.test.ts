/** Videos of the router, against a server that speaks its wire: the promises of every model for videos, and what is this wire's own. */
import type { VideoAccount, VideoOrder } from "@colloquy/core/adapters"
import { videoModelSuite } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import * as VideoServer from "./VideoServer.ts"

const account: VideoAccount = { provider: "router", model: "acme/vid-1", apiKey: null }

const open = Effect.map(VideoServer.make, (server) => {
  const { video } = OpenRouter.provider({ baseUrl: server.baseUrl, apiKey: "sk-of-the-host" })
  if (video === undefined) throw new Error("The router makes videos.")
  return { server, video }
})

videoModelSuite(
  "the router's videos",
  Effect.map(open, ({ server, video }) => ({
    model: video,
    account,
    play: server.play,
    clip: server.clip,
    orders: () => server.seen.filter(({ method }) => method === "POST").length,
    elsewhere: () => server.seen.filter(({ path }) => path.startsWith("/elsewhere")).length
  }))
)

const test = (title: string, body: (scene: Effect.Success<typeof open>) => Effect.Effect<void, unknown>) =>
  it.live(title, () => Effect.scoped(Effect.flatMap(open, body)))

const order: VideoOrder = {
  ...account,
  prompt: "a boat at dawn",
  options: {},
  firstFrame: null,
  lastFrame: null,
  references: []
}

const picture = { bytes: Uint8Array.of(0, 16, 131), mimeType: "image/png" }
const dataUri = { url: "data:image/png;base64,ABCD" }

describe("an order on the router's wire", () => {
  test("has the options by the same names, routing among them, and the host's key", ({ server, video }) =>
    Effect.gen(function* () {
      const options = {
        duration: 5,
        resolution: "720p",
        aspect_ratio: "16:9",
        generate_audio: false,
        seed: 7,
        provider: { order: ["acme"], allow_fallbacks: false }
      }
      yield* video.submit({ ...order, options })
      assert.deepStrictEqual(server.seen, [
        {
          method: "POST",
          path: "/videos",
          authorization: "Bearer sk-of-the-host",
          body: { model: "acme/vid-1", prompt: "a boat at dawn", ...options }
        }
      ])
    }))

  test("the customer's own key beats the host's, at every step", ({ server, video }) =>
    Effect.gen(function* () {
      const own = { ...account, apiKey: Redacted.make("sk-of-the-customer") }
      const { id } = yield* video.submit({ ...order, ...own })
      yield* video.status(id, own)
      yield* Stream.runDrain(video.content(id, own))
      assert.deepStrictEqual(
        server.seen.map(({ authorization }) => authorization),
        Array.from({ length: 3 }, () => "Bearer sk-of-the-customer")
      )
    }))

  test("has frames and references as the modes want them", ({ server, video }) =>
    Effect.gen(function* () {
      yield* video.submit({ ...order, firstFrame: picture })
      yield* video.submit({ ...order, firstFrame: picture, lastFrame: picture })
      yield* video.submit({
        ...order,
        references: [
          { kind: "image", picture },
          { kind: "audio", url: "https://media.example.com/a" },
          { kind: "video", url: "https://media.example.com/v" }
        ]
      })
      const first = { type: "image_url", image_url: dataUri, frame_type: "first_frame" }
      const last = { type: "image_url", image_url: dataUri, frame_type: "last_frame" }
      const plain = { model: "acme/vid-1", prompt: "a boat at dawn" }
      assert.deepStrictEqual(
        server.seen.map(({ body }) => body),
        [
          { ...plain, frame_images: [first] },
          { ...plain, frame_images: [first, last] },
          {
            ...plain,
            input_references: [
              { type: "image_url", image_url: dataUri },
              { type: "audio_url", audio_url: { url: "https://media.example.com/a" } },
              { type: "video_url", video_url: { url: "https://media.example.com/v" } }
            ]
          }
        ]
      )
    }))

  test("an error tells its reason, and nothing of what the vendor wrote", ({ server, video }) =>
    Effect.gen(function* () {
      server.play({ order: "refused" })
      const error = yield* Effect.flip(video.submit(order))
      assert.deepInclude(error, { reason: "quota", status: 402 })
      assert.notMatch(
        JSON.stringify(Object.assign({}, error, { forOperator: undefined })) + error.message,
        /vendor says|sk-/u
      )
    }))
})

describe("a job on the router's wire", () => {
  test("what the vendor says of a failure is kept apart", ({ server, video }) =>
    Effect.gen(function* () {
      server.play({ look: "failed" })
      const job = Option.getOrThrow(yield* video.status("gen-vid-1", account))
      assert.deepInclude(job, { status: "failed", problem: "The prompt is not allowed" })
    }))

  for (const [title, body] of [
    ["an id that would change the address", { id: "../models", status: "pending" }],
    ["an id of dots", { id: "..", status: "pending" }],
    ["no id", { status: "pending" }],
    ["no state", { id: "gen-vid-1" }],
    ["no object", []]
  ] as const) {
    test(`with ${title} is none`, ({ server, video }) =>
      Effect.gen(function* () {
        server.jobs(body)
        assert.deepInclude(yield* Effect.flip(video.status("gen-vid-1", account)), { reason: "malformed" })
      }))
  }

  test("a cost below zero is none", ({ server, video }) =>
    Effect.gen(function* () {
      server.jobs({ id: "gen-vid-1", status: "completed", usage: { cost: -1 } })
      assert.isNull(Option.getOrThrow(yield* video.status("gen-vid-1", account)).costUsd)
    }))

  test("the addresses of an answer are not followed: neither the key nor a request goes to them", ({ server, video }) =>
    Effect.gen(function* () {
      const elsewhere = `${server.baseUrl}/elsewhere`
      server.jobs({ id: "gen-vid-1", status: "completed", polling_url: elsewhere, unsigned_urls: [elsewhere] })
      yield* video.status("gen-vid-1", account)
      yield* Stream.runDrain(video.content("gen-vid-1", account))
      assert.deepStrictEqual(
        server.seen.map(({ path }) => path),
        ["/videos/gen-vid-1", "/videos/gen-vid-1/content?index=0"]
      )
    }))

  test("a page of HTML with status 200 is no clip", ({ server, video }) =>
    Effect.gen(function* () {
      server.sends("text/html; charset=utf-8", () => [new TextEncoder().encode("<!doctype html>")])
      const error = yield* Effect.flip(Stream.runDrain(video.content("gen-vid-1", account)))
      assert.deepInclude(error, { reason: "malformed", code: "unexpected_content_type", isRetryable: false })
    }))

  test("a clip that never ends is read as far as its reader wants, and then left", ({ server, video }) =>
    Effect.gen(function* () {
      let sent = 0
      server.sends("video/mp4", function* () {
        for (;;) {
          sent++
          yield new Uint8Array(65_536)
        }
      })
      const taken = yield* Stream.mkUint8Array(Stream.take(video.content("gen-vid-1", account), 4))
      assert.isAbove(taken.length, 0)
      assert.isBelow(sent, 2000)
    }))
})

describe("the router's models for videos", () => {
  test("are the list of videos, joined with what they take as input", ({ server, video }) =>
    Effect.gen(function* () {
      const entry = { supported_durations: [5, 10], generate_audio: true, upscale_factor: null }
      server.models.push({ id: "acme/vid-1", name: "Acme Vid", ...entry }, { id: "acme/vid-2", name: "Unknown" })
      server.inputs.set("acme/vid-1", ["text", "image"])
      server.inputs.set("acme/gone", ["text"])
      const models = yield* video.listModels ?? Effect.succeed([])
      assert.deepStrictEqual(
        models.map(({ name, supportsAudioInput, supportsVideoInput, supportsVision }) => ({
          name,
          inputs: [supportsVision, supportsAudioInput, supportsVideoInput]
        })),
        [
          { name: "acme/vid-1", inputs: [true, false, false] },
          { name: "acme/vid-2", inputs: [null, null, null] }
        ]
      )
      assert.nestedInclude(models[0]?.details, { "supported_durations[1]": 10, generate_audio: true })
    }))
})
