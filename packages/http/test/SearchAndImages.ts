/** Web search and pictures over the wire, as a foreign program uses them: fields, replies, streams, threads, money, two owners. Runs on every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, expect, say, type ScriptStep } from "@colloquy/testing"
import { InsufficientCredit } from "@colloquy/core"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { StreamEvent } from "../src/wire/StreamEvents.ts"
import { allEvents, type Answer, keys, openPainting, type Service } from "./Service.ts"

const images = { image_generation: "auto", image_model_provider: "painter", image_model_name: "oil" }
const paints: ReadonlyArray<ScriptStep> = [callTool("generate_image", { prompt: "A fox" }), say("Here.")]
const searches: ReadonlyArray<ScriptStep> = [callTool("web_search", { query: "foxes" }), say("Dens [1].")]
const sources = [{ title: "About foxes", url: "https://foxes.example/" }]

const places = ({ body }: Answer): ReadonlyArray<string> =>
  body.detail.map(({ loc }: { loc: Array<string | number> }) => loc.slice(1).join("."))

/** Signed, and without a public address of the service a path. */
const isDocumentUrl = (id: string, url: string): boolean =>
  new RegExp(`^/documents/${id}/content\\?expires=\\d+&signature=\\d+\\.[\\w-]{43}$`, "u").test(url)

export const searchAndImages = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let shared: Layer.Layer<InMemory.Stores>
  beforeAll(async () => {
    runtime = ManagedRuntime.make(stores)
    shared = Layer.succeedContext(await runtime.context())
  }, 60_000)
  afterAll(() => runtime.dispose())

  const send = (service: Service, body: object, key = keys.ada) =>
    service.call("POST", "/threads/messages", { content: "?", ...body }, { key })

  it("a picture comes with the reply, stands in the thread, and is a document of nobody else", async () => {
    await using service = await openPainting(paints, shared)
    const { body, status } = await send(service, images)
    assert.strictEqual(status, 200)
    const [medium, ...others] = body.generated_media
    assert.deepStrictEqual(others, [])
    assert.deepInclude(medium, { media_type: "image", mime_type: "image/png", file_size_bytes: 9 })
    assert.isTrue(isDocumentUrl(medium.document_id, medium.url), medium.url)
    const { messages } = (await service.call("GET", `/threads/${body.thread_id}`)).body
    assert.deepStrictEqual(messages.at(-1).generated_media, [medium])
    assert.isNull(messages[0].generated_media)
    const foreign = await service.call("GET", `/threads/${body.thread_id}`, undefined, { key: keys.bob })
    assert.strictEqual(foreign.status, 404)
  })

  it("a stream tells of the picture when it is stored, and a resumed one tells the same", async () => {
    await using service = await openPainting(paints, shared)
    const events = await allEvents(
      await service.fetch("POST", "/threads/messages", { content: "?", ...images, stream: true })
    )
    for (const { data } of events) Schema.decodeUnknownSync(StreamEvent)(data)
    const types = events.map(({ data }) => data.type)
    assert.isBelow(types.indexOf("tool_call_ready"), types.indexOf("media_generated"))
    assert.isBelow(types.indexOf("media_generated"), types.indexOf("run_ended"))
    const told = events.find(({ data }) => data.type === "media_generated")
    assert.deepInclude(told?.data.media, { media_type: "image", mime_type: "image/png", file_size_bytes: 9 })
    const { run_id, thread_id } = told?.data ?? {}
    const resumed = await service.fetch("GET", `/threads/${thread_id}/runs/${run_id}/events?after=0`)
    assert.deepInclude(await allEvents(resumed), told)
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    assert.deepStrictEqual(messages.at(-1).generated_media, [told?.data.media])
  })

  it("what is wrong with the fields of pictures is told at once, each at its place, and nothing is stored", async () => {
    await using service = await openPainting([say("Fine.")], shared)
    const threads = async () => (await service.call("GET", "/threads?limit=200")).body.length
    const before = await threads()
    for (const [body, expected] of [
      [{ image_generation: "auto" }, ["image_model_provider", "image_model_name"]],
      [{ image_generation: "Auto", image_model_provider: "painter" }, ["image_generation"]],
      [{ ...images, image_model_provider: "nobody" }, ["image_model_provider"]],
      [{ ...images, image_config: { n: 3, mood: "blue" } }, ["image_config.n", "image_config.mood"]]
    ] as const) {
      const answer = await send(service, body)
      assert.strictEqual(answer.status, 422, answer.text)
      assert.deepStrictEqual(places(answer), [...expected])
    }
    assert.strictEqual(await threads(), before)
    const off = { image_generation: "off", image_model_provider: "nobody", image_model_name: null }
    assert.strictEqual((await send(service, off)).status, 200)
  })

  it("sources of a search come with the reply, the end of a stream and the message", async () => {
    await using service = await openPainting([...searches, ...searches], shared)
    const { body } = await send(service, { web_search: "Auto", metadata: { mine: 1 } })
    assert.deepStrictEqual(body.metadata_, { sources })
    const { messages } = (await service.call("GET", `/threads/${body.thread_id}`)).body
    assert.deepStrictEqual(messages[0].metadata_, { mine: 1 })
    assert.deepStrictEqual(messages[1].metadata_.sources, sources)
    const events = await allEvents(
      await service.fetch("POST", "/threads/messages", { content: "?", web_search: "Auto", stream: true })
    )
    for (const { data } of events) Schema.decodeUnknownSync(StreamEvent)(data)
    assert.deepStrictEqual(events.at(-1)?.data.metadata_, { sources })
  })

  it("an assistant carries the search as a tool, a message takes it away, and a name stands once", async () => {
    const offered: Array<boolean> = []
    const looks: ScriptStep = [
      expect(({ tools }) => void offered.push(tools.some(({ name }) => name === "web_search"))),
      say("Fine.")
    ]
    await using service = await openPainting([looks, looks, looks], shared)
    const carried = { type: "web_search" }
    const assistant = (await service.call("POST", "/assistants", { name: "A", tools: [carried] })).body
    assert.deepStrictEqual(assistant.tools, [carried])
    const { assistant_id } = assistant
    assert.deepStrictEqual((await service.call("GET", `/assistants/${assistant_id}`)).body.tools, [carried])
    await send(service, { assistant_id })
    await send(service, { assistant_id, tools: [] })
    await send(service, { tools: [carried] })
    assert.deepStrictEqual(offered, [true, false, true])
    const twice = await service.call("POST", "/assistants", { name: "A", tools: [carried, carried] })
    assert.deepStrictEqual([twice.status, ...places(twice)], [422, "tools.1.type"])
  })

  it("searches and pictures are charged by purpose, for their owner alone, and without credit the model reads so", async () => {
    let isBroke = false
    const metering = {
      ensureCredit: ({ purpose }: { readonly purpose: string }) =>
        isBroke && purpose !== "chat" ? Effect.fail(new InsufficientCredit()) : Effect.void,
      record: () => Effect.void
    }
    let told = ""
    const refused: ScriptStep = [
      expect(({ messages }) => void (told = messages.map((each) => ("output" in each ? each.output : "")).join(""))),
      say("No.")
    ]
    const steps = [...paints, ...searches, callTool("generate_image", { prompt: "A hen" }), refused]
    await using service = await openPainting(steps, shared, metering)
    const spentUsd = async (purpose: string, key = keys.ada): Promise<number> => {
      const { data } = (await service.call("GET", "/billing/usage/recent", undefined, { key })).body
      const rows: ReadonlyArray<{ purpose: string; amount_deducted_usd: number }> = data
      return rows.filter((row) => row.purpose === purpose).reduce((sum, row) => sum + row.amount_deducted_usd, 0)
    }
    const [before, ofBob] = [
      [await spentUsd("image"), await spentUsd("search")] as const,
      [await spentUsd("image", keys.bob), await spentUsd("search", keys.bob)]
    ]
    await send(service, images)
    await send(service, { web_search: "Auto" })
    isBroke = true
    const last = await send(service, images)
    assert.strictEqual(last.body.status, "COMPLETED")
    assert.isNull(last.body.generated_media)
    assert.include(told, "not enough credit")
    assert.closeTo((await spentUsd("image")) - before[0], 0.04, 1e-9)
    assert.closeTo((await spentUsd("search")) - before[1], 0.01, 1e-9)
    assert.deepStrictEqual([await spentUsd("image", keys.bob), await spentUsd("search", keys.bob)], ofBob)
  })

  it("models for pictures are in the catalogue, with what may be asked of them", async () => {
    await using service = await openPainting([], shared)
    const { models, total } = (await service.call("GET", "/models/image/all")).body
    assert.strictEqual(total, 1)
    assert.deepInclude(models[0], { id: "oil", name: "oil", provider: "painter", model_type: "image" })
    assert.deepStrictEqual(models[0].supported_parameters, { n: { type: "range", min: 1, max: 2 } })
    assert.deepStrictEqual((await service.call("GET", "/models?model_type=image")).body.models, models)
    assert.strictEqual((await service.call("GET", "/models/image/all?provider=nobody")).body.total, 0)
  })
}
