/** What a message asks of parts of a turn, over the wire: the parts are told their options, the places of refusals are those of the wire. */
import { callTool, say } from "@colloquy/testing"
import { type TurnPart, TurnParts, TurnRefused } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { answersWing } from "../src/wings/AnswersWing.ts"
import { documentsWing } from "../src/wings/DocumentsWing.ts"
import { imageWing, videoWing } from "../src/wings/MediaWings.ts"
import { memoryWing } from "../src/wings/MemoryWing.ts"
import { searchWing } from "../src/wings/SearchWing.ts"
import { voiceWing } from "../src/wings/VoiceWing.ts"
import { makeWings } from "../src/wings/Wings.ts"
import { allEvents, open, type Service } from "./Service.ts"

interface Toy {
  readonly part: TurnPart<string>
  /** What the part was told, turn by turn; undefined: nothing. */
  readonly told: Array<Schema.Json | undefined>
}

const toy = (name: string, more: Partial<TurnPart<string>> = {}): Toy => {
  const told: Toy["told"] = []
  const decide: TurnPart<string>["decide"] = ({ options }) =>
    Effect.sync(() => {
      told.push(options)
      return null
    })
  return { told, part: { name, plan: Schema.String, decide, ...more } }
}

const install = (service: Service, ...toys: ReadonlyArray<Toy>) =>
  service.run(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const parts = yield* TurnParts
      for (const { part } of toys) yield* Scope.provide(parts.register(part), scope)
      return scope
    })
  )

const send = (service: Service, body: object) =>
  service.call("POST", "/threads/messages", { content: "Hello", ...body })

const problemsIn = ({
  body
}: {
  readonly body: { readonly detail: ReadonlyArray<{ loc: Array<string>; type: string }> }
}) => body.detail.map(({ loc, type }) => `${loc.join(".")} ${type}`)

const typedQuestions = { questions: { q: { type: "noul", instructions: "?" } } }

const asked: ReadonlyArray<readonly [part: string, fields: object, options: Schema.Json]> = [
  ["memory", { memory: "Auto" }, { mode: "Auto", pro: false, citation: false }],
  ["memory", { memory: "Readonly", memory_citation: true }, { mode: "Readonly", pro: false, citation: true }],
  [
    "memory",
    { memory: "Readonly", memory_response_citation: false, memory_citation: true },
    { mode: "Readonly", pro: false, citation: true }
  ],
  [
    "memory",
    { memory: "off", memory_pro: "Auto", memory_response_citation: true },
    { mode: "Auto", pro: true, citation: true }
  ],
  ["search", { web_search: "Auto" }, { mode: "Auto" }],
  [
    "image",
    { image_generation: "auto", image_model_provider: "p", image_model_name: "m", image_config: { size: 1 } },
    { provider: "p", model: "m", config: { size: 1 } }
  ],
  [
    "video",
    { video_generation: "auto", video_model_provider: "p", video_model_name: "m", video_config: { seed: 2 } },
    { provider: "p", model: "m", config: { seed: 2 } }
  ],
  ["voice", { voice: { tts: { voice: "v" } } }, { tts: { voice: "v" } }],
  ["answers", { system_one: typedQuestions }, typedQuestions]
]

describe("the fields of a part", () => {
  it.each(asked)("%s is told %j", async (name, fields, options) => {
    await using service = await open([say("a")])
    const absent = await send(service, fields)
    assert.strictEqual(absent.status, 422)
    assert.isTrue(problemsIn(absent).every((each) => each.endsWith("not_available")))
    const part = toy(name)
    await install(service, part)
    assert.strictEqual((await send(service, fields)).status, 200)
    assert.deepStrictEqual(part.told, [options])
  })

  const off = [
    { memory: "off", memory_pro: "off", memory_response_citation: true },
    { web_search: "off", image_generation: "off", image_model_name: "m", video_generation: "off" },
    { voice: {}, system_one: null },
    {}
  ]
  it("that say off ask nothing of any part, there or not", async () => {
    await using service = await open(off.flatMap(() => [say("a"), say("b")]))
    const toys = ["memory", "search", "image", "video", "voice", "answers"].map((name) => toy(name))
    for (const fields of off) assert.strictEqual((await send(service, fields)).status, 200)
    await install(service, ...toys)
    for (const fields of off) assert.strictEqual((await send(service, fields)).status, 200)
    assert.isTrue(toys.every(({ told }) => told.length === off.length && told.every((each) => each === undefined)))
  })

  it("have the values of the specification, also where the part is there", async () => {
    await using service = await open([])
    await install(service, toy("memory"), toy("search"), toy("image"))
    assert.deepStrictEqual(problemsIn(await send(service, { memory: "auto", web_search: "auto" })), [
      "body.memory literal_error",
      "body.web_search literal_error"
    ])
    const both = await send(service, { memory: "Auto", memory_pro: "Auto", image_generation: "auto" })
    assert.deepStrictEqual(problemsIn(both), [
      "body.memory_pro conflict",
      "body.image_model_provider missing",
      "body.image_model_name missing"
    ])
  })

  it.each(["refuse", "listen", "decide"])(
    "of one that hangs at %s are a 503 that names it, and nothing is stored",
    async (step) => {
      await using service = await open([], { settings: { decideTimeout: "1 millis", listenTimeout: "1 millis" } })
      await install(service, toy("search", { [step]: () => Effect.uninterruptible(Effect.never) }))
      for (const stream of [false, true]) {
        const answer = await send(service, { web_search: "Auto", stream })
        assert.strictEqual(answer.status, 503)
        assert.match(
          answer.body.detail,
          /^The part "search" did not .* within 1ms\. Nothing was stored; send the message again\.$/u
        )
      }
      assert.deepStrictEqual((await service.call("GET", "/assistants")).body, [])
      assert.deepStrictEqual((await service.call("GET", "/threads")).body, [])
    }
  )

  it("are refused again when the part has left", async () => {
    await using service = await open([say("a")])
    const scope = await install(service, toy("search"))
    assert.strictEqual((await send(service, { web_search: "Auto" })).status, 200)
    await service.run(Scope.close(scope, Exit.void))
    assert.deepStrictEqual(problemsIn(await send(service, { web_search: "Auto" })), ["body.web_search not_available"])
  })

  it("an assistant's web_search tool is refused in words where there is no web search, when it is saved and when it is used", async () => {
    await using service = await open([say("a"), say("b"), callTool("mine"), say("c")])
    const scope = await install(service, toy("search"))
    const tools = [{ type: "web_search" }]
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A", tools })).body
    await service.run(Scope.close(scope, Exit.void))
    const saved = [
      await service.call("POST", "/assistants", { name: "B", tools }),
      await service.call("PUT", `/assistants/${assistant_id}`, { tools })
    ]
    for (const { body, status } of saved) {
      assert.deepStrictEqual([status, ...problemsIn({ body })], [422, "body.tools.0 not_available"])
      assert.match(body.detail[0].msg, /Web search is not available on this server/u)
    }
    const used = await send(service, { assistant_id })
    assert.deepStrictEqual([used.status, ...problemsIn(used)], [422, "body.tools not_available"])
    assert.match(used.body.detail[0].msg, /no "web_search", which the assistant carries/u)
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`, {})).body
    const streamed = await service.call("POST", `/threads/${thread_id}/messages`, { content: "x", stream: true })
    assert.strictEqual(streamed.status, 422)
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    assert.deepStrictEqual(messages, [])
    assert.strictEqual((await send(service, { assistant_id, tools: [] })).status, 200)
    assert.strictEqual((await send(service, { assistant_id, send_to_llm: false })).status, 200)
    assert.strictEqual((await service.call("PUT", `/assistants/${assistant_id}`, { tools: [] })).status, 200)
    assert.strictEqual((await send(service, { assistant_id })).status, 200)

    const mine = { type: "function", function: { name: "mine" } }
    const waiting = (await send(service, { tools: [mine] })).body
    const tool_outputs = [{ tool_call_id: waiting.tool_calls[0].id, output: "x" }]
    const body = { thread_id: waiting.thread_id, tool_outputs }
    const again = await service.call("POST", "/threads/tool-outputs", { ...body, tools: [mine, ...tools] })
    assert.deepStrictEqual([again.status, ...problemsIn(again)], [422, "body.tools.1 not_available"])
    assert.strictEqual((await service.call("POST", "/threads/tool-outputs", body)).status, 200)
  })

  it("stand beside every other problem of the request", async () => {
    await using service = await open([])
    const { body } = await service.call("POST", "/threads/not-an-id/messages", { content: "x", memory: "Auto" })
    assert.deepStrictEqual(problemsIn({ body }), ["path.thread_id uuid_parsing", "body.memory not_available"])
  })

  const refusals = [
    ["answers", { system_one: typedQuestions }, ["questions", "q"], "body.system_one.questions.q"],
    ["answers", { system_one: typedQuestions }, ["model"], "body.model_name"],
    ["memory", { memory: "Auto" }, ["mode"], "body.memory"],
    [
      "image",
      { image_generation: "auto", image_model_provider: "p", image_model_name: "m" },
      ["config", "size"],
      "body.image_config.size"
    ],
    [
      "image",
      { image_generation: "auto", image_model_provider: "p", image_model_name: "m" },
      [],
      "body.image_generation"
    ],
    ["voice", { voice: { tts: {} } }, ["tts", "voice"], "body.voice.tts.voice"]
  ] as const
  it.each(refusals)("%s names the field of %j that it refuses", async (name, fields, path, place) => {
    await using service = await open([])
    const problems = [{ path, message: "No." }]
    const decide = () => Effect.fail(new TurnRefused({ part: name, reason: "invalid", problems }))
    await install(service, toy(name, { decide }))
    assert.deepStrictEqual(problemsIn(await send(service, fields)), [`${place} value_error`])
  })
})

describe("what a part tells and keeps", () => {
  it("is an event of the wire", async () => {
    await using service = await open([say("a")])
    const recall: TurnPart<string>["recall"] = (_plan, turn) =>
      Effect.sync(() => {
        turn.tell({ type: "retrieved", data: { memories: [] } })
        return []
      })
    await install(service, toy("memory", { decide: () => Effect.succeed({ plan: "" }), recall }))
    const response = await service.fetch("POST", "/threads/messages", { content: "x", memory: "Auto", stream: true })
    const told = (await allEvents(response)).find(({ data }) => data.type === "memory_retrieved")
    assert.deepStrictEqual(told?.data.memories, [])
  })

  it("has the ids of the stream once, also where a part tells its own", async () => {
    await using service = await open([say("a")])
    const recall: TurnPart<string>["recall"] = (_plan, turn) =>
      Effect.sync(() => {
        turn.tell({ type: "seen", data: { run_id: "mine", sequence: -1, mood: "kind" } })
        return []
      })
    await install(service, toy("own", { decide: () => Effect.succeed({ plan: "" }), recall }))
    const response = await service.fetch("POST", "/threads/messages", { content: "x", stream: true })
    const told = (await response.text()).split("\n").find((line) => line.includes('"seen"')) ?? ""
    assert.deepStrictEqual(
      [...told.matchAll(/"(\w+)":/gu)].map(([, name]) => name),
      ["mood", "type", "thread_id", "assistant_id", "run_id", "sequence"]
    )
    assert.notInclude(told, "mine")
  })

  it("is joined where several parts have media", () => {
    const media = (document_id: string) => ({
      document_id,
      url: "u",
      media_type: "image",
      mime_type: "image/png",
      file_size_bytes: null
    })
    const wing = (part: string) => ({
      part,
      fields: () => ({ generated_media: [media(part)], retrieved_files_count: part.length })
    })
    const { fields } = makeWings(
      [wing("a"), wing("bb"), wing("absent")],
      (id) => id,
      () => {}
    )
    const found = fields({ a: true, bb: true }, {}, null)
    assert.deepStrictEqual(found, { added: {}, generated_media: [media("a"), media("bb")], retrieved_files_count: 2 })
  })
})

describe("an endpoint of a room that is not there", () => {
  const id = "00000000-0000-4000-8000-000000000000"
  const endpoints = [
    ["GET", `/threads/${id}/documents`, "Documents"],
    ["DELETE", "/documents/any", "Documents"],
    ["GET", `/assistants/${id}/memories/stats`, "Memories"],
    ["PUT", `/assistants/${id}/memories/any`, "Memories"],
    ["GET", `/assistants/memories/operations/${id}`, "Memories"],
    ["POST", `/threads/${id}/messages/${id}/outcomes`, "Typed answers"],
    ["GET", `/assistants/${id}/answers/report`, "Typed answers"],
    ["POST", "/threads/realtime/tickets", "Realtime sessions"]
  ] as const
  it.each(endpoints)("%s %s is 501 with a sentence, for those with a key", async (method, path, room) => {
    await using service = await open([], { http: { basePath: "/ai" } })
    const answer = await service.call(method, `/ai${path}`)
    assert.deepStrictEqual(
      [answer.status, answer.body],
      [501, { detail: `${room} are not available on this server: its host has not installed them.` }]
    )
    assert.strictEqual((await service.call(method, `/ai${path}`, undefined, { key: null })).status, 401)
    const other = await service.call("PATCH", `/ai${path}`)
    assert.deepStrictEqual([other.status, other.headers.get("allow")?.split(", ").includes(method)], [405, true])
  })
})

describe("a wing", () => {
  const wings = [answersWing, documentsWing, imageWing, videoWing, memoryWing, searchWing, voiceWing]
  it.each(wings)("$part names all fields that it looks at in a message without them", ({ message }) => {
    const read = new Set<string>()
    const fields = new Proxy({}, { get: (_, name) => void read.add(String(name)) })
    assert.deepStrictEqual(message?.asked(fields), [])
    assert.deepStrictEqual(message?.problems?.(fields, { value: {}, files: [], problems: [] }, new Set()) ?? [], [])
    assert.deepStrictEqual([...read].sort(), [...(message?.concerns ?? [])].sort())
  })
})

describe("fields of parts that have no effect", () => {
  const ignoredBy = async (service: Service, body: object) => {
    const { body: reply } = await send(service, body)
    const { body: run } = await service.call("GET", `/threads/${reply.thread_id}/runs/${reply.run_id}`)
    return run.ignored_options.map(
      ({ because, option }: { because: string; option: string }) => `${option}: ${because}`
    )
  }

  it("are named with the run", async () => {
    await using service = await open(Array.from({ length: 5 }, () => say("Hello")))
    await install(service, toy("search"), toy("image"), toy("memory"))
    const picture = { image_config: { size: "1x1" }, image_model_provider: "p", image_model_name: "" }
    assert.deepStrictEqual(await ignoredBy(service, picture), [
      "image_model_provider: image_generation is off",
      "image_config: image_generation is off"
    ])
    const off = { video_generation: "off", video_model_name: "v", video_config: { duration: 1 } }
    assert.deepStrictEqual(await ignoredBy(service, off), [
      "video_model_name: video_generation is off",
      "video_config: video_generation is off"
    ])
    assert.deepStrictEqual(await ignoredBy(service, { memory: "off", memory_response_citation: true }), [
      "memory_response_citation: memory is off"
    ])
    const on = { ...picture, image_model_name: "m", image_generation: "auto", memory: "Auto", memory_citation: true }
    assert.deepStrictEqual(await ignoredBy(service, { ...on, web_search: "Auto" }), [])
    assert.deepStrictEqual(await ignoredBy(service, { memory_response_citation: false, web_search: "off" }), [])
    assert.deepStrictEqual(await ignoredBy(service, { ...on, web_search: "Auto", send_to_llm: false }), [
      "web_search: the message is only saved",
      "image_generation: the message is only saved"
    ])
  })
})
