/** Conversations over the whole surface that must go the same way on every store, and across processes over one store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, finish, gate, say } from "@colloquy/testing"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { assistantVersions } from "./AssistantVersions.ts"
import { conversationStories } from "./ConversationStories.ts"
import { helperStories } from "./Helpers.ts"
import { threadLists } from "./ThreadLists.ts"
import { evalStories } from "./EvalStories.ts"
import { scheduleStories } from "./ScheduleStories.ts"
import { allEvents, keys, onTheWire, open, readEvents, type SseEvent, tool } from "./Service.ts"

export const everyStore = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let shared: Layer.Layer<InMemory.Stores>
  beforeAll(async () => {
    runtime = ManagedRuntime.make(stores)
    shared = Layer.succeedContext(await runtime.context())
  }, 60_000)
  afterAll(() => runtime.dispose())

  it("a stream that is cut at any event goes on from the store, through tool outputs to the end", async () => {
    await using service = await open([[say("Let me ", "look."), callTool("weather", {})], say("It is ", "sunny.")], {
      stores: shared
    })
    const first = await allEvents(
      await service.fetch("POST", "/threads/messages", { content: "?", tools: [tool("weather")], stream: true })
    )
    const { run_id, thread_id, tool_calls } = first.at(-1)?.data ?? {}
    const path = `/threads/${thread_id}/runs/${run_id}`
    const outputs = { tool_outputs: [{ tool_call_id: tool_calls[0].id, output: "sun" }] }
    const second = await allEvents(await service.fetch("POST", `${path}/submit-tool-outputs?stream=true`, outputs))
    for (const leg of [first, second]) {
      for (const [index, { id }] of leg.entries()) {
        const isEnd = index === leg.length - 1
        const response = await service.fetch("GET", `${path}/events`, undefined, { headers: { "last-event-id": id } })
        const rest = await allEvents(response)
        const left = isEnd ? (leg === first ? second : []) : leg.slice(index + 1)
        assert.deepStrictEqual(onTheWire(rest), onTheWire(left))
        assert.strictEqual(response.status, isEnd && leg === second ? 204 : 200)
      }
    }
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    assert.deepStrictEqual(
      messages.map(({ content }: { content: string }) => content),
      ["?", "Let me look.", "It is sunny."]
    )
  })

  it("an answer of a schema is stored with its value, and one that does not fit with every problem", async () => {
    const output_schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
    await using service = await open([say(`{"name":"Ada"}`), say("no"), say(`{"name":[1]}`)], { stores: shared })
    const { body: good } = await service.call("POST", "/threads/messages", { content: "Who?", output_schema })
    assert.deepInclude(good, { status: "COMPLETED", output: { name: "Ada" }, output_method: "instructed" })
    const path = `/threads/${good.thread_id}`
    const { body: bad } = await service.call("POST", `${path}/messages`, { content: "And?", output_schema })
    const problems = [{ path: ["name"], message: "must be a text, and is a list" }]
    assert.deepInclude(bad, { status: "FAILED", output: null, partial_content: `{"name":[1]}` })
    assert.deepInclude(bad.fault, { code: "output_invalid", detail: { problems } })
    const { messages } = (await service.call("GET", path)).body
    assert.deepInclude(messages[1], { output: good.output, output_method: "instructed", content: `{"name":"Ada"}` })
    assert.deepInclude(messages[3], { output: null, fault: bad.fault })
    assert.notProperty(messages[0], "output")
    const run = (await service.call("GET", `${path}/runs/${bad.run_id}`)).body
    assert.deepStrictEqual(run.error, bad.fault)
  })

  it("another process follows a run live, and cancels it", async () => {
    const count = [say("One, "), gate(), say("two, "), gate("never"), say("three.")]
    await using here = await open([count], { stores: shared })
    await using there = await open([], { stores: shared })
    const begun = readEvents(await here.fetch("POST", "/threads/messages", { content: "Count", stream: true }))
    const first = (await begun.next()).value as SseEvent
    await here.run(here.model.reached())
    const path = `/threads/${first.data.thread_id}/runs/${first.data.run_id}`
    const followed = readEvents(await there.fetch("GET", `${path}/events?after=${first.data.sequence}`))
    const told: Array<SseEvent> = []
    const until = async (text: string) => {
      for (let next = await followed.next(); !next.done; next = await followed.next()) {
        told.push(next.value)
        if (next.value.data.content === text) return
      }
    }
    await until("One, ")
    await here.run(here.model.release())
    await until("two, ")
    assert.strictEqual((await there.call("POST", `${path}/cancel`)).body.status, "CANCELLED")
    await until("One, two, ")
    assert.strictEqual(told.at(-1)?.data.type, "run_cancelled")
    const seenHere: Array<SseEvent> = []
    for await (const event of begun) seenHere.push(event)
    assert.deepStrictEqual(onTheWire(told), onTheWire(seenHere))
  }, 30_000)

  it("a message that waits for its turn is known to every process, and cancelled from any of them", async () => {
    await using here = await open([[say("One"), gate()]], { stores: shared })
    await using there = await open([], { stores: shared })
    const begun = readEvents(await here.fetch("POST", "/threads/messages", { content: "1", stream: true }))
    const first = (await begun.next()).value as SseEvent
    await here.run(here.model.reached())
    const thread = `/threads/${first.data.thread_id}`
    const waiting = readEvents(await here.fetch("POST", `${thread}/messages`, { content: "2", stream: true }))
    const second = (await waiting.next()).value as SseEvent
    assert.deepInclude(second.data, { type: "user_message", content: "2" })
    assert.strictEqual(second.id, `${second.data.run_id}:1`)
    const path = `${thread}/runs/${second.data.run_id}`
    const [queued, ...others] = (await there.call("GET", `${thread}/runs`)).body.runs
    assert.deepInclude(queued, { run_id: second.data.run_id, status: "QUEUED", started_at: null })
    assert.deepStrictEqual(
      others.map(({ run_id, status }: { run_id: string; status: string }) => [run_id, status]),
      [[first.data.run_id, "IN_PROGRESS"]]
    )
    assert.deepStrictEqual((await there.call("GET", path)).body, queued)
    const followed = readEvents(await there.fetch("GET", `${path}/events`))
    const seenThere = [(await followed.next()).value as SseEvent]
    assert.deepStrictEqual(onTheWire(seenThere), onTheWire([second]))
    assert.strictEqual((await there.call("POST", `${path}/cancel`)).body.status, "CANCELLED")
    const rest: Array<SseEvent> = []
    for await (const event of waiting) rest.push(event)
    assert.deepStrictEqual(
      rest.map(({ data }) => data.type),
      ["run_cancelled"]
    )
    for await (const event of followed) seenThere.push(event)
    assert.deepStrictEqual(onTheWire(seenThere), onTheWire([second, ...rest]))
    await here.run(here.model.release())
    for await (const _ of begun);
    const { messages } = (await there.call("GET", thread)).body
    assert.deepStrictEqual(
      messages.map(({ content, status }: { content: string; status: string }) => [content, status]),
      [
        ["1", "COMPLETED"],
        ["2", "COMPLETED"],
        [null, "CANCELLED"],
        ["One", "COMPLETED"]
      ]
    )
  }, 30_000)

  it("the runs of a thread are listed in pages, and only to their owner", async () => {
    await using service = await open([say("a"), say("b"), say("c")], { stores: shared })
    const { thread_id } = (await service.call("POST", "/threads/messages", { content: "1" })).body
    const thread = `/threads/${thread_id}`
    for (const content of ["2", "3"]) await service.call("POST", `${thread}/messages`, { content })
    const all = (await service.call("GET", `${thread}/runs`)).body
    assert.deepStrictEqual([all.runs.length, all.next_cursor], [3, null])
    const first = (await service.call("GET", `${thread}/runs?limit=2`)).body
    const second = (await service.call("GET", `${thread}/runs?limit=2&cursor=${first.next_cursor}`)).body
    assert.deepStrictEqual([...first.runs, ...second.runs], all.runs)
    assert.isNull(second.next_cursor)
    assert.deepStrictEqual((await service.call("GET", `${thread}/runs?status=QUEUED`)).body.runs, [])
    for (const wrong of ["limit=0", "limit=101", "cursor=x", "status=queued"])
      assert.strictEqual((await service.call("GET", `${thread}/runs?${wrong}`)).status, 422)
    assert.strictEqual((await service.call("GET", `${thread}/runs`, undefined, { key: keys.bob })).status, 404)
  })

  it("model options belong to the assistant, are changed field by field by a message, and what ended an answer is kept", async () => {
    const steps = [say("a"), [say("b"), finish("length")], say("c"), callTool("weather", {}), say("e"), say("f")]
    await using service = await open(steps, { stores: shared })
    const model_options = { temperature: 0.5, stop: ["END"], max_output_tokens: 50 }
    const created = (await service.call("POST", "/assistants", { name: "Guide", model_options })).body
    assert.deepStrictEqual(created.model_options, model_options)
    const path = `/assistants/${created.assistant_id}`
    const { thread_id } = (await service.call("POST", `${path}/threads`)).body
    const send = (body: object) => service.call("POST", `/threads/${thread_id}/messages`, body)
    assert.deepInclude((await send({ content: "1" })).body, { stop_reason: "stop", ignored_options: [] })
    const cut = await send({ content: "2", model_options: { temperature: 0, top_p: 1, tool_choice: "required" } })
    assert.deepInclude(cut.body, { status: "COMPLETED", stop_reason: "length", content: "b" })
    assert.deepStrictEqual(cut.body.ignored_options, [
      { option: "model_options.tool_choice", because: "the turn has no tools" }
    ])
    const run = (await service.call("GET", `/threads/${thread_id}/runs/${cut.body.run_id}`)).body
    assert.deepStrictEqual(run.ignored_options, cut.body.ignored_options)
    assert.deepStrictEqual(
      service.model.requests.map(({ maxOutputTokens, sampling }) => ({ maxOutputTokens, sampling })),
      [
        { maxOutputTokens: 50, sampling: { temperature: 0.5, stop: ["END"] } },
        { maxOutputTokens: 50, sampling: { temperature: 0, stop: ["END"], topP: 1 } }
      ]
    )
    assert.deepStrictEqual((await service.call("PUT", path, { name: "Other" })).body.model_options, model_options)
    const changed = { max_steps: 2, tool_choice: { name: "weather" } }
    assert.deepStrictEqual((await service.call("PUT", path, { model_options: changed })).body.model_options, changed)
    assert.isNull((await service.call("PUT", path, { model_options: null })).body.model_options)
    await send({ content: "3" })
    assert.isUndefined(service.model.requests[2]?.sampling)
    const streamed = await allEvents(
      await service.fetch("POST", `/threads/${thread_id}/messages`, {
        content: "4",
        tools: [tool("weather")],
        model_options: changed,
        stream: true
      })
    )
    assert.deepInclude(streamed.at(-1)?.data, { type: "tool_submit_required", stop_reason: "tools" })
    const { run_id, tool_calls } = streamed.at(-1)?.data ?? {}
    const outputs = { tool_outputs: [{ tool_call_id: tool_calls[0].id, output: "sun" }] }
    const next = await service.call("POST", `/threads/${thread_id}/runs/${run_id}/submit-tool-outputs`, outputs)
    assert.deepInclude(next.body, { stop_reason: "steps", content: "e" })
    const form = new FormData()
    form.append("content", "5")
    form.append("model_options", JSON.stringify({ seed: 7, stop: ["x"] }))
    assert.strictEqual((await service.call("POST", `/threads/${thread_id}/messages`, form)).status, 200)
    assert.deepStrictEqual(service.model.requests.at(-1)?.sampling, { seed: 7, stop: ["x"] })
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    assert.deepStrictEqual(
      messages.map(({ stop_reason }: { stop_reason: string | null }) => stop_reason),
      [null, "stop", null, "length", null, "stop", null, "tools", "steps", null, "stop"]
    )
  })

  it("wrong model options are a 422 with every place, on assistants and messages", async () => {
    await using service = await open([], { stores: shared })
    const wrong: ReadonlyArray<readonly [options: unknown, ...places: ReadonlyArray<string>]> = [
      [{ temperature: 2.1, top_p: -1 }, "temperature", "top_p"],
      [{ max_output_tokens: 0, seed: 1.5 }, "max_output_tokens", "seed"],
      [{ stop: [] }, "stop"],
      [{ stop: Array.from({ length: 9 }, String) }, "stop"],
      [{ max_steps: 65 }, "max_steps"],
      [{ max_steps: 0 }, "max_steps"],
      [{ parallel_tool_calls: "no" }, "parallel_tool_calls"],
      [{ tool_choice: "any" }, "tool_choice"],
      [{ top_k: 5 }, "top_k"],
      ["hot", ""]
    ]
    for (const [model_options, ...places] of wrong) {
      const answers = [
        await service.call("POST", "/assistants", { name: "Guide", model_options }),
        await service.call("POST", "/threads/messages", { content: "Hi", model_options })
      ]
      for (const { body, status } of answers) {
        assert.strictEqual(status, 422, JSON.stringify(model_options))
        const found = body.detail.map(({ loc }: { loc: ReadonlyArray<string> }) => loc.slice(1, 3).join("."))
        for (const place of places) assert.include(found, place === "" ? "model_options" : `model_options.${place}`)
      }
    }
  })

  it("text of every kind comes back as it was", async () => {
    const texts = ["NUL \0 inside", "a lone \ud800 surrogate", "\u0001 first", "👩‍👩‍👧", "  \u2028\r\n ", "\ufffd"]
    await using service = await open(
      texts.map((text) => say(text)),
      { stores: shared }
    )
    const assistant = (
      await service.call("POST", "/assistants", { name: "name \0\ud800", metadata: { "\0": ["\udc00", "\u0001"] } })
    ).body
    const known = (await service.call("GET", `/assistants/${assistant.assistant_id}`)).body
    assert.deepStrictEqual(known, assistant)
    const { thread_id } = (await service.call("POST", `/assistants/${assistant.assistant_id}/threads`)).body
    for (const text of texts) {
      const answer = await service.call("POST", `/threads/${thread_id}/messages`, {
        content: `x${text}`,
        metadata: JSON.stringify({ [text]: text })
      })
      assert.deepStrictEqual([answer.status, answer.body.content], [200, text])
    }
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    const contents = messages.map(({ content }: { content: string }) => content)
    assert.deepStrictEqual(
      contents,
      texts.flatMap((text) => [`x${text}`, text])
    )
  })

  threadLists(() => shared)
  assistantVersions(() => shared)
  conversationStories(() => shared)
  helperStories(() => shared)
  scheduleStories(() => shared)
  evalStories(() => shared)
}
