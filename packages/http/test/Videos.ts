/**
 * Videos over HTTP: the settings on the stateless endpoint, the tool, what replies, streams, stored messages, the thread and the bill show.
 * Runs on every store, in real time with short pauses; the provider of videos follows a script.
 */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedVideo } from "@colloquy/testing"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { StreamEvent } from "../src/wire/StreamEvents.ts"
import { allEvents, type Answer, keys, openVideos, type Service, tool } from "./Service.ts"

const acme = {
  name: "acme/clip",
  supportsVision: true,
  details: {
    supported_durations: [5, 10],
    supported_resolutions: ["720p"],
    supported_frame_images: ["first_frame"],
    upscale_factor: null,
    pricing_skus: { "per-video-second": "0.08" }
  }
}

/** What the model calls the tool with stands in the message. */
const wish = (args: object = { prompt: "A boat at dawn" }, more: object = {}) => ({
  content: JSON.stringify(args),
  video_generation: "auto",
  video_model_provider: "router",
  video_model_name: "acme/clip",
  ...more
})

const badConfig = {
  duration: 7,
  style: "noir",
  size: "1280x720",
  resolution: "720p",
  upscale_factor: 2,
  provider: { options: { acme: {} }, only: ["a"] }
}

const problemPlaces = ({ body }: Answer): ReadonlyArray<string> =>
  body.detail.map(({ loc }: { readonly loc: ReadonlyArray<string> }) => loc.join("."))

const decodeEvent = Schema.decodeUnknownSync(StreamEvent)

export const videos = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let shared: Layer.Layer<InMemory.Stores>
  beforeAll(async () => {
    runtime = ManagedRuntime.make(stores)
    shared = Layer.succeedContext(await runtime.context())
  }, 60_000)
  afterAll(() => runtime.dispose())

  const open = (script: ScriptedVideo.VideoScript = {}): Promise<Service> =>
    openVideos(shared, ScriptedVideo.make({ models: [acme], ...script }))
  const send = (service: Service, body: unknown, owner: keyof typeof keys = "ada") =>
    service.call("POST", "/threads/messages", body, { key: keys[owner] })

  it("a clip stands in the reply, in the stored message and among the documents; its job in the thread, its cost in the usage", async () => {
    await using service = await open({ looks: ["in_progress", { status: "completed", costUsd: 0.42 }] })
    const { body, status } = await send(service, wish())
    assert.deepStrictEqual([status, body.status], [200, "COMPLETED"], body.content)
    const [media] = body.generated_media
    assert.deepInclude(media, {
      media_type: "video",
      mime_type: "video/mp4",
      file_size_bytes: ScriptedVideo.sampleClip.length
    })
    assert.include(media.url, `/documents/${media.document_id}/content?`)
    const thread = (await service.call("GET", `/threads/${body.thread_id}`)).body
    assert.deepStrictEqual(thread.metadata_.video_jobs, [
      { job_id: "job-1", run_id: body.run_id, model: "acme/clip", status: "completed", cost_usd: 0.42 }
    ])
    assert.deepStrictEqual(thread.messages.at(-1).generated_media, [media])
    const { data } = (await service.call("GET", "/billing/usage/recent")).body
    const row = data.find(({ model }: { readonly model: string }) => model === "acme/clip")
    assert.deepInclude(row, { amount_deducted_usd: 0.42, purpose: "video" })
  })

  it("a stream tells of the clip with media_generated, and of no state of the job", async () => {
    await using service = await open({ looks: ["pending", "in_progress", { status: "completed", costUsd: 0.1 }] })
    const events = await allEvents(await service.fetch("POST", "/threads/messages", wish({}, { stream: true })))
    assert.strictEqual(events.at(-1)?.data.type, "run_ended")
    const types = events.map(({ data }) => decodeEvent(data).type)
    const told = await allEvents(
      await service.fetch("POST", "/threads/messages", wish({ prompt: "A boat" }, { stream: true }))
    )
    const media = told.filter(({ data }) => data.type === "media_generated")
    assert.strictEqual(media.length, 1)
    assert.deepInclude(media[0]?.data.media, { media_type: "video", mime_type: "video/mp4" })
    assert.isString(media[0]?.data.media.url)
    for (const type of [...types, ...told.map(({ data }) => decodeEvent(data).type)]) {
      assert.notMatch(type, /pending|in_progress|failed|expired|completed|job/u)
    }
  })

  it("an invalid configuration is refused with all its problems, identically for streaming and non-streaming turns, and nothing is stored", async () => {
    await using service = await open()
    const before = (await service.call("GET", "/threads")).text
    for (const stream of [true, false]) {
      const answer = await send(service, wish({}, { stream, video_config: badConfig }))
      assert.strictEqual(answer.status, 422)
      assert.sameMembers(
        [...problemPlaces(answer)],
        ["duration", "style", "size", "upscale_factor", "provider.options"].map((name) => `body.video_config.${name}`)
      )
    }
    assert.strictEqual((await service.call("GET", "/threads")).text, before)
  })

  it("a configuration of a wrong shape is refused, enabled or not", async () => {
    await using service = await open()
    assert.deepStrictEqual(problemPlaces(await send(service, wish({}, { video_config: 5 }))), ["body.video_config"])
    const off = { content: "x", video_generation: "off", video_config: { style: "noir" } }
    assert.deepStrictEqual(problemPlaces(await send(service, off)), ["body.video_config.style"])
  })

  it("a video model that is not in the live catalogue is 404, another provider 422, a catalogue that cannot be read 502", async () => {
    await using service = await open()
    const unknown = await send(service, wish({}, { video_model_name: "acme/ghost" }))
    assert.strictEqual(unknown.status, 404)
    assert.include(unknown.body.detail, "acme/ghost")
    const other = await send(service, wish({}, { video_model_provider: "director" }))
    assert.deepStrictEqual([other.status, problemPlaces(other)], [422, ["body.video_model_provider"]])
    await using blind = await open({ listFails: "connection" })
    assert.strictEqual((await send(blind, wish())).status, 502)
  })

  it("the settings may come as a form; the body of a thread has no such fields", async () => {
    await using service = await open()
    const form = new FormData()
    for (const [name, value] of Object.entries(wish({ prompt: "x", duration: 10 }))) form.set(name, value)
    form.set("video_config", JSON.stringify({ duration: 5 }))
    const { body, status } = await send(service, form)
    assert.deepStrictEqual([status, body.generated_media.length], [200, 1])
    const onThread = await service.call("POST", `/threads/${body.thread_id}/messages`, wish())
    assert.deepStrictEqual([onThread.status, onThread.body.generated_media], [200, null])
  })

  it("the tool is there again after the client's tool outputs", async () => {
    await using service = await open()
    const first = await send(service, wish({ ask: "weather" }, { tools: [tool("weather")] }))
    assert.strictEqual(first.body.status, "REQUIRES_ACTION")
    const [{ id }] = first.body.tool_calls
    const { body } = await service.call("POST", "/threads/tool-outputs", {
      thread_id: first.body.thread_id,
      tool_outputs: [{ tool_call_id: id, output: JSON.stringify({ prompt: "The weather" }) }]
    })
    assert.deepStrictEqual([body.status, body.generated_media.length], ["COMPLETED", 1], body.content)
  })

  it("what becomes of a job is told to the model, and the turn goes on", async () => {
    for (const [look, words] of [
      ["failed", /could not make/u],
      ["cancelled", /cancelled/u],
      ["expired", /expired/u]
    ] as const) {
      await using service = await open({ looks: [look] })
      const { body } = await send(service, wish())
      assert.deepStrictEqual([body.status, body.generated_media], ["COMPLETED", null])
      assert.match(body.content, words)
    }
  })

  it("documents of another owner cannot be used, and look like documents that do not exist", async () => {
    await using service = await open()
    const hers = (await send(service, wish(), "ada")).body.generated_media[0].document_id
    const ask = async (id: string) =>
      (await send(service, wish({ prompt: "x", input_image_document_id: id }), "bob")).body.content
    const nobody = globalThis.crypto.randomUUID()
    assert.strictEqual((await ask(hers)).replaceAll(hers, "<id>"), (await ask(nobody)).replaceAll(nobody, "<id>"))
    const { data } = (await service.call("GET", "/billing/usage/recent", undefined, { key: keys.bob })).body
    assert.notInclude(
      data.map(({ model }: { readonly model: string }) => model),
      "acme/clip"
    )
  })

  it("the live catalogue lists the models, with null for what is not known", async () => {
    await using service = await open({ models: [acme, { name: "acme/deep/clip" }] })
    const all = (await service.call("GET", "/models/video/all?provider=router")).body
    assert.strictEqual(all.total, 2)
    const known = (await service.call("GET", "/models/video/acme/clip")).body
    assert.deepInclude(known, {
      id: "acme/clip",
      name: "acme/clip",
      provider: "router",
      model_type: "video",
      supports_video_output: true,
      supports_vision: true,
      supports_audio_input: null,
      upscale_factor: null
    })
    assert.deepStrictEqual(known.supported_durations, [5, 10])
    const deep = (await service.call("GET", "/models/video/acme/deep/clip")).body
    assert.deepInclude(deep, { id: "acme/deep/clip", supports_vision: null, seed: null, supported_durations: null })
    assert.strictEqual((await service.call("GET", "/models/video/acme/ghost")).status, 404)
    assert.strictEqual((await service.call("GET", "/models?model_type=video")).body.total, 2)
  })
}
