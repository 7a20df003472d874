/** `POST /v1/responses` and what belongs to it, as OpenAI's own JavaScript client meets it, over a real server. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, fail, finish, gate, hang, say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import OpenAI from "openai"
import type { FunctionTool, ResponseInput } from "openai/resources/responses/responses"
import { openai } from "../../src/openai/index.ts"
import { openBoth } from "../DeletedTexts.ts"
import { fileForm, openWithDocuments } from "../DocumentService.ts"
import { keys } from "../Service.ts"
import { behindServer, model, openService, type OpenAiService, refused } from "./OpenAiService.ts"
import { until } from "../../../../test/until.ts"

const weather: FunctionTool = {
  type: "function",
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: null
}

const last = (service: OpenAiService) => service.model.requests.at(-1)

const said = (service: OpenAiService) =>
  last(service)?.messages.map((message) =>
    message.role === "user"
      ? `user: ${message.content.map((part) => (part.type === "text" ? part.text : part.type)).join("|")}`
      : message.role === "tool"
        ? `tool ${message.toolName}: ${message.output}`
        : `assistant: ${message.content}${message.toolCalls.map(({ name }) => ` (${name})`).join("")}`
  )

const listThreads = async (
  service: OpenAiService,
  key: string = keys.ada
): Promise<ReadonlyArray<{ thread_id: string }>> =>
  (await service.call("GET", "/threads?include_messages=false", undefined, { key })).body

const untilThreads = async (service: OpenAiService, left: number): Promise<void> => {
  await until(async () => (await listThreads(service)).length <= left)
}

describe("responses", () => {
  it("go on with a stored thread, with the instructions of this one and the developer's of all", async () => {
    await using service = await openService([say("Hello."), say("Ada."), say("Bye.")])
    const client = service.client()
    const first = await client.responses.create({
      model,
      instructions: "Be brief.",
      input: [
        { role: "developer", content: "Call the user by name." },
        { role: "user", content: "I am Ada." }
      ],
      metadata: { page: "1" }
    })
    assert.strictEqual(first.output_text, "Hello.")
    assert.deepStrictEqual([first.status, first.model, first.metadata], ["completed", model, { page: "1" }])
    assert.strictEqual(last(service)?.system, "Be brief.\n\nCall the user by name.")
    const second = await client.responses.create({ model, previous_response_id: first.id, input: "Who am I?" })
    assert.strictEqual(second.output_text, "Ada.")
    assert.strictEqual(second.previous_response_id, first.id)
    assert.strictEqual(last(service)?.system, "Call the user by name.")
    assert.deepStrictEqual(said(service), ["user: I am Ada.", "assistant: Hello.", "user: Who am I?"])
    const again = await client.responses.retrieve(first.id)
    assert.deepStrictEqual({ ...again, output_text: first.output_text }, first)
    const third = await client.responses.create({ previous_response_id: second.id, input: "Bye" })
    assert.strictEqual(third.output_text, "Bye.")
    assert.lengthOf(await listThreads(service), 1)
  })

  it("copy what was said for one that is not the last, and leave its thread alone", async () => {
    await using service = await openService([say("One."), say("Two."), say("Other."), say("Three."), say("None.")])
    const client = service.client()
    const one = await client.responses.create({ model, input: "1" })
    const two = await client.responses.create({ model, previous_response_id: one.id, input: "2" })
    const other = await client.responses.create({ model, previous_response_id: one.id, input: "other" })
    assert.deepStrictEqual(said(service), ["user: 1", "assistant: One.", "user: other"])
    await client.responses.create({ model, previous_response_id: two.id, input: "3" })
    assert.deepStrictEqual(said(service), ["user: 1", "assistant: One.", "user: 2", "assistant: Two.", "user: 3"])
    await client.responses.create({ model, previous_response_id: other.id, input: "4" })
    assert.deepStrictEqual(said(service), ["user: 1", "assistant: One.", "user: other", "assistant: Other.", "user: 4"])
    assert.lengthOf(await listThreads(service), 2)
  })

  it("give calls to the client, side by side, and go on with their outputs", async () => {
    await using service = await openService([
      [say("Let me see."), callTools(["weather", { city: "Oslo" }, "a"], ["weather", { city: "Rome" }, "b"])],
      callTool("weather", { city: "Bonn" }, "c"),
      say("Rain.")
    ])
    const client = service.client()
    const first = await client.responses.create({ model, input: "Weather?", tools: [weather] })
    assert.deepStrictEqual(
      first.output.map((item) => (item.type === "function_call" ? [item.call_id, item.arguments] : item.type)),
      ["message", ["a", '{"city":"Oslo"}'], ["b", '{"city":"Rome"}']]
    )
    const output = (call_id: string, text: string) => ({ type: "function_call_output" as const, call_id, output: text })
    const missing = client.responses.create({ model, previous_response_id: first.id, input: [output("a", "rain")] })
    assert.match((await refused(missing, OpenAI.BadRequestError)).message, /b: this call is open/u)
    const mixed = client.responses.create({
      model,
      previous_response_id: first.id,
      input: [output("a", "rain"), output("b", "sun"), { role: "user", content: "And?" }]
    })
    assert.strictEqual((await refused(mixed, OpenAI.BadRequestError)).param, "input")
    const second = await client.responses.create({
      model,
      previous_response_id: first.id,
      tools: [weather],
      input: [output("b", "sun"), output("a", "rain")]
    })
    assert.strictEqual(second.previous_response_id, first.id)
    assert.notStrictEqual(second.id, first.id)
    const third = await client.responses.create({ model, previous_response_id: second.id, input: [output("c", "fog")] })
    assert.strictEqual(third.output_text, "Rain.")
    assert.deepStrictEqual(said(service), [
      "user: Weather?",
      "assistant: Let me see. (weather) (weather)",
      "tool weather: rain",
      "tool weather: sun",
      "assistant:  (weather)",
      "tool weather: fog"
    ])
    for (const each of [first, second, third]) {
      const found = await client.responses.retrieve(each.id)
      assert.deepStrictEqual(found.output, each.output)
      assert.deepStrictEqual([found.previous_response_id, found.status], [each.previous_response_id, "completed"])
      assert.deepStrictEqual(found.usage, each.usage)
    }
    const twice = client.responses.create({ model, previous_response_id: first.id, input: [output("x", "?")] })
    await refused(twice, OpenAI.BadRequestError)
  })

  it("go on with the run's model when outputs come with another one, and say so", async () => {
    await using service = await openService([callTool("weather", {}, "a"), callTool("weather", {}, "b"), say("Fog.")])
    const client = service.client()
    const tools = [{ type: "function", name: "weather", parameters: {}, strict: false }] as const
    const ignoredWith = async (previous: string, output: string, another: object) => {
      const input = [{ type: "function_call_output", call_id: output, output: "sun" } as const]
      const sent = { previous_response_id: previous, input, tools: [...tools], ...another }
      const { data, response } = await client.responses.create(sent).withResponse()
      return [data, response.headers.get("x-ignored-options")] as const
    }
    const first = await client.responses.create({ model, input: "Weather?", tools: [...tools] })
    const [second, ignored] = await ignoredWith(first.id, "a", { model: "scripted/another" })
    assert.deepStrictEqual([second.model, ignored], [model, "model"])
    assert.deepStrictEqual((await ignoredWith(second.id, "b", { model }))[1], null)
  })

  it("take the whole conversation as input, as the client's own example of tools sends it", async () => {
    await using service = await openService([callTool("weather", { city: "Oslo" }, "a"), say("Rain."), say("Yes.")])
    const client = service.client()
    const input: ResponseInput = [{ role: "user", content: "Weather?" }]
    const first = await client.responses.create({ model, input, tools: [weather] })
    for (const item of first.output) if (item.type === "function_call") input.push(item)
    for (const item of first.output)
      if (item.type === "function_call")
        input.push({ type: "function_call_output", call_id: item.call_id, output: "rain" })
    const second = await client.responses.create({ model, input, tools: [weather] })
    assert.strictEqual(second.output_text, "Rain.")
    const heard = ["user: Weather?", "assistant:  (weather)", "tool weather: rain"]
    assert.deepStrictEqual(said(service), heard)
    await client.responses.create({ model, previous_response_id: second.id, input: "Sure?" })
    assert.deepStrictEqual(said(service), [...heard, "assistant: Rain.", "user: Sure?"])
  })

  it("stream every item, and the client puts the same response together", async () => {
    await using service = await openService([
      [say("Let ", "me see."), callTools(["weather", { city: "Oslo" }, "a"], ["weather", {}, "b"])],
      say("Rain.")
    ])
    const client = service.client()
    const stream = client.responses.stream({ model, input: "Weather?", tools: [weather] })
    const seen: Array<string> = []
    const numbers: Array<number> = []
    for await (const event of stream) {
      if (event.type !== seen.at(-1)) seen.push(event.type)
      numbers.push(event.sequence_number)
    }
    assert.deepStrictEqual(
      numbers,
      numbers.map((_, index) => index)
    )
    const call = [
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done"
    ]
    assert.deepStrictEqual(seen, [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      ...call,
      ...call,
      "response.completed"
    ])
    const whole = await stream.finalResponse()
    const stored = await client.responses.retrieve(whole.id)
    assert.deepStrictEqual(stored.output_text, "Let me see.")
    assert.deepStrictEqual(
      JSON.parse(JSON.stringify(whole.output)).map(
        ({ parsed_arguments: _, ...item }: { parsed_arguments: unknown }) => item
      ),
      stored.output.map((item) =>
        item.type === "message" ? { ...item, content: [{ ...item.content[0], parsed: null }] } : item
      )
    )
    const next = client.responses.stream({
      previous_response_id: whole.id,
      model,
      input: whole.output.flatMap((item) =>
        item.type === "function_call"
          ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "rain" }]
          : []
      )
    })
    assert.strictEqual((await next.finalResponse()).output_text, "Rain.")
  })

  it("pass on the settings of the answer, show them, and say why an answer is incomplete", async () => {
    const cut = [say("Once"), finish("length")]
    await using service = await openService([cut, cut, [say("Hm"), finish("filtered")], say("Done.")])
    const client = service.client()
    const settings = { temperature: 0.2, top_p: 0.9, max_output_tokens: 50, parallel_tool_calls: false }
    const choice = { tool_choice: { type: "function", name: "weather" } } as const
    const first = await client.responses.create({ model, input: "Hi", tools: [weather], ...settings, ...choice })
    assert.deepInclude(last(service), {
      maxOutputTokens: 50,
      toolChoice: { name: "weather" },
      sampling: { temperature: 0.2, topP: 0.9, parallelToolCalls: false }
    })
    const shown = {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      ...settings,
      ...choice
    } as const
    assert.deepInclude(first, shown)
    assert.deepInclude(first.output[0], { type: "message", status: "incomplete" })
    assert.deepInclude(await client.responses.retrieve(first.id), { ...shown, output: first.output })
    const types: Array<string> = []
    for await (const { type } of await client.responses.create({ model, input: "Hi", stream: true })) types.push(type)
    assert.strictEqual(types.at(-1), "response.incomplete")
    const filtered = await client.responses.create({ model, input: "Hi" })
    assert.deepStrictEqual(filtered.incomplete_details, { reason: "content_filter" })
    const { data, response } = await client.responses
      .create({ model, input: "Hi", tool_choice: "required", temperature: 1 })
      .withResponse()
    assert.deepInclude(data, { status: "completed", incomplete_details: null, temperature: 1, top_p: null })
    assert.strictEqual(response.headers.get("x-ignored-options"), "tool_choice")
  })

  it("keep nothing with store: false", async () => {
    await using service = await openService([say("Hello."), say("Again."), say("Kept."), say("Aside.")])
    const client = service.client()
    const gone = await client.responses.create({ model, input: "Hi", store: false })
    assert.propertyVal(gone, "store", false)
    await untilThreads(service, 0)
    await refused(client.responses.retrieve(gone.id), OpenAI.NotFoundError)
    const stale = client.responses.create({ model, input: "Hi", previous_response_id: gone.id })
    assert.strictEqual((await refused(stale, OpenAI.BadRequestError)).code, "previous_response_not_found")
    const again = client.responses.stream({ model, input: "Hi", store: false })
    assert.strictEqual((await again.finalResponse()).output_text, "Again.")
    await untilThreads(service, 0)
    const kept = await client.responses.create({ model, input: "Keep" })
    await client.responses.create({ model, input: "Aside", previous_response_id: kept.id, store: false })
    assert.deepStrictEqual(said(service), ["user: Keep", "assistant: Kept.", "user: Aside"])
    await untilThreads(service, 1)
    assert.strictEqual((await client.responses.retrieve(kept.id)).output_text, "Kept.")
  })

  it("go on with a conversation, of this interface or of the native one", async () => {
    await using service = await openService([
      say("One."),
      say("Two."),
      say("Three."),
      callTool("weather", {}, "a"),
      say("Fog.")
    ])
    const client = service.client()
    const conversation = await client.conversations.create({
      metadata: { topic: "numbers" },
      items: [
        { type: "message", role: "developer", content: "Count." },
        { type: "message", role: "user", content: "Listen." },
        { type: "message", role: "assistant", content: "I do." }
      ]
    })
    const first = await client.responses.create({ model, conversation: conversation.id, input: "1" })
    assert.deepStrictEqual(first.conversation, { id: conversation.id })
    assert.strictEqual(last(service)?.system, "Count.")
    assert.deepStrictEqual(said(service), ["user: Listen.", "assistant: I do.", "user: 1"])
    await client.responses.create({ model, conversation: { id: conversation.id }, input: "2" })
    assert.deepStrictEqual(said(service)?.slice(2), ["user: 1", "assistant: One.", "user: 2"])
    assert.deepStrictEqual((await client.conversations.retrieve(conversation.id)).metadata, { topic: "numbers" })
    const changed = await client.conversations.update(conversation.id, { metadata: { topic: "all" } })
    assert.deepStrictEqual(changed.metadata, { topic: "all" })
    assert.lengthOf((await service.call("GET", "/assistants")).body, 1)
    await client.conversations.delete(conversation.id)
    assert.lengthOf((await service.call("GET", "/assistants")).body, 0)
    const nobody = { type: "message", role: "assistant", content: "I am alone." } as const
    await refused(client.conversations.create({ items: [nobody] }), OpenAI.BadRequestError)
    await refused(client.responses.create({ model: "nobody/none", input: "Hi" }), OpenAI.NotFoundError)
    assert.lengthOf((await service.call("GET", "/assistants")).body, 0)
    await refused(client.conversations.retrieve(conversation.id), OpenAI.NotFoundError)
    const lost = client.responses.create({ model, conversation: conversation.id, input: "3" })
    assert.strictEqual((await refused(lost, OpenAI.NotFoundError)).param, "conversation")

    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Guide", system_prompt: "Guide." }))
      .body
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    const native = `conv_${thread_id.replaceAll("-", "")}`
    await client.responses.create({ conversation: native, input: "Where?" })
    assert.strictEqual(last(service)?.system, "Guide.")
    const calling = await client.responses.create({
      model: "Guide",
      conversation: native,
      input: "Now?",
      tools: [weather]
    })
    assert.strictEqual(calling.output[0]?.type, "function_call")
    const input = [{ type: "function_call_output" as const, call_id: "a", output: "fog" }]
    assert.strictEqual((await client.responses.create({ conversation: native, input })).output_text, "Fog.")
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    assert.deepStrictEqual(
      messages.map(({ content }: { content: string }) => content),
      ["Where?", "Three.", "Now?", null, "Fog."]
    )
    const made = await client.conversations.create({ metadata: { assistant_id } })
    const place = `/threads/${made.id.replace(/^conv_(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-")}`
    assert.strictEqual((await service.call("GET", place)).body.assistant_id, assistant_id)
  })

  it("run in the background, and can be watched, cancelled and deleted", async () => {
    await using service = await openService([[say("One, "), gate(), say("two.")], hang, say("Last.")])
    const client = service.client()
    const begun = await client.responses.create({ model, input: "Count", background: true })
    assert.strictEqual(begun.status, "in_progress")
    assert.strictEqual((await client.responses.retrieve(begun.id)).status, "in_progress")
    const watched = await client.responses.retrieve(begun.id, { stream: true })
    let text = ""
    for await (const event of watched) {
      if (event.type === "response.output_text.delta") text += event.delta
      if (text === "One, ") await service.run(service.model.release())
    }
    assert.strictEqual(text, "One, two.")
    const done = await client.responses.retrieve(begun.id)
    assert.deepStrictEqual([done.status, done.output_text, done.background], ["completed", "One, two.", true])
    const hanging = await client.responses.create({
      model,
      input: "Hang",
      background: true,
      previous_response_id: done.id
    })
    const cancelled = await client.responses.cancel(hanging.id)
    assert.strictEqual(cancelled.status, "cancelled")
    await client.responses.delete(done.id)
    await refused(client.responses.retrieve(done.id), OpenAI.NotFoundError)
    await refused(client.responses.create({ model, input: "x", previous_response_id: done.id }), OpenAI.BadRequestError)
    assert.lengthOf(await listThreads(service), 1)
    const third = await client.responses.create({ model, input: "x", previous_response_id: hanging.id })
    await client.responses.delete(third.id)
    await client.responses.delete(hanging.id)
    assert.lengthOf(await listThreads(service), 0)
    assert.lengthOf((await service.call("GET", "/assistants")).body, 0)
    await refused(
      client.responses.create({ model, input: "x", background: true, store: false }),
      OpenAI.BadRequestError
    )
  })

  it("end with the client that aborts, unless they are in the background", async () => {
    await using service = await openService([[say("One, "), hang], hang, [say("One, "), gate(), say("two.")]])
    const client = service.client()
    const leaving = await client.responses.create({ model, input: "Count", stream: true })
    let id = ""
    for await (const event of leaving) {
      if (event.type === "response.created") id = event.response.id
      if (event.type === "response.output_text.delta") break
    }
    const settled = async () => {
      let found = await client.responses.retrieve(id)
      while (found.status === "in_progress") found = await client.responses.retrieve(id)
      return found
    }
    assert.strictEqual((await settled()).status, "cancelled")
    assert.strictEqual((await settled()).output_text, "One, ")
    const controller = new AbortController()
    const waiting = client.responses.create({ model, input: "Hang" }, { signal: controller.signal })
    await until(() => service.model.requests.length >= 2)
    controller.abort()
    await refused(waiting, OpenAI.APIUserAbortError)
    await until(() => service.model.interrupted() >= 2)
    const behind = await client.responses.create({ model, input: "Count", stream: true, background: true })
    for await (const event of behind) {
      if (event.type === "response.created") id = event.response.id
      if (event.type === "response.output_text.delta") break
    }
    await service.run(service.model.release())
    assert.strictEqual((await settled()).output_text, "One, two.")
  })

  it("begin for the client also when they end while they wait for their conversation", async () => {
    await using service = await openService([[say("One, "), gate(), say("two.")], say("Last.")])
    const client = service.client()
    const { id: conversation } = await client.conversations.create({})
    await client.responses.create({ model, conversation, input: "Count", background: true })
    const waiting = await client.responses.create({ model, conversation, input: "Never", background: true })
    assert.strictEqual(waiting.status, "queued")
    const watched = client.responses.stream({ response_id: waiting.id })
    const done = watched.finalResponse()
    await client.responses.cancel(waiting.id)
    const { created_at, id, status } = await done
    assert.deepStrictEqual([id, created_at, status], [waiting.id, waiting.created_at, "cancelled"])

    const begun = Date.now()
    const asking = await client.responses.create({ model, conversation, input: "Never", stream: true })
    const queued = async () => (await service.call("GET", "/runs?status=QUEUED")).body.runs
    await until(async () => (await queued()).length > 0)
    const [{ run_id, thread_id }] = await queued()
    await service.call("POST", `/threads/${thread_id}/runs/${run_id}/cancel`)
    const told: Array<string> = []
    for await (const event of asking) {
      told.push(event.type)
      if (event.type === "response.created") assert.isAtLeast(event.response.created_at, Math.floor(begun / 1000))
    }
    assert.deepStrictEqual(told, ["response.created", "response.incomplete"])
    await service.run(service.model.release())
    assert.strictEqual((await client.responses.create({ model, conversation, input: "And?" })).output_text, "Last.")
  })

  it("ask for JSON of a schema, and the helper parses it", async () => {
    await using service = await openService([say('{"city":"Oslo"}')])
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const answer = await service.client().responses.parse({
      model,
      input: "Where?",
      text: { format: { type: "json_schema", name: "place", schema } }
    })
    assert.strictEqual(answer.output_text, '{"city":"Oslo"}')
    assert.isTrue(last(service)?.jsonOutput)
    assert.include(last(service)?.system, JSON.stringify(schema))
  })

  it("tell failures and refusals as the client knows them", async () => {
    await using service = await openService([fail("auth"), say("Hi."), [say("One"), fail("auth")]])
    const client = service.client({ maxRetries: 2 })
    const failed = await refused(client.responses.create({ model, input: "Hi" }), OpenAI.InternalServerError)
    assert.deepStrictEqual([failed.status, failed.code], [502, "auth"])
    assert.lengthOf(service.model.requests, 1)
    const mine = await client.responses.create({ model, input: "Hi" })
    const stranger = service.client({ apiKey: keys.bob })
    await refused(stranger.responses.retrieve(mine.id), OpenAI.NotFoundError)
    await refused(stranger.responses.cancel(mine.id), OpenAI.NotFoundError)
    await refused(stranger.responses.delete(mine.id), OpenAI.NotFoundError)
    const stolen = stranger.responses.create({ model, input: "Hi", previous_response_id: mine.id })
    assert.strictEqual((await refused(stolen, OpenAI.BadRequestError)).code, "previous_response_not_found")
    const conversation = mine.id.replace(/^resp_(.{32}).*$/u, "conv_$1")
    await refused(stranger.responses.create({ model, input: "Hi", conversation }), OpenAI.NotFoundError)
    for (const id of ["resp_1", "x", `${mine.id}ff`, "resp_" + "0".repeat(64)])
      await refused(client.responses.retrieve(id), OpenAI.NotFoundError)
    const refusals: ReadonlyArray<[string, object]> = [
      ["model", { model: undefined, input: "Hi" }],
      ["input[0].content[0]", { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] }],
      [
        "input[0].call_id",
        {
          input: [
            { type: "function_call_output", call_id: "x", output: "y" },
            { role: "user", content: "Hi" }
          ]
        }
      ],
      ["tools[0].type", { input: "Hi", tools: [{ type: "code_interpreter", container: "x" }] }],
      ["previous_response_id", { input: "Hi", previous_response_id: mine.id, conversation }],
      ["metadata.page", { input: "Hi", metadata: { page: 1 } }]
    ]
    for (const [param, fields] of refusals) {
      const error = await refused(client.responses.create({ model, ...fields } as never), OpenAI.BadRequestError)
      assert.strictEqual(error.param, param, error.message)
    }
    const streamed = await client.responses.create({ model, input: "Hi", stream: true })
    const types: Array<string> = []
    for await (const event of streamed) {
      types.push(event.type)
      if (event.type === "response.failed") assert.match(event.response.error?.message ?? "", /key/u)
    }
    assert.strictEqual(types.at(-1), "response.failed")
  })

  it("that wait for an approval go on with the decision as the same response", async () => {
    const pay = {
      definition: { name: "pay", description: null, parameters: null },
      needsApproval: true as const,
      run: () => Effect.succeed("paid")
    }
    const script = [
      [say("One moment."), callTool("pay", { cents: 5 }, "c")],
      say("It is paid."),
      say("Five."),
      say("Six.")
    ]
    await using service = await openService(script, { hosted: [pay] })
    const client = service.client()
    const asked = await client.responses.create({ model, input: "Pay" })
    const waits = ["incomplete", "approval_required", "One moment."]
    const seen = ({ incomplete_details, output_text, status }: typeof asked) => [
      status,
      incomplete_details?.reason,
      output_text
    ]
    assert.deepStrictEqual(seen(asked), waits)
    assert.deepStrictEqual(seen(await client.responses.retrieve(asked.id)), waits)
    const threadId = (await listThreads(service))[0]?.thread_id
    const { run_id } = (await service.call("GET", `/threads/${threadId}`)).body.messages.at(-1)
    const approvals = [{ tool_call_id: "c", decision: "approve" }]
    await service.call("POST", `/threads/${threadId}/runs/${run_id}/approvals`, { approvals })
    const done = await client.responses.retrieve(asked.id)
    assert.deepStrictEqual(seen(done), ["completed", undefined, "One moment.It is paid."])
    assert.strictEqual(done.usage?.output_tokens, 2)
    const streamed = await client.responses.retrieve(asked.id, { stream: true })
    const words: Array<string> = []
    for await (const event of streamed) if (event.type === "response.output_text.delta") words.push(event.delta)
    assert.strictEqual(words.join(""), "It is paid.")
    const next = await client.responses.create({ model, input: "How much?", previous_response_id: asked.id })
    assert.strictEqual(next.output_text, "Five.")
    assert.lengthOf(await listThreads(service), 1)
    const other = await client.responses.create({ model, input: "Or?", previous_response_id: asked.id })
    assert.strictEqual(other.output_text, "Six.")
    assert.deepStrictEqual(said(service), [
      "user: Pay",
      "assistant: One moment. (pay)",
      "tool pay: paid",
      "assistant: It is paid.",
      "user: Or?"
    ])
    for (const { id } of [asked, next, other]) await client.responses.delete(id)
    assert.lengthOf(await listThreads(service), 0)
  })

  it("cite the files of an assistant, also in streams and in completions", async () => {
    const words = say("Nine [d1", "]. [d7]")
    const steps = [words, words, words, words]
    await using service = await behindServer(await openBoth(InMemory.layer, steps, "recall", { wings: [openai] }))
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Guide" })).body
    const form = fileForm({ file: new File(["The harbour closes at nine."], "harbour.txt") })
    const { document_id } = (await service.call("POST", `/assistants/${assistant_id}/documents`, form)).body
    await until(
      async () => (await service.call("GET", `/documents/${document_id}/status`)).body.status !== "processing"
    )
    const client = service.client()
    const asked = { model: "Guide", input: "When does the harbour close?" }
    const content = { type: "output_text" as const, text: "Nine [d1].", logprobs: [] }
    const cited = { type: "file_citation", file_id: document_id, filename: "harbour.txt", index: 5 } as const
    const first = await client.responses.create(asked)
    const [item] = first.output
    assert.deepStrictEqual(item?.type === "message" && item.content, [{ ...content, annotations: [cited] }])
    assert.deepStrictEqual((await client.responses.retrieve(first.id)).output, first.output)
    const told: Array<unknown> = []
    const stream = client.responses.stream(asked)
    stream.on("event", (event) => {
      if (event.type === "response.output_text.annotation.added") told.push(event.annotation)
    })
    const whole = (await stream.finalResponse()).output[0]
    assert.deepStrictEqual(told, [cited])
    assert.strictEqual(whole?.type === "message" && whole.status, "completed")
    const chat = { model: "Guide", messages: [{ role: "user" as const, content: asked.input }] }
    const inChat = { file_id: document_id, filename: "harbour.txt", start_index: 5, end_index: 9 }
    const completion = await client.chat.completions.create(chat)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(completion.choices[0]?.message.annotations)), [
      { type: "file_citation", file_citation: inChat }
    ])
    const chunks: Array<unknown> = []
    for await (const { choices } of await client.chat.completions.create({ ...chat, stream: true }))
      if (choices[0] !== undefined && "annotations" in choices[0].delta) chunks.push(choices[0].delta.annotations)
    assert.deepStrictEqual(chunks, [[{ type: "file_citation", file_citation: inChat }]])
  })

  it("keep the pictures of a stored conversation as documents of its thread", async () => {
    await using service = await behindServer(await openWithDocuments(InMemory.layer, { http: { wings: [openai] } }))
    const client = service.client()
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    const first = await client.responses.create({
      model: "reciting/recital",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is it?" },
            { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "auto" }
          ]
        }
      ]
    })
    const next = await client.responses.create({
      previous_response_id: first.id,
      model: "reciting/recital",
      input: "Sure?"
    })
    for (const { output_text } of [first, next]) assert.include(output_text, '"type":"image"')
    const [thread] = await listThreads(service)
    const { messages } = (await service.call("GET", `/threads/${thread?.thread_id}`)).body
    assert.lengthOf(messages[0].attachments, 1)
    await using plain = await openService([])
    const nowhere = plain.client().responses.create({
      model,
      input: [
        { role: "user", content: [{ type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "auto" }] }
      ]
    })
    assert.match((await refused(nowhere, OpenAI.BadRequestError)).message, /keeps no files/u)
  })
})
