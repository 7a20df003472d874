/**
 * Wings that a host registers: their faults harm no conversation, and their names clash with none of the API. Their fields are checked, told to
 * the part and described, in every body that is a message.
 */
import { TurnParts } from "@colloquy/core"
import { callTool, say, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { agUi } from "../src/ag-ui/index.ts"
import { chatRoute } from "../src/ai-sdk/index.ts"
import { messageFields, served, type Wing, wingApi } from "../src/index.ts"
import { openai } from "../src/openai/index.ts"
import { allEvents, keys, open } from "./Service.ts"

const openWith = async (wing: Wing, ...script: ReadonlyArray<ScriptStep>) => {
  const logged: Array<string> = []
  /** What the part was told, turn by turn; undefined: nothing. */
  const told: Array<Schema.Json | undefined> = []
  const part = TurnParts.part<string>({
    name: "mood",
    plan: Schema.String,
    decide: ({ options }) =>
      Effect.sync(() => (told.push(options), { plan: "kind", supplement: { mood: "kind", since: 1 } })),
    recall: (_plan, turn) =>
      Effect.sync(() => {
        turn.keep({ mood: "kind" })
        turn.tell({ type: "mood_set", data: { mood: "kind", since: 1 } })
        return []
      })
  })
  const log = Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${Cause.pretty(cause)}`))
  const service = await open(script, { http: { wings: [wing, openai, agUi] }, extra: Logger.layer([log]) })
  const scope = await service.run(Scope.make())
  await service.run(Layer.buildWithScope(part, scope))
  return Object.assign(service, { logged, told })
}

const moods = Schema.Literals(["kind", "strict"])
const moodWing: Wing = { part: "mood", message: messageFields("A mood", { mood: moods }) }

const fail = (): never => {
  throw new Error("a fault of the host")
}

describe("a wing of a host", () => {
  it("whose code throws is left out: replies, streams, threads and lists are whole", async () => {
    await using service = await openWith({ part: "mood", fields: fail, event: fail }, say("Hello."), say("Again."))
    const reply = await service.call("POST", "/threads/messages", { content: "Hi" })
    assert.strictEqual(reply.status, 200)
    const { thread_id: id } = reply.body
    const stream = await service.call("POST", `/threads/${id}/messages`, { content: "Hi", stream: true })
    assert.include(stream.text, '"type":"mood_set"')
    assert.include(stream.text, '"type":"run_ended"')
    assert.include(service.logged.join("\n"), 'The wing of the part "mood" could not show its fields')
    for (const path of [`/threads/${id}`, "/threads"]) assert.strictEqual((await service.call("GET", path)).status, 200)
  })

  it("adds fields and takes none of the API", async () => {
    const fields: Wing["fields"] = () => ({ memory_operation_id: "mine", added: { mood: "kind", status: "mine" } })
    await using service = await openWith({ part: "mood", fields }, say("Hello."))
    const { body } = await service.call("POST", "/threads/messages", { content: "Hi" })
    assert.deepInclude(body, { mood: "kind", status: "COMPLETED", memory_operation_id: null })
  })

  it("that has a field of messages or a group of endpoints of the API stops the start, with its name", async () => {
    const problems = async (wing: Wing) => {
      await using service = await open([], { http: { wings: [wing] } })
      return service.ready().then(() => "none", String)
    }
    const own = messageFields("A mood", { stream: Schema.Literals(["zzz"]) })
    assert.include(
      await problems({ part: "mood", message: own }),
      'brings the field of messages "stream", which is there already'
    )
    const read = HttpApiEndpoint.get("read", "/moods", { success: Schema.String })
    const api = wingApi(HttpApiGroup.make("threads").add(read))
    const handlers = HttpApiBuilder.group(api, "threads", (group) => group.handle("read", () => Effect.succeed("kind")))
    const clash = await problems({ part: "moods", endpoints: served(api, handlers) })
    assert.include(clash, 'a group "threads" of endpoints already')
  })
})

describe("the fields that a host's wing brings to messages", () => {
  class Meeting extends Schema.Class<Meeting>("Meeting")({ at: Schema.Date, guests: Schema.Array(Schema.Trim) }) {}
  const fields = { day: Schema.DateFromString, until: Schema.Date, meeting: Meeting, seats: Schema.BigInt }
  const wing: Wing = { part: "mood", message: messageFields("A meeting", fields) }
  const noon = "2026-01-01T12:00:00.000Z"
  const sent = { day: "2026-01-01", until: noon, meeting: { at: noon, guests: [" Ada "], more: 1 }, seats: "12" }
  const asTold = {
    day: "2026-01-01T00:00:00.000Z",
    until: noon,
    meeting: { at: noon, guests: ["Ada"] },
    seats: "12"
  }

  it("reach the part as JSON, whatever their schemas decode, from every encoding of a body", async () => {
    await using service = await openWith(wing, say("1"), say("2"))
    const form = new URLSearchParams({ ...sent, meeting: JSON.stringify(sent.meeting), content: "Hi" })
    for (const body of [{ ...sent, content: "Hi" }, form])
      assert.strictEqual((await service.call("POST", "/threads/messages", body)).status, 200)
    assert.deepStrictEqual(service.told, [asTold, asTold])
    const read = Schema.decodeUnknownSync(Schema.toCodecJson(Schema.Struct(fields)))(service.told[0])
    assert.deepStrictEqual([read.meeting.at, read.seats], [new Date(noon), 12n])
  })

  it("are refused with every problem, at its place", async () => {
    await using service = await openWith(wing)
    const wrong = { ...sent, day: "never", meeting: { at: 1, guests: ["Ada", 2] } }
    const { body, status } = await service.call("POST", "/threads/messages", { ...wrong, content: "Hi" })
    const places = body.detail.map(({ loc }: { readonly loc: ReadonlyArray<string> }) => loc.join("."))
    assert.strictEqual(status, 422)
    assert.sameMembers(places, ["body.day", "body.meeting.at", "body.meeting.guests.1"])
  })

  it("stand in the description with the schemas that they name", async () => {
    await using service = await openWith(wing)
    const { schemas } = (await service.call("GET", "/openapi.json")).body.components
    const bodies = ["MessageRequest", "StatelessMessageRequest", "MessageUpload", "EditRequest", "RegenerateRequest"]
    for (const name of bodies) {
      assert.deepStrictEqual(schemas[name].properties.meeting, { $ref: "#/components/schemas/Meeting" }, name)
      assert.notInclude(schemas[name].required ?? [], "meeting")
    }
    assert.deepStrictEqual(schemas.Meeting.properties.guests, { type: "array", items: { type: "string" } })
  })
})

describe("what a host's wing shows, with its schemas", () => {
  const Since = Schema.Struct({ year: Schema.Int }).annotate({ identifier: "MoodSince" })
  const schemas = { fields: { mood: moods, since: Since }, events: { mood_set: { mood: moods, since: Since } } }
  const shown = { mood: "kind", since: { year: 2026 } }
  const showing = (added: Schema.JsonObject): Wing => ({
    part: "mood",
    schemas,
    fields: () => ({ added }),
    event: ({ type }) => Object.assign({}, added, { type })
  })

  it("stands in both descriptions, as fields that may be absent and as events of the stream", async () => {
    await using service = await openWith({ part: "mood", schemas })
    const [openApi, asyncApi] = [
      (await service.call("GET", "/openapi.json")).body.components.schemas,
      (await service.call("GET", "/asyncapi.json")).body.components.schemas
    ]
    for (const name of ["MessageResponse", "ToolOutputsResponse", "StoredMessage"]) {
      const { properties, required } = openApi[name]
      assert.deepStrictEqual(properties.mood, { type: "string", enum: ["kind", "strict"] })
      assert.deepStrictEqual(properties.since, { $ref: "#/components/schemas/MoodSince" })
      assert.notInclude(required, "mood")
    }
    for (const { MoodSince, StreamEvent } of [openApi, asyncApi]) {
      assert.deepStrictEqual(MoodSince.properties, { year: { type: "integer" } })
      const findEvent = (type: string) =>
        StreamEvent.anyOf.find(
          (each: { readonly properties: { readonly type: { readonly enum: ReadonlyArray<string> } } }) =>
            each.properties.type.enum[0] === type
        )
      assert.containsAllKeys(findEvent("run_ended").properties, ["mood", "since", "content"])
      const told = findEvent("mood_set")
      assert.containsAllKeys(told.properties, ["mood", "since", "sequence"])
      assert.sameMembers(told.required, ["type", "thread_id", "assistant_id", "run_id", "sequence"])
    }
  })

  it("is shown where it fits; what does not is left out, with a line in the log that does not tell it", async () => {
    for (const [added, expected] of [
      [
        { ...shown, more: "also" },
        { ...shown, more: "also" }
      ],
      [{ mood: "secret words", since: shown.since }, { since: shown.since }]
    ] as const) {
      await using service = await openWith(showing(added), say("Hello."), say("Again."))
      const names = ["mood", "since", "more"]
      const own = (record: object) =>
        Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)))
      const { body } = await service.call("POST", "/threads/messages", { content: "Hi" })
      assert.deepStrictEqual(own(body), expected)
      const { messages } = (await service.call("GET", `/threads/${body.thread_id}`)).body
      assert.deepStrictEqual(own(messages[1]), expected)
      const path = `/threads/${body.thread_id}/messages`
      const events = await allEvents(await service.fetch("POST", path, { content: "Hi", stream: true }))
      for (const type of ["mood_set", "run_ended"])
        assert.deepStrictEqual(own(events.find(({ data }) => data.type === type)?.data), expected)
      const said = service.logged.join("\n")
      assert.notInclude(said, "secret words")
      const line = 'The wing of the part "mood" could not show "mood": it does not fit its schema'
      assert.strictEqual(said.includes(line), !("mood" in expected))
    }
  })

  it("is checked where the wing leaves its events as the part tells them", async () => {
    const events = { mood_set: { mood: moods, since: Since } }
    await using service = await openWith({ part: "mood", schemas: { events } }, say("Hello."))
    const response = await service.fetch("POST", "/threads/messages", { content: "Hi", stream: true })
    const told = (await allEvents(response)).find(({ data }) => data.type === "mood_set")?.data
    assert.deepInclude(told, { mood: "kind" })
    assert.notProperty(told, "since")
  })

  it("stops the start where the API or another wing has the name, with the name", async () => {
    const problem = async (...wings: ReadonlyArray<Wing>) => {
      await using service = await open([], { http: { wings } })
      return service.ready().then(() => "none", String)
    }
    const fields = { status: Schema.String }
    assert.include(await problem({ part: "mood", schemas: { fields } }), 'brings the field of replies "status"')
    const events = { run_ended: {} }
    assert.include(await problem({ part: "mood", schemas: { events } }), 'brings the event "run_ended"')
    const twice = { ...moodWing, schemas }
    assert.strictEqual(await problem(twice), "none")
    assert.include(await problem(twice, { part: "other", schemas }), '"other" brings the field of replies "mood"')
    const router = messageFields("A router", { router: Schema.String })
    assert.include(await problem({ part: "router", message: router }), 'brings the field of messages "router"')
  })
})

describe("a field of a host's wing in the body of another client", () => {
  const chat = { model: "scripted/scripted-model", messages: [{ role: "user", content: "Hi" }] }
  const response = { model: "scripted/scripted-model", input: "Hi" }
  const doors = [
    ["/v1/chat/completions", chat],
    ["/v1/responses", response],
    ["/v1/responses", { ...response, store: false }]
  ] as const

  it.each(doors)("reaches the part through %s %j, or is refused in OpenAI's form", async (path, body) => {
    await using service = await openWith(moodWing, say("Hello."), say("Again."))
    const answer = await service.call("POST", path, { ...body, mood: "kind" })
    assert.deepStrictEqual([answer.status, answer.headers.get("x-ignored-options")], [200, null])
    assert.deepStrictEqual(service.told, [{ mood: "kind" }])
    const refused = await service.call("POST", path, { ...body, mood: "angry" })
    assert.strictEqual(refused.status, 400)
    assert.deepInclude(refused.body.error, { type: "invalid_request_error", param: "mood" })
    assert.lengthOf(service.told, 1)
    const without = await service.call("POST", path, { ...body, memory: "Auto" })
    assert.strictEqual(without.headers.get("x-ignored-options"), "memory")
    assert.deepStrictEqual(service.told, [{ mood: "kind" }, undefined])
  })

  it("stays OpenAI's where OpenAI has a field of the name", async () => {
    const fields = { temperature: Schema.String, user: Schema.Finite, mood: moods }
    await using service = await openWith({ part: "mood", message: messageFields("A mood", fields) }, say("Hello."))
    const asked = { ...chat, temperature: 1, user: "ada", mood: "kind" }
    assert.strictEqual((await service.call("POST", "/v1/chat/completions", asked)).status, 200)
    assert.deepStrictEqual(service.told, [{ mood: "kind" }])
  })

  it("is absent where it has the name of a member of every object", async () => {
    const message = messageFields("A maker", { constructor: Schema.String })
    await using service = await openWith({ part: "mood", message }, say("1"), say("2"), say("3"), say("4"))
    for (const fields of [{}, { constructor: "Ada" }])
      await service.call("POST", "/threads/messages", { content: "Hi", ...fields })
    for (const fields of [{}, { constructor: "Ada" }])
      await service.call("POST", "/v1/chat/completions", { ...chat, ...fields })
    assert.deepStrictEqual(service.told, [undefined, { constructor: "Ada" }, undefined, { constructor: "Ada" }])
    const refused = await service.call("POST", "/v1/chat/completions", { ...chat, constructor: 1 })
    assert.deepStrictEqual([refused.status, refused.body.error.param], [400, "constructor"])
  })

  it("has no effect beside the outputs of a run that waits, which is told", async () => {
    await using service = await openWith(moodWing, callTool("weather", {}, "c"), say("Rain."))
    const tools = [{ type: "function", name: "weather", parameters: {} }]
    const { body } = await service.call("POST", "/v1/responses", { ...response, tools, mood: "kind" })
    const input = [{ type: "function_call_output", call_id: "c", output: "rain" }]
    const next = await service.call("POST", "/v1/responses", { input, previous_response_id: body.id, mood: "strict" })
    assert.deepStrictEqual([next.status, next.headers.get("x-ignored-options")], [200, "mood"])
  })

  it("is refused where the part is not there", async () => {
    await using service = await open([], { http: { wings: [moodWing, openai] } })
    const { body, status } = await service.call("POST", "/v1/chat/completions", { ...chat, mood: "kind" })
    assert.deepStrictEqual([status, body.error.param], [400, "mood"])
    assert.match(body.error.message, /A mood is not available on this server/u)
  })

  it("reaches the part through AG-UI, or is refused at its place", async () => {
    await using service = await openWith(moodWing, say("Hello."))
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const run = (mood: string) => ({
      threadId: "t",
      runId: mood,
      messages: [{ id: "m", role: "user", content: "Hi" }],
      forwardedProps: { colloquy: { mood } }
    })
    const refused = await service.call("POST", `/ag-ui/${assistant_id}`, run("angry"))
    assert.deepStrictEqual(refused.body.detail[0].loc, ["body", "forwardedProps", "colloquy", "mood"])
    assert.include((await service.call("POST", `/ag-ui/${assistant_id}`, run("kind"))).text, "RUN_FINISHED")
    assert.deepStrictEqual(service.told, [{ mood: "kind" }])
  })

  const question = { id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }
  const ask = (route: ReturnType<typeof chatRoute>, fields: object) =>
    route(
      new Request("http://in.process/chat", {
        method: "POST",
        headers: { "x-api-key": keys.ada },
        body: JSON.stringify({ id: "a chat", messages: [question], trigger: "submit-message", ...fields })
      })
    )

  it("reaches the part through the route of useChat, or is the chat's error", async () => {
    await using service = await openWith(moodWing, say("Hello."), say("Again."))
    const answer = await ask(chatRoute({ handler: service.handler }), { mood: "kind" })
    const chunks = await answer.text()
    assert.include(chunks, "Hello.")
    assert.include(chunks, '{"type":"data-mood_set","data":{"mood":"kind","since":1}}')
    const refused = await ask(chatRoute({ handler: service.handler }), { mood: "angry" })
    assert.include(await refused.text(), "mood")
    assert.deepStrictEqual(service.told, [{ mood: "kind" }])
    const fixed = await ask(chatRoute({ handler: service.handler, message: strict }), { mood: "kind" })
    assert.include(await fixed.text(), "Again.")
    assert.deepStrictEqual(service.told, [{ mood: "kind" }, { mood: "strict" }])
  })

  it("is not taken from what useChat itself sends", async () => {
    const message = messageFields("A trigger", { trigger: Schema.String })
    await using service = await openWith({ part: "mood", message }, say("Hello."))
    assert.include(await (await ask(chatRoute({ handler: service.handler }), {})).text(), "Hello.")
    assert.deepStrictEqual(service.told, [undefined])
  })

  it("does not open the fields of the API to a page of useChat", async () => {
    await using service = await openWith(moodWing, say("Hello."))
    const { components } = (await service.call("GET", "/openapi.json")).body
    const bodies = ["MessageRequest", "StatelessMessageRequest", "EditRequest", "RegenerateRequest"]
    const names = new Set(bodies.flatMap((name) => Object.keys(components.schemas[name].properties)))
    assert.isAbove(names.size, 30)
    names.delete("mood")
    const wrong = Object.fromEntries([...names].map((name) => [name, { no: "value of it" }]))
    const answer = await ask(chatRoute({ handler: service.handler }), { ...wrong, mood: "kind" })
    assert.include(await answer.text(), "Hello.")
    assert.deepStrictEqual(service.told, [{ mood: "kind" }])
  })
})

/** What the host of a route gives every message; its types do not know the fields of wings. */
const strict: object = { mood: "strict" }
