/** Conversations over the whole surface that must go the same way on every store, and across processes over one store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, gate, say } from "@colloquy/testing"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { threadLists } from "./ThreadLists.ts"
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
    const followed = allEvents(await there.fetch("GET", `${path}/events`))
    assert.strictEqual((await there.call("POST", `${path}/cancel`)).body.status, "CANCELLED")
    const rest: Array<SseEvent> = []
    for await (const event of waiting) rest.push(event)
    assert.deepStrictEqual(
      rest.map(({ data }) => data.type),
      ["run_started", "run_cancelled"]
    )
    assert.deepStrictEqual(onTheWire(await followed), onTheWire([second, ...rest]))
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
}
