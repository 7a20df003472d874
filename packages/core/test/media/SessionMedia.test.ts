/** Pictures, videos and web search in a voice session: the same parts as in turns, called by a voice model. */
import { ScriptedRealtime, ScriptedVideo, TestRealtime } from "@colloquy/testing"
import {
  Assistants,
  InsufficientCredit,
  Metering,
  Principal,
  type Provider,
  Providers,
  readSupplement,
  ThreadId,
  Threads
} from "@colloquy/core"
import { firstPage, type ImageRequest, UsageLedger } from "@colloquy/core/adapters"
import { DocumentLinks } from "@colloquy/core/documents"
import { Images, mediaIn, Videos } from "@colloquy/core/media"
import { nothingSelected, type ServiceSelection } from "@colloquy/core/realtime"
import { defaultSearchSettings, sourcesIn, WebSearch, type WebSearchPort } from "@colloquy/core/web-search"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { documentsIn } from "../support/DocumentRoom.ts"
import { quiet } from "../support/Story.ts"
import { frame } from "../support/Voice.ts"
import { painted, png } from "./Painter.ts"

const { callTool, hear, say } = ScriptedRealtime

interface Scene {
  readonly beats: ReadonlyArray<ScriptedRealtime.VoiceBeat>
  readonly studio?: ScriptedVideo.ScriptedVideo
  readonly asked?: Array<ImageRequest>
  readonly isPoor?: boolean
  readonly hasEngine?: boolean
  /** Jobs are gone on with. */
  readonly reattach?: boolean
  /** The engine never answers. */
  readonly isSilent?: boolean
}

const service = (scene: Scene) => {
  const { asked = [], beats, hasEngine = true, isPoor = false, isSilent = false, studio = ScriptedVideo.make() } = scene
  const { reattach = false } = scene
  const painter: Provider = {
    id: "painter",
    image: { generate: (request) => Effect.sync(() => (asked.push(request), painted(png(asked.length)))) }
  }
  const providers = Providers.layer({
    providers: [painter, studio.provider],
    defaults: { provider: "painter", model: "none" }
  })
  const engine: WebSearchPort = {
    id: "engine",
    priceUsd: 0.01,
    search: ({ text }) =>
      isSilent
        ? Effect.never
        : Effect.succeed({
            results: [{ url: `https://${text}.example/`, title: text, text: "Dens.", publishedAt: null }],
            costUsd: 0.01
          })
  }
  const parts = Layer.mergeAll(
    Images.layer(),
    Videos.layer({ reattach }),
    WebSearch.layer(hasEngine ? engine : null)
  ).pipe(Layer.provide(DocumentLinks.layer), Layer.orDie)
  const metering = Layer.succeed(Metering, {
    ensureCredit: ({ purpose }: { readonly purpose: string }) =>
      isPoor && purpose !== "realtime" ? Effect.fail(new InsufficientCredit()) : Effect.void,
    record: () => Effect.void
  })
  return TestRealtime.layer(beats.length === 0 ? [] : [beats], { providers, parts }).pipe(
    Layer.provideMerge(metering),
    Layer.provideMerge(quiet)
  )
}

const select = (fields: Partial<ServiceSelection>) => ({ selection: { ...nothingSelected, ...fields } })
const image = { provider: "painter", model: "oil", config: null }
const video = { provider: "router", model: "acme/clip", config: null }

const story = (
  title: string,
  scene: Scene,
  body: Effect.Effect<void, unknown, Layer.Success<ReturnType<typeof service>> | Principal | Scope.Scope>
) => it.effect(title, () => body.pipe(Effect.scoped, Principal.provide("ada"), Effect.provide(service(scene))))

const leave = Effect.fnUntraced(function* (client: TestRealtime.TestClient) {
  client.send({ _tag: "Stop" })
  assert.strictEqual(yield* client.end, "ended")
})

/** What the voice model was told of its calls. */
const outputs = Effect.map(TestRealtime.ScriptedVoice, ({ commands }) =>
  commands.flatMap((command) => (command._tag === "ToolOutputs" ? command.outputs.map(({ output }) => output) : []))
)

const charges = UsageLedger.use((ledger) =>
  Effect.map(ledger.recent(firstPage), ({ days }) =>
    days.map(({ purpose, usage }) => [purpose, usage.costUsd] as const).filter(([purpose]) => purpose !== "realtime")
  )
)

const keptIn = (threadId: string, part: string) =>
  Effect.map(
    Threads.use((threads) => threads.get(ThreadId.make(threadId))),
    ({ messages }) =>
      messages.map((message) => readSupplement(message, part)?.value ?? null).filter((each) => each !== null)
  )

describe("a voice session with images", () => {
  const asked: Array<ImageRequest> = []
  story(
    "makes a picture that is a document of the thread, told to the client, kept with the answer and charged by itself",
    { asked, beats: [hear("Draw."), callTool("generate_image", { prompt: "A fox" }), say("There.")] },
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ image }))
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      const { toolCallId } = yield* client.next("ToolCall")
      const made = yield* client.next("MediaGenerated")
      yield* client.next("ToolCompleted")
      yield* client.next("ResponseDone")
      yield* leave(client)
      const [document] = yield* documentsIn(threadId)
      const medium = {
        documentId: document?.id,
        mediaType: "image",
        mimeType: "image/png",
        filename: document?.filename,
        size: 9
      }
      assert.deepStrictEqual<unknown>(made, { _tag: "MediaGenerated", toolCallId, media: [medium] })
      assert.deepStrictEqual<unknown>((yield* keptIn(threadId, "image")).flatMap(mediaIn), [medium])
      assert.deepInclude(asked[0], { provider: "painter", model: "oil", prompt: "A fox" })
      assert.include((yield* outputs)[0], document?.id)
      assert.deepStrictEqual(yield* charges, [["image", 0.04]])
    })
  )

  story(
    "without credit is told so by the tool's result, and goes on",
    { isPoor: true, beats: [hear("Draw."), callTool("generate_image", { prompt: "A fox" }), say("Sorry.")] },
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ image }))
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCompleted")
      yield* client.next("ResponseDone")
      yield* leave(client)
      assert.match((yield* outputs)[0] ?? "", /not enough credit/u)
      assert.deepStrictEqual(yield* documentsIn(threadId), [])
    })
  )
})

describe("a voice session with videos", () => {
  const calls = [hear("A clip."), callTool("generate_video", { prompt: "A boat" }), say("Soon.")]
  const studio = ScriptedVideo.make({ looks: ["in_progress", { status: "completed", costUsd: 0.25 }] })
  story(
    "makes a clip that is told, kept with the answer that asked for it, charged once and written into the thread",
    { studio, beats: calls },
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ video }))
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCall")
      yield* TestClock.adjust("30 seconds")
      const { media } = yield* client.next("MediaGenerated")
      yield* client.next("ToolCompleted")
      yield* leave(client)
      const [document] = yield* documentsIn(threadId)
      assert.deepInclude(media[0], { documentId: document?.id, mediaType: "video", mimeType: "video/mp4" })
      assert.deepStrictEqual<unknown>((yield* keptIn(threadId, "video")).flatMap(mediaIn), media)
      assert.deepStrictEqual(yield* charges, [["video", 0.25]])
      assert.strictEqual(studio.orders.length, 1)
      const { thread } = yield* Threads.use((threads) => threads.get(ThreadId.make(threadId)))
      const jobs: unknown = thread.metadata?.["video_jobs"]
      assert.deepInclude(Array.isArray(jobs) ? jobs[0] : null, {
        job_id: "job-1",
        model: "acme/clip",
        status: "completed",
        cost_usd: 0.25
      })
    })
  )

  const slow = ScriptedVideo.make({ looks: ["in_progress"] })
  story(
    "that ends before its clip stops waiting; the job stays in the thread, and what it will cost is not known",
    { studio: slow, beats: calls.slice(0, 2) },
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ video }))
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCall")
      yield* TestClock.adjust("20 seconds")
      const looks = slow.looks()
      yield* leave(client)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(slow.looks(), looks)
      assert.strictEqual(slow.orders.length, 1)
      const { thread } = yield* Threads.use((threads) => threads.get(ThreadId.make(threadId)))
      const jobs: unknown = thread.metadata?.["video_jobs"]
      assert.deepInclude(Array.isArray(jobs) ? jobs[0] : null, { job_id: "job-1", cost_usd: null })
      assert.deepStrictEqual(yield* charges, [["video", null]])
    })
  )

  const later = ScriptedVideo.make({ looks: ["in_progress", { status: "completed", costUsd: 0.25 }] })
  story(
    "that ends before its clip leaves it to a follow-up where jobs are gone on with: stored once, charged once",
    { studio: later, reattach: true, beats: calls.slice(0, 2) },
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ video }))
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCall")
      yield* TestClock.adjust("7 seconds")
      yield* leave(client)
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual([yield* documentsIn(threadId), yield* charges], [[], []])
      yield* TestClock.adjust("40 minutes")
      assert.lengthOf(yield* documentsIn(threadId), 1)
      assert.deepStrictEqual(yield* charges, [["video", 0.25]])
      assert.strictEqual(later.orders.length, 1)
    })
  )

  const done = ScriptedVideo.make()
  story(
    "that has its clip leaves nothing to the follow-up",
    { studio: done, reattach: true, beats: calls },
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ video }))
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCall")
      yield* TestClock.adjust("30 seconds")
      yield* client.next("ToolCompleted")
      yield* leave(client)
      yield* TestClock.adjust("2 hours")
      assert.lengthOf(yield* documentsIn(threadId), 1)
      assert.deepStrictEqual(yield* charges, [["video", 0.25]])
      assert.deepStrictEqual([done.orders.length, done.downloads()], [1, 1])
    })
  )

  story(
    "is refused with words where the settings are wrong, before anything is stored",
    { beats: [] },
    Effect.gen(function* () {
      const wrong = [
        { ...video, config: { size: "1x1", resolution: "720p" } },
        { ...video, model: "acme/ghost" },
        { ...video, provider: "painter" }
      ]
      for (const each of wrong) {
        const error = yield* (yield* TestRealtime.connect(select({ video: each }))).next("Error")
        assert.deepInclude(error, { code: "invalid_first_frame" })
        assert.match(error.message, /size cannot be combined|no model "acme\/ghost"|makes no videos/u)
      }
    })
  )
})

describe("a voice session with web search", () => {
  const searching = [
    hear("What do foxes do?"),
    callTool("web_search", { query: "foxes" }),
    say("They dig."),
    hear("And hens?"),
    callTool("web_search", { query: "hens" }),
    say("They lay.")
  ]
  const talk = Effect.fnUntraced(function* (client: TestRealtime.TestClient) {
    const { threadId } = yield* client.next("SessionBegin")
    for (let turn = 0; turn < 2; turn++) {
      client.speak(frame)
      yield* client.next("ToolCompleted")
      yield* client.next("ResponseDone")
    }
    yield* leave(client)
    return threadId
  })

  story(
    "searches for each question; each answer keeps its sources, and each search is charged",
    { beats: searching },
    Effect.gen(function* () {
      const threadId = yield* talk(yield* TestRealtime.connect(select({ webSearch: true })))
      assert.deepStrictEqual((yield* keptIn(threadId, "search")).map(sourcesIn), [
        [{ title: "foxes", url: "https://foxes.example/" }],
        [{ title: "hens", url: "https://hens.example/" }]
      ])
      const told = yield* outputs
      assert.lengthOf(told, 2)
      assert.match(told[0] ?? "", /written by strangers.*\[1\] foxes/su)
      assert.deepStrictEqual(yield* charges, [["search", 0.02]])
    })
  )

  story(
    "does not wait longer for an engine than a turn does",
    { isSilent: true, beats: searching.slice(0, 3) },
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ webSearch: true }))
      yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCall")
      yield* TestClock.adjust(defaultSearchSettings.timeout)
      yield* client.next("ToolCompleted")
      assert.match((yield* outputs)[0] ?? "", /did not answer within 20s/u)
      yield* client.next("ResponseDone")
      yield* leave(client)
    })
  )

  story(
    "is enabled by an assistant that carries the tool",
    { beats: searching },
    Effect.gen(function* () {
      const tools = [{ name: "web_search", description: null, parameters: null, hosted: true }]
      const { id: assistantId } = yield* (yield* Assistants).create({ name: "A", tools })
      const threadId = yield* talk(yield* TestRealtime.connect({ assistantId }))
      assert.lengthOf(yield* keptIn(threadId, "search"), 2)
    })
  )

  story(
    "is refused with words where the service has no engine",
    { beats: [], hasEngine: false },
    Effect.gen(function* () {
      const error = yield* (yield* TestRealtime.connect(select({ webSearch: true }))).next("Error")
      assert.deepInclude(error, { code: "invalid_first_frame" })
      assert.match(error.message, /no search engine/u)
    })
  )
})
