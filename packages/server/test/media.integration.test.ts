/**
 * Pictures and web search of the standalone server: the demo paints without a key, and searches with a server that speaks SearXNG's wire.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import { draw } from "../src/demo/DemoPainter.ts"
import { readSettings, SettingsRefused } from "../src/Settings.ts"
import { callApi, serverKey, startDemo } from "./TestServer.ts"
import { firstFrame, talk, withHeaders } from "./VoiceTalk.ts"

const searched: Array<string> = []
const engine = createServer((request, response) => {
  searched.push(new URL(request.url ?? "", "http://engine").searchParams.get("q") ?? "")
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ results: [{ url: "https://foxes.example/", title: "Foxes", content: "They dig." }] }))
})

const open = async () => {
  await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve))
  const address = engine.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const server = await startDemo({ SEARXNG_BASE_URL: `http://127.0.0.1:${port}`, VIDEO_POLL_SECONDS: "1" }, true)
  const call = (path: string, body?: object) =>
    callApi({ api: `${server.url}/api`, key: serverKey(server) }, body === undefined ? "GET" : "POST", path, body)
  return { ...server, call }
}

const readMedia = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ mime_type: Schema.String, url: Schema.String }))
)

describe("pictures and web search of the standalone server", () => {
  let server: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    server = await open()
  }, 60_000)
  afterAll(async () => {
    await server.stop()
    await new Promise((resolve) => engine.close(resolve))
  })

  it("the demo draws a picture without a key, which stands in the reply and among the thread's messages", async () => {
    const { body, status } = await server.call("/threads/messages", {
      content: "Draw a fox",
      image_generation: "auto",
      image_model_provider: "demo",
      image_model_name: "demo-painter"
    })
    assert.strictEqual(status, 200)
    const [medium] = body.generated_media
    assert.deepInclude(medium, {
      media_type: "image",
      mime_type: "image/png",
      file_size_bytes: (await draw("Draw a fox")).length
    })
    const { messages } = (await server.call(`/threads/${body.thread_id}`)).body
    assert.strictEqual(messages.at(-1).generated_media[0].document_id, medium.document_id)
    // The address is signed, so it needs no key.
    const picture = await fetch(medium.url.startsWith("/") ? server.url + medium.url : medium.url)
    assert.deepStrictEqual([picture.status, picture.headers.get("content-type")], [200, "image/png"])
    assert.deepStrictEqual(new Uint8Array(await picture.arrayBuffer()), await draw("Draw a fox"))
    const { models } = (await server.call("/models/image/all?provider=demo")).body
    assert.deepStrictEqual(
      models.map(({ name }: { name: string }) => name),
      ["demo-painter"]
    )
  })

  it("a voice session draws, films and searches: media are told over the socket, and stand with the answers", async () => {
    const session = talk({
      url: `${server.url.replace("http:", "ws:")}/api/threads/realtime`,
      first: {
        ...firstFrame,
        web_search: "Auto",
        image_generation: "auto",
        image_model_provider: "demo",
        image_model_name: "demo-painter",
        video_generation: "auto",
        video_model_provider: "demo",
        video_model_name: "demo/clip"
      },
      open: withHeaders({ "x-api-key": serverKey(server) })
    })
    const { thread_id } = await session.heard("session.begin")
    const ask = async (text: string, name: string) => {
      const before = session.events.length
      session.client.sendText(text)
      const done = await session.until(() => {
        const since = session.events.slice(before)
        const completed = since.findIndex(({ type }) => type === "tool.completed")
        const isOver = completed !== -1 && since.slice(completed).some(({ type }) => type === "response.done")
        return isOver ? since : null
      })
      assert.deepInclude(
        done.find(({ type }) => type === "tool.call"),
        { name, hosted: true }
      )
      return done.flatMap((event) => (event.type === "media.generated" ? readMedia(event.generated_media) : []))
    }
    const [picture, ...noMore] = await ask("generate_image of a fox", "generate_image")
    const [film] = await ask("generate_video of a fox", "generate_video")
    assert.deepStrictEqual(await ask("web_search foxes", "web_search"), [])
    assert.deepStrictEqual([picture?.mime_type, film?.mime_type, noMore], ["image/png", "video/mp4", []])
    for (const medium of [picture, film]) {
      const response = await fetch(medium?.url ?? "")
      assert.deepStrictEqual([response.status, response.headers.get("content-type")], [200, medium?.mime_type])
    }
    await session.client.stop()
    const { messages } = (await server.call(`/threads/${thread_id}`)).body
    interface Row {
      readonly generated_media: ReadonlyArray<{ readonly mime_type: string }> | null
      readonly metadata_: { readonly sources?: unknown } | null
    }
    const rows: ReadonlyArray<Row> = messages
    assert.deepStrictEqual(
      rows.flatMap(({ generated_media }) => (generated_media ?? []).map(({ mime_type }) => mime_type)),
      ["image/png", "video/mp4"]
    )
    // The media are stored with the answer that made the call.
    assert.deepStrictEqual(
      rows.flatMap(({ metadata_ }) => metadata_?.sources ?? []),
      [{ title: "Foxes", url: "https://foxes.example/" }]
    )
  }, 120_000)

  it("what the router tells of its pictures is in the catalogue, and what a message asks for is held against it", async () => {
    const asked: Array<Record<string, unknown>> = []
    const architecture = { input_modalities: ["text", "image"], output_modalities: ["text", "image"] }
    const parameters = {
      aspect_ratio: { type: "enum", values: ["1:1", "16:9"] },
      input_references: { type: "range", min: 0, max: 2 },
      seed: { type: "boolean" }
    }
    const lists: Record<string, object> = {
      "/models": { data: [{ id: "acme/both", name: "Both", architecture }] },
      "/images/models": { data: [{ id: "acme/both", name: "Both", architecture, supported_parameters: parameters }] },
      "/images": {
        created: 1,
        data: [{ b64_json: Buffer.from(await draw("x")).toString("base64"), media_type: "image/png" }],
        usage: { prompt_tokens: 3, completion_tokens: 40, total_tokens: 43, cost: 0.05 }
      }
    }
    const router = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const { pathname } = new URL(request.url ?? "", "http://router")
        if (pathname === "/images") asked.push(JSON.parse(Buffer.concat(pieces).toString()))
        response.writeHead(lists[pathname] === undefined ? 404 : 200, { "content-type": "application/json" })
        response.end(JSON.stringify(lists[pathname] ?? { error: { code: 404 } }))
      })
    })
    await new Promise<void>((resolve) => router.listen(0, "127.0.0.1", resolve))
    const address = router.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const routed = await startDemo({
      OPENROUTER_BASE_URL: `http://127.0.0.1:${port}`,
      OPENROUTER_API_KEY: "sk-or",
      DEFAULT_LLM_PROVIDER: "demo",
      DEFAULT_MODEL_NAME: "demo-1"
    })
    try {
      const call = (method: string, path: string, body?: object) =>
        callApi({ api: `${routed.url}/api`, key: serverKey(routed) }, method, path, body)
      const { models } = (await call("GET", "/models/image/all?provider=router")).body
      assert.lengthOf(models, 1)
      assert.deepInclude(models[0], {
        id: "acme/both",
        name: "acme/both",
        provider: "router",
        model_type: "image",
        display_name: "Both",
        supports_vision: true,
        supports_audio_input: false,
        architecture,
        supported_parameters: parameters
      })
      assert.strictEqual((await call("GET", "/models/acme%2Fboth")).body.model_type, "llm")
      const wish = {
        content: "Draw a fox",
        image_generation: "auto",
        image_model_provider: "router",
        image_model_name: "acme/both"
      }
      const refused = await call("POST", "/threads/messages", {
        ...wish,
        image_config: { aspect_ratio: "3:1", size: "1024x1024", seed: 7 }
      })
      assert.strictEqual(refused.status, 422)
      assert.deepStrictEqual(
        refused.body.detail.map(({ loc }: { readonly loc: ReadonlyArray<string> }) => loc.join(".")),
        ["body.image_config.aspect_ratio", "body.image_config.size"]
      )
      const { body } = await call("POST", "/threads/messages", { ...wish, image_config: { aspect_ratio: "16:9" } })
      assert.deepInclude(body.generated_media[0], { media_type: "image", mime_type: "image/png" })
      assert.deepInclude(asked[0], { model: "acme/both", prompt: "Draw a fox", aspect_ratio: "16:9" })
      const { data } = (await call("GET", "/billing/usage/recent")).body
      const row = data.find(({ purpose }: { readonly purpose: string }) => purpose === "image")
      assert.deepInclude(row, { model: "acme/both", amount_deducted_usd: 0.05 })
    } finally {
      await routed.stop()
      await new Promise((resolve) => router.close(resolve))
    }
  }, 60_000)

  it("the web is searched with the engine of the environment, and the reply has its sources", async () => {
    const { body } = await server.call("/threads/messages", { content: "Search for foxes", web_search: "Auto" })
    assert.include(searched, "Search for foxes")
    assert.deepStrictEqual(body.metadata_, { sources: [{ title: "Foxes", url: "https://foxes.example/" }] })
    assert.include(body.content, "They dig.")
  })
})

describe("the demo's painter", () => {
  it("draws other words otherwise, and the same words alike", async () => {
    const [fox, again, hen] = await Promise.all(["fox", "fox", "hen"].map(draw))
    assert.deepStrictEqual(fox, again)
    assert.notDeepEqual(fox, hen)
    const view = new DataView(fox?.buffer ?? new ArrayBuffer())
    assert.deepStrictEqual([view.getUint32(16), view.getUint32(20)], [512, 320])
  })

  it("draws any text", async () => {
    const texts = ["", " ", "☃".repeat(5_000), "a\nb\u0000c", "<svg>&amp;\ud800", "x".repeat(100_000)]
    for (const text of texts) assert.isAbove((await draw(text)).length, 100)
  })
})

describe("the environment of a search", () => {
  const refused = (env: Record<string, string>) =>
    Effect.runPromise(
      Effect.match(readSettings(env), {
        onFailure: (error) => (error instanceof SettingsRefused ? error.problems.join() : ""),
        onSuccess: ({ search }) => search ?? "none"
      })
    )

  it("takes the engine that is named, else the first that is set", async () => {
    const both = { TAVILY_API_KEY: "k", BRAVE_API_KEY: "k" }
    assert.strictEqual(await refused(both), "TAVILY")
    assert.strictEqual(await refused({ ...both, WEB_SEARCH_PROVIDER: "brave" }), "BRAVE")
    assert.strictEqual(await refused({}), "none")
    assert.include(await refused({ ...both, WEB_SEARCH_PROVIDER: "exa" }), "EXA_API_KEY")
    assert.include(await refused({ SEARXNG_API_KEY: "k" }), "SEARXNG_BASE_URL")
    assert.include(await refused({ ...both, WEB_SEARCH_PROVIDER: "altavista" }), "tavily, exa, brave or searxng")
  })
})
