/** What a host's wing or part may not show: values that are no JSON, events that look like those of the API, endpoints that are there already. */
import { TurnParts } from "@colloquy/core"
import { say, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { agUi } from "../src/ag-ui/index.ts"
import { chatRoute } from "../src/ai-sdk/index.ts"
import { messageFields, served, StreamEvent, type Wing, wingApi } from "../src/index.ts"
import { openai } from "../src/openai/index.ts"
import { allEvents, keys, open, type Service } from "./Service.ts"

interface Told {
  readonly type: string
  readonly data: Schema.Json
}

const moodSet: Told = { type: "mood_set", data: { mood: "kind" } }

interface Hosted {
  readonly wing?: Wing
  readonly tells?: ReadonlyArray<Told>
  readonly name?: string
}

const openWith = async ({ name = "mood", tells = [moodSet], wing }: Hosted, ...script: ReadonlyArray<ScriptStep>) => {
  const logged: Array<string> = []
  const part = TurnParts.part<string>({
    name,
    plan: Schema.String,
    decide: () => Effect.succeed({ plan: "kind", supplement: { mood: "kind" } }),
    recall: (_plan, turn) =>
      Effect.sync(() => {
        turn.keep({ mood: "kind" })
        for (const each of tells) turn.tell(each)
        return []
      })
  })
  const log = Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${Cause.pretty(cause)}`))
  const wings = [...(wing === undefined ? [] : [wing]), openai, agUi]
  const service = await open(script, { http: { wings }, extra: Logger.layer([log]) })
  await service.run(Layer.buildWithScope(part, await service.run(Scope.make())))
  return Object.assign(service, { logged })
}

const cycle: { me?: object } = {}
cycle.me = cycle
/** As the code of a host without types may give them. */
const noJson: object = {
  big: 12345n,
  cycle,
  broken: {
    toJSON: () => {
      throw new Error("secret words")
    }
  },
  deep: { big: 12345n },
  code: () => "secret words",
  nothing: undefined,
  since: { year: 2026, of: undefined }
}
const left = Object.keys(noJson).filter((name) => name !== "since")
const withNoJson: Schema.JsonObject = Object.assign({ mood: "kind" }, noJson)

const streamed = async (service: Service) =>
  allEvents(await service.fetch("POST", "/threads/messages", { content: "Hi", stream: true }))

const assertOnlyGood = (record: object) => {
  assert.deepInclude(record, { mood: "kind", since: { year: 2026 } })
  assert.doesNotHaveAnyKeys(record, left)
}

describe("what is no JSON", () => {
  it.each([undefined, { fields: { mood: Schema.String }, events: { mood_set: { mood: Schema.String } } }])(
    "is left out of replies, threads, lists and events, with its name in the log (%j)",
    async (schemas) => {
      const wing: Wing = {
        part: "mood",
        fields: () => ({ added: withNoJson }),
        event: () => Object.assign({ type: "mood_set" }, withNoJson),
        ...(schemas === undefined ? {} : { schemas })
      }
      await using service = await openWith({ wing }, say("Hello."), say("Again."))
      const reply = await service.call("POST", "/threads/messages", { content: "Hi" })
      assert.strictEqual(reply.status, 200)
      assertOnlyGood(reply.body)
      const shown = await service.call("GET", `/threads/${reply.body.thread_id}`)
      assertOnlyGood(shown.body.messages[1])
      assertOnlyGood((await service.call("GET", "/threads")).body[0].messages[1])
      const events = await streamed(service)
      for (const type of ["mood_set", "run_ended"])
        assertOnlyGood(events.find(({ data }) => data.type === type)?.data ?? {})
      const said = service.logged.join("\n")
      for (const name of left)
        assert.include(said, `The wing of the part "mood" could not show "${name}": it is no JSON`)
      assert.notMatch(said, /12345|secret words/u)
    }
  )
})

describe("an event of a host's part with a type of the API", () => {
  const types = StreamEvent.members.map(({ fields }) => fields.type.literal)
  const forged = { content: "INJECTED", message_id: "m", partial: "INJECTED", delta: "INJECTED", output: "INJECTED" }
  const tells = types.map((type) => ({ type, data: forged }))
  const question = { id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }

  const throughEveryDoor = async (service: Service) => {
    const sse = (await streamed(service)).map(({ data }) => String(data.type))
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const run = { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "Hi" }], state: {} }
    const agUiText = (await service.call("POST", `/ag-ui/${assistant_id}`, run)).text
    const chat = await chatRoute({ handler: service.handler })(
      new Request("http://in.process/chat", {
        method: "POST",
        headers: { "x-api-key": keys.ada },
        body: JSON.stringify({ id: "a chat", messages: [question], trigger: "submit-message" })
      })
    )
    const asked = { model: "scripted/scripted-model", input: "Hi", stream: true }
    const responses = (await service.call("POST", "/v1/responses", asked)).text
    const texts = [agUiText, await chat.text(), responses]
    for (const text of texts) assert.notInclude(text, "INJECTED")
    return [sse, ...texts.map((text) => [...text.matchAll(/"type":"([\w-]+)"/gu)].map(([, type]) => type))]
  }
  const script = [1, 2, 3, 4].map(() => say("Hello."))

  it.each([undefined, { part: "mood" }])(
    "is left out for the clients of every protocol, with a line in the log (wing: %j)",
    async (wing) => {
      const own = wing === undefined ? {} : { wing }
      await using plain = await openWith({ ...own, tells: [] }, ...script)
      await using service = await openWith({ ...own, tells }, ...script)
      assert.deepStrictEqual(await throughEveryDoor(service), await throughEveryDoor(plain))
      for (const type of types)
        assert.include(
          service.logged.join("\n"),
          `could not show its event "${type}": the API has an event of this name`
        )
      assert.notInclude(service.logged.join("\n"), "INJECTED")
    }
  )

  it.each(["run_ended", "content_streaming"])("is left out when the wing names it so (%s)", async (type) => {
    await using service = await openWith({ wing: { part: "mood", event: () => ({ type, ...forged }) } }, say("Hello."))
    const events = await streamed(service)
    assert.notInclude(JSON.stringify(events), "INJECTED")
    assert.lengthOf(
      events.filter(({ data }) => data.type === "run_ended"),
      1
    )
  })

  it.each(["image", "search"])(
    "is left out where the part has the name of one of ours that is absent (%s)",
    async (name) => {
      await using service = await openWith({ name, tells }, say("Hello."))
      const events = await streamed(service)
      const kernels = ["user_message", "run_started", "content_streaming", "run_ended"]
      assert.deepStrictEqual(
        events
          .map(({ data }) => String(data.type))
          .filter((type) => !/^(?:handed|helper|media|memory|output|stt|tts)_/u.test(type)),
        kernels
      )
      assert.include(service.logged.join("\n"), `The wing of the part "${name}" could not show its event "run_ended"`)
    }
  )

  it("is left out when the wing fails to show it", async () => {
    const event = () => {
      throw new Error("a fault of the host")
    }
    await using service = await openWith({ wing: { part: "mood", event }, tells }, say("Hello."))
    const seen = (await streamed(service)).map(({ data }) => data.type)
    assert.deepStrictEqual(seen, ["user_message", "run_started", "content_streaming", "run_ended"])
  })
})

describe("a field of replies with a name of the API", () => {
  const names = ["output", "output_method", "citations", "kept_as", "imported", "status", "run_id"].concat([
    "sequence",
    "type",
    "cost_usd",
    "message_id",
    "stop_reason"
  ])

  it("is left out of every answer, also where the API has no value for it, with its name in the log", async () => {
    const added = Object.fromEntries([...names, "mood"].map((name) => [name, "of the host"]))
    const wing: Wing = { part: "mood", fields: () => ({ added }) }
    await using service = await openWith({ wing }, say("Hello."), say("Again."), say("And again."))
    const reply = await service.call("POST", "/threads/messages", { content: "Hi" })
    const stored = await service.call("GET", `/threads/${reply.body.thread_id}`)
    const stream = await service.call("POST", "/threads/messages", { content: "Hi", stream: true })
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const run = { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "Hi" }], state: {} }
    const agent = await service.call("POST", `/ag-ui/${assistant_id}`, run)
    for (const { text } of [reply, stored, stream]) {
      const shown = new Set([...text.matchAll(/"(\w+)":"of the host"/gu)].map(([, name]) => name))
      assert.deepStrictEqual([...shown], ["mood"])
    }
    assert.strictEqual(agent.text.split("of the host").length, 2)
    assert.include(agent.text, '{"op":"add","path":"/colloquy/mood","value":"of the host"}')
    for (const name of names)
      assert.include(service.logged.join("\n"), `could not show "${name}": the API has a field of this name`)
  })
})

describe("the type of an event", () => {
  const told = async (shown: unknown) => {
    const odd: object = { event: () => shown }
    await using service = await openWith({ wing: Object.assign({ part: "mood" }, odd) }, say("Hello."))
    const events = await streamed(service)
    assert.strictEqual(events.at(-1)?.data.type, "run_ended")
    return events.map(({ data }) => data).filter((data) => "mood" in data || data.type === "mood_set")
  }

  it("is that which the part told where the wing names none", async () => {
    for (const shown of [{ mood: "x" }, { mood: "x", type: 10n }, { type: null, mood: "x" }]) {
      const [event] = await told(shown)
      assert.deepInclude(event, { type: "mood_set", mood: "x" })
    }
  })

  it("is that of the wing", async () => {
    const [event] = await told({ type: "mood", mood: "x" })
    assert.deepInclude(event, { type: "mood", mood: "x" })
  })

  it("is told to nobody where the wing gives nothing", async () => {
    assert.deepStrictEqual([await told(null), await told(undefined)], [[], []])
  })
})

describe("an endpoint of a host's wing", () => {
  const Mood = Schema.Struct({ memory_pro: Schema.String, citations_dropped: Schema.Finite }).annotate({
    identifier: "Mood"
  })
  const params = { id: Schema.String.check(Schema.isMinLength(2)) }
  const Form = Schema.Struct({ mood: Schema.FiniteFromString }).pipe(HttpApiSchema.asFormUrlEncoded())
  const set = HttpApiEndpoint.post("set", "/moods/:id", { params, payload: Mood, success: Mood })
  const form = HttpApiEndpoint.post("form", "/moods", { payload: Form, success: Schema.Json })
  const api = wingApi(HttpApiGroup.make("moods").add(set, form))
  const handlers = HttpApiBuilder.group(api, "moods", (group) =>
    group
      .handle("set", ({ payload }) => Effect.succeed(payload))
      .handle("form", ({ payload }) => Effect.succeed(payload))
  )
  const wing: Wing = {
    part: "mood",
    message: messageFields("A mood", { mood: Schema.String }),
    schemas: { fields: { mood: Schema.String } },
    endpoints: served(api, handlers)
  }
  const good = { memory_pro: "kind", citations_dropped: 1 }

  it("lists every problem of a request", async () => {
    await using service = await open([], { http: { wings: [wing] } })
    const placesIn = ({ body }: { readonly body: { readonly detail: ReadonlyArray<{ readonly loc: unknown }> } }) =>
      body.detail.map(({ loc }) => loc)
    assert.deepStrictEqual((await service.call("POST", "/moods/11", { ...good, more: 1 })).body, good)
    const wrong = await service.call("POST", "/moods/1", { memory_pro: 1, citations_dropped: "x" })
    assert.strictEqual(wrong.status, 422)
    assert.deepStrictEqual(placesIn(wrong), [
      ["path", "id"],
      ["body", "memory_pro"],
      ["body", "citations_dropped"]
    ])
    const text = await service.call("POST", "/moods", new URLSearchParams({ mood: "kind" }))
    assert.deepStrictEqual([text.status, placesIn(text)], [422, [["body", "mood"]]])
  })

  it("refuses a body that is no JSON, and one over the limit of the server", async () => {
    await using service = await open([], { http: { wings: [wing], limits: { body: 100 } } })
    const long = { ...good, memory_pro: "x".repeat(100) }
    const tooLarge = [413, "The body is over the limit of this server"]
    for (const body of [long, new URLSearchParams({ mood: "1".repeat(100) })]) {
      const path = body === long ? "/moods/11" : "/moods"
      const answer = await service.call("POST", path, body)
      assert.deepStrictEqual([answer.status, answer.body.detail], tooLarge)
    }
    for (const [type, status, detail] of [
      ["application/json", 400, "The body is not valid JSON"],
      ["application/xml", 415, "This content type is not supported here"]
    ]) {
      const headers = { "content-type": String(type), "x-api-key": keys.ada }
      const request = new Request("http://in.process/moods/11", { method: "POST", headers, body: "{" })
      const answer = await service.handler(request)
      assert.deepStrictEqual([answer.status, await answer.json()], [status, { detail }])
    }
  })

  it("is described as it is, whatever names its fields have; every body and reply of the API has the wing's fields", async () => {
    await using service = await open([], { http: { wings: [wing] } })
    const { schemas } = (await service.call("GET", "/openapi.json")).body.components
    assert.hasAllKeys(schemas.Mood.properties, ["memory_pro", "citations_dropped"])
    const all: ReadonlyArray<readonly [string, { readonly properties?: object }]> = Object.entries(schemas)
    const ours = all.filter(
      ([, { properties = {} }]) => "memory_pro" in properties || "citations_dropped" in properties
    )
    assert.lengthOf(ours, 12)
    for (const [name, { properties }] of ours) if (name !== "Mood") assert.property(properties, "mood", name)
  })
})

describe("an endpoint that the API or another wing has", () => {
  const endpoints = (group: string, path: `/${string}`) => {
    const read = HttpApiEndpoint.get("read", path, { success: Schema.String })
    const api = wingApi(HttpApiGroup.make(group).add(read))
    const handlers = HttpApiBuilder.group(api, group, (handle) => handle.handle("read", () => Effect.succeed("kind")))
    return served(api, handlers)
  }
  const problem = async (...wings: ReadonlyArray<Wing>) => {
    await using service = await open([], { http: { wings } })
    return service.ready().then(() => "none", String)
  }

  it("stops the start with the name of the wing's part", async () => {
    const mine = { part: "mood", endpoints: endpoints("moods", "/threads/:id") }
    const words = (part: string, path: string) =>
      `The wing of the part "${part}" brings the endpoint "GET ${path}", which is there already. Rename yours.`
    assert.include(await problem(mine), words("mood", "/threads/:"))
    const one = { part: "mood", endpoints: endpoints("moods", "/moods/:id") }
    const two = { part: "other", endpoints: endpoints("others", "/moods/:thread_id") }
    assert.include(await problem(one, two), words("other", "/moods/:"))
    assert.strictEqual(await problem(one, { part: "other", endpoints: endpoints("others", "/moods/:id/all") }), "none")
    assert.strictEqual(await problem(openai, agUi, one), "none")
  })
})
