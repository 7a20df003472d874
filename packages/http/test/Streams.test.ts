/** What a stream promises: signs of life, going on after a cut at any event, readers that are slow or go away. */
import { assert, describe, it } from "@effect/vitest"
import { callTool, gate, say, think } from "@colloquy/testing"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { StreamEvent, terminalTypes } from "../src/index.ts"
import { allEvents, onTheWire, open, readEvents, type Service, type SseEvent, tool } from "./Service.ts"

const isTerminal = ({ data }: SseEvent) => terminalTypes.includes(data.type)

const stream = (service: Service, body: object, path = "/threads/messages") =>
  service.fetch("POST", path, { ...body, stream: true })

const resume = (service: Service, { data, place }: SseEvent, how: "header" | "query") => {
  const path = `/threads/${place.thread_id}/runs/${place.run_id}/events`
  return how === "query"
    ? service.fetch("GET", `${path}?after=${data.sequence}`)
    : service.fetch("GET", path, undefined, { headers: { "last-event-id": `${place.run_id}:${data.sequence}` } })
}

/** The text that a client has put together from events. */
const told = (events: ReadonlyArray<SseEvent>) =>
  events.map(({ data }) => (data.type === "content_streaming" ? data.content : "")).join("")

describe("a stream", () => {
  it("has one line of data an event for every reader of lines, whatever was said", async () => {
    const said = "a\u2028b\u2029c\u0085d\u000be\u001cf\rg\nh"
    await using service = await open([[think(said), say(said)], callTool("weather", { city: said })])
    const answer = await stream(service, { content: said })
    const { text, thread } = await (async () => {
      const whole = await answer.text()
      return { text: whole, thread: (await service.call("GET", "/threads")).body[0] }
    })()
    // How Python splits lines.
    const lines = text.split(/\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/u)
    for (const line of lines) assert.match(line, /^(?:$|: ping$|id: |data: \{.*\}$)/su)
    const events = lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6)))
    assert.strictEqual(events.find(({ type }) => type === "content_streaming").content, said)
    assert.strictEqual(events.find(({ type }) => type === "reasoning_streaming").content, said)
    assert.strictEqual(events.at(-1).content, thread.messages[1].content)
    const calls = await service.fetch("POST", "/threads/messages", {
      content: "?",
      stream: true,
      tools: [tool("weather")]
    })
    assert.notMatch(await calls.text(), /[\u0085\u2028\u2029]/u)
  })

  it("holds only events of the document, and ends with one terminal event", async () => {
    const calls = [think("hm"), say("Let me", " look."), callTool("weather", {})]
    await using service = await open([calls, say("Sunny.")])
    const first = await allEvents(await stream(service, { content: "?", tools: [tool("weather")] }))
    const { run_id, thread_id, tool_calls } = first.at(-1)?.data ?? {}
    const outputs = { tool_outputs: [{ tool_call_id: tool_calls[0].id, output: "sun" }] }
    const second = await allEvents(
      await stream(service, outputs, `/threads/${thread_id}/runs/${run_id}/submit-tool-outputs`)
    )
    const decode = Schema.decodeUnknownSync(StreamEvent, { onExcessProperty: "error" })
    for (const events of [first, second]) {
      assert.deepStrictEqual(
        events.map(isTerminal),
        events.map((_, index) => index === events.length - 1)
      )
      for (const { data, id } of events) {
        decode(data)
        assert.strictEqual(id, `${run_id}:${data.sequence}`)
      }
    }
  })

  it("goes on after a cut at any event, from memory and from the store", async () => {
    await using service = await open([[say("One, ", "two, "), gate(), say("three, ", "four.")]])
    const whole = await stream(service, { content: "Count" })
    const seen: Array<SseEvent> = []
    const reader = readEvents(whole)
    for await (const event of reader) {
      seen.push(event)
      if (told(seen) === "One, two, ") break
    }
    const live = await Promise.all(seen.map((event) => resume(service, event, "query")))
    await service.run(service.model.release())
    const rests = await Promise.all(live.map((response) => allEvents(response)))
    for (const [index, rest] of rests.entries()) {
      assert.strictEqual(told([...seen.slice(0, index + 1), ...rest]), "One, two, three, four.")
      assert.isTrue(isTerminal(rest.at(-1) ?? assert.fail("nothing came")))
    }
    const place = seen[0]?.place ?? assert.fail("nothing came")
    const all = [...seen, ...(rests.at(-1) ?? [])].map((event) => ({ ...event, place }))
    for (const [index, event] of all.entries()) {
      for (const how of ["header", "query"] as const) {
        const response = await resume(service, event, how)
        assert.strictEqual(response.status, isTerminal(event) ? 204 : 200)
        assert.deepStrictEqual(onTheWire(await allEvents(response)), onTheWire(all.slice(index + 1)))
      }
    }
    const { data } = all.at(-1) ?? assert.fail("nothing came")
    const thread = (await service.call("GET", `/threads/${data.thread_id}`)).body
    assert.strictEqual(thread.messages[1].content, told(all))
  })

  it("goes on through the legs of a run, one at a time", async () => {
    await using service = await open([[say("Look."), callTool("weather", {})], say("Sunny.")])
    const first = await allEvents(await stream(service, { content: "?", tools: [tool("weather")] }))
    const end = first.at(-1) ?? assert.fail("nothing came")
    assert.strictEqual((await resume(service, end, "header")).status, 204)
    const outputs = {
      thread_id: end.data.thread_id,
      tool_outputs: [{ tool_call_id: end.data.tool_calls[0].id, output: "x" }]
    }
    const second = await allEvents(await stream(service, outputs, "/threads/tool-outputs"))
    const begin = first[0] ?? assert.fail("nothing came")
    assert.deepStrictEqual(
      onTheWire(await allEvents(await resume(service, begin, "header"))),
      onTheWire(first.slice(1))
    )
    assert.deepStrictEqual(onTheWire(await allEvents(await resume(service, end, "header"))), onTheWire(second))
  })

  it("takes the newer of address and header, and no event of another run", async () => {
    await using service = await open([say("One")])
    const all = await allEvents(await stream(service, { content: "?" }))
    const { run_id, sequence, thread_id } = all[1]?.data ?? {}
    const path = `/threads/${thread_id}/runs/${run_id}/events?after=0`
    const get = (id: string) => service.call("GET", path, undefined, { headers: { "last-event-id": id } })
    assert.notInclude((await get(`${run_id}:${sequence}`)).text, "user_message")
    assert.notInclude((await get(String(sequence))).text, "user_message")
    for (const id of ["other:1", "x", "-1", ":", `${run_id}:`]) assert.strictEqual((await get(id)).status, 422)
  })

  it("writes a comment at the start and after every quarter of a minute of silence", async () => {
    await using service = await open([[gate(), say("Hi"), gate("second")]], { extra: TestClock.layer() })
    const response = await stream(service, { content: "?" })
    const reader = response.body?.getReader() ?? assert.fail("no body")
    const decoder = new TextDecoder()
    const read = async () => decoder.decode((await reader.read()).value)
    const pass = (time: string) => service.run(TestClock.adjust(time as "1 second"))
    assert.strictEqual(await read(), ": ping\n\n")
    assert.include(await read(), "run_started")
    await service.run(service.model.reached())
    const next = read()
    await pass("14 seconds")
    await pass("1 second")
    assert.strictEqual(await next, ": ping\n\n")
    const after = read()
    await pass("10 seconds")
    await service.run(service.model.release())
    assert.include(await after, "content_streaming")
    const last = read()
    await pass("14 seconds")
    await service.call("GET", "/threads")
    assert.strictEqual(await Promise.race([last, Promise.resolve("nothing yet")]), "nothing yet")
    await pass("1 second")
    assert.strictEqual(await last, ": ping\n\n")
    await service.run(service.model.release("second"))
    assert.include(await read(), "run_ended")
  })

  it("is not begun when the turn is refused", async () => {
    await using service = await open([])
    for (const [path, body] of [
      ["/threads/messages", { content: "" }],
      ["/threads/messages", { content: "x", llm_provider: "nobody" }],
      ["/threads/tool-outputs", { thread_id: "00000000-0000-0000-0000-000000000000", tool_outputs: [] }]
    ] as const) {
      const response = await stream(service, body, path)
      assert.strictEqual(response.headers.get("content-type"), "application/json")
      assert.isAtLeast(response.status, 400)
    }
  })

  it("is held back by its reader, and the run is not", async () => {
    const deltas = Array.from({ length: 5000 }, (_, index) => `${index} `)
    await using service = await open([say(...deltas)])
    const response = await stream(service, { content: "Count" })
    const reader = response.body?.getReader() ?? assert.fail("no body")
    await reader.read()
    const [thread] = await settled(service)
    assert.strictEqual(thread.messages[1].content, deltas.join(""))
    await reader.cancel()
  })

  it("may be left, and the run goes on", async () => {
    await using service = await open([[say("One, "), gate(), say("two.")]])
    const leave = new AbortController()
    const response = await service.fetch(
      "POST",
      "/threads/messages",
      { content: "?", stream: true },
      { signal: leave.signal }
    )
    await response.body?.getReader().read()
    await service.run(service.model.reached())
    leave.abort()
    await service.run(service.model.release())
    const [thread] = await settled(service)
    assert.strictEqual(thread.messages[1].content, "One, two.")
    assert.strictEqual(service.model.interrupted(), 0)
  })

  it("of a client who did not wait for his reply leaves a finished run as well", async () => {
    await using service = await open([[gate(), say("Done.")]])
    const leave = new AbortController()
    const answer = service.fetch("POST", "/threads/messages", { content: "?" }, { signal: leave.signal })
    await service.run(service.model.reached())
    leave.abort()
    await answer
    await service.run(service.model.release())
    const [thread] = await settled(service)
    assert.strictEqual(thread.messages[1].content, "Done.")
  })
})

/** The owner's threads when his run has ended. */
const settled = async (service: Service) => {
  const [thread] = (await service.call("GET", "/threads")).body
  await service.call("GET", `/threads/${thread.thread_id}/runs/${thread.messages[0].run_id}/events`)
  return (await service.call("GET", "/threads")).body
}
