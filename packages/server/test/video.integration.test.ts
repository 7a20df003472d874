/** Videos of the standalone server: the demo model orders them from a server that speaks the router's wire, over real HTTP. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as VideoServer from "../../adapters/test/providers/VideoServer.ts"
import { demoClip } from "../src/demo/DemoVideo.ts"
import type { Environment } from "../src/Settings.ts"
import { callApi, serverKey, startDemo } from "./TestServer.ts"

const open = async (vendors: Environment) => {
  const server = await startDemo({ VIDEO_POLL_SECONDS: "1", ...vendors })
  const call = (path: string, body?: object) =>
    callApi({ api: `${server.url}/api`, key: serverKey(server) }, body === undefined ? "GET" : "POST", path, body)
  return { ...server, call }
}

const wish = {
  content: "generate_video of a boat at dawn",
  video_generation: "auto",
  video_model_provider: "router",
  video_model_name: "acme/vid-1",
  video_config: { duration: 5, seed: 7 }
}

const job = (status: string, more: object = {}) => ({ id: "gen-vid-1", status, ...more })

describe("videos of the standalone server", () => {
  const scope = Scope.makeUnsafe()
  let vendor: VideoServer.VideoServer
  let server: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    vendor = await Effect.runPromise(VideoServer.make.pipe(Scope.provide(scope)))
    vendor.models.push({
      id: "acme/vid-1",
      name: "Acme Vid",
      supported_durations: [5, 10],
      supported_frame_images: ["first_frame"],
      pricing_skus: { "per-video-second": "0.08" }
    })
    vendor.inputs.set("acme/vid-1", ["text", "image"])
    server = await open({ OPENROUTER_BASE_URL: vendor.baseUrl, OPENROUTER_API_KEY: "sk-or" })
  }, 60_000)
  afterAll(async () => {
    await server.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("are ordered once, waited for, fetched with the key, stored and billed at the reported cost", async () => {
    const before = vendor.seen.length
    vendor.jobs(job("in_progress"), job("completed", { usage: { cost: 0.42 } }))
    const { body, status } = await server.call("/threads/messages", wish)
    assert.deepStrictEqual([status, body.status], [200, "COMPLETED"], body.content)
    assert.lengthOf(body.generated_media, 1)
    assert.deepInclude(body.generated_media[0], {
      media_type: "video",
      mime_type: "video/mp4",
      file_size_bytes: vendor.clip.length
    })
    const asked = vendor.seen.slice(before).filter(({ path }) => !path.includes("models"))
    assert.deepStrictEqual(
      asked.map(({ method, path }) => `${method} ${path}`),
      ["POST /videos", "GET /videos/gen-vid-1", "GET /videos/gen-vid-1", "GET /videos/gen-vid-1/content?index=0"]
    )
    assert.isTrue(asked.every(({ authorization }) => authorization === "Bearer sk-or"))
    assert.deepStrictEqual(asked[0]?.body, { model: "acme/vid-1", prompt: wish.content, duration: 5, seed: 7 })
    const thread = await server.call(`/threads/${body.thread_id}`)
    assert.deepStrictEqual(thread.body.metadata_.video_jobs, [
      { job_id: "gen-vid-1", run_id: body.run_id, model: "acme/vid-1", status: "completed", cost_usd: 0.42 }
    ])
    const { data } = (await server.call("/billing/usage/recent")).body
    const row = data.find(({ model }: { readonly model: string }) => model === "acme/vid-1")
    assert.deepInclude(row, { purpose: "video", amount_deducted_usd: 0.42 })
  }, 60_000)

  for (const [title, hostile] of [
    ["answers 200 with HTML", () => vendor.sends("text/html", () => [new TextEncoder().encode("<!doctype html>")])],
    [
      "calls HTML a video",
      () => vendor.sends("video/mp4", () => [new TextEncoder().encode("<!doctype html>".repeat(9))])
    ],
    ["redirects to a private address", () => vendor.play({ look: "completed", cost: 0.1, clip: "redirect" })]
  ] as const) {
    it(`nothing is stored of a provider that ${title}, and the model is told`, async () => {
      vendor.play({ look: "completed", cost: 0.1 })
      hostile()
      const { body } = await server.call("/threads/messages", wish)
      assert.deepStrictEqual([body.status, body.generated_media], ["COMPLETED", null])
      assert.match(body.content, /could not be stored/u)
      assert.isEmpty(vendor.seen.filter(({ path }) => path === "/elsewhere"))
    }, 60_000)
  }

  it("have a live catalogue", async () => {
    vendor.models.push({ id: "acme/new", name: "New" })
    const named = { ...wish, video_model_name: "acme/ghost" }
    assert.strictEqual((await server.call("/threads/messages", named)).status, 404)
    const { body } = await server.call("/models/video/acme/vid-1")
    assert.deepInclude(body, { id: "acme/vid-1", supports_vision: true, supports_audio_input: false })
    assert.deepStrictEqual(body.supported_durations, [5, 10])
  })

  it("come from the demo without any key: a real clip that costs nothing", async () => {
    const demo = await open({})
    const wanted = { video_model_provider: "demo", video_model_name: "demo/clip", video_config: null }
    const { body } = await demo.call("/threads/messages", { ...wish, ...wanted, content: "Make a video of a boat" })
    const bytes = demoClip()
    assert.deepInclude(body.generated_media[0], { mime_type: "video/mp4", file_size_bytes: bytes.length })
    const { data } = (await demo.call("/billing/usage/recent")).body
    const row = data.find(({ model }: { readonly model: string }) => model === "demo/clip")
    assert.deepInclude(row, { purpose: "video", amount_deducted_usd: 0 })
    await demo.stop()
  }, 60_000)
})
