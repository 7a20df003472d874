/** What an answer was given and what it cites of that, over the whole surface, on every store. The pages of a file end with a form feed. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, gate, say, sayInChunks } from "@colloquy/testing"
import { unknownPosition } from "@colloquy/core/retrieval"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { uiMessages } from "../src/ai-sdk/index.ts"
import { openBoth } from "./DeletedTexts.ts"
import { fileForm, readText } from "./DocumentService.ts"
import { allEvents, readEvents, type Service, type SseEvent, tool } from "./Service.ts"
import { until } from "../../../test/until.ts"

const pages: typeof readText = (file) =>
  Effect.map(readText(file), (sections) =>
    sections.flatMap(({ text }) =>
      text
        .split("\f")
        .map((page, index) => ({ ...unknownPosition, form: "prose" as const, text: page, page: index + 1 }))
    )
  )

const holidays = "The table of contents.\fHolidays are thirty days a year. [d2]\n"
const hours = "The holidays of the harbour: it closes at nine."
const question = "Are holidays thirty days a year, and does the harbour close at nine for holidays?"

export const citations = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let shared: Layer.Layer<InMemory.Stores>
  beforeAll(async () => {
    runtime = ManagedRuntime.make(stores)
    shared = Layer.succeedContext(await runtime.context())
  }, 60_000)
  afterAll(() => runtime.dispose())

  const open = (steps: Parameters<typeof openBoth>[1], excerpts: "recall" | "tool" = "recall") =>
    openBoth(shared, steps, excerpts, undefined, pages)

  /** An assistant with two files of one name. */
  const prepare = async (service: Service) => {
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const ids: Array<string> = []
    for (const text of [holidays, hours]) {
      const form = fileForm({ file: new File([text], "rules [d9].txt") })
      const { document_id } = (await service.call("POST", `/assistants/${assistant_id}/documents`, form)).body
      ids.push(document_id)
      await until(
        async () => (await service.call("GET", `/documents/${document_id}/status`)).body.status !== "processing"
      )
    }
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    return { assistant_id, ids, thread: `/threads/${thread_id}` }
  }

  const said = "Thirty [d1]. At nine [d2, d7] in 20 [m2] [d9].\n\n`[d8]` stays."
  const content = "Thirty [d1]. At nine [d2] in 20 [m2].\n\n`[d8]` stays."

  it("names each excerpt and each citation, in replies, streams, stored answers and chats, until a document is deleted", async () => {
    await using service = await open([sayInChunks(said, 3), sayInChunks(said, 3)])
    await using other = await open([])
    const { ids, thread } = await prepare(service)
    const { body: reply } = await service.call("POST", `${thread}/messages`, { content: question })
    assert.deepInclude(reply, { content, citations_dropped: 2 })
    const cited = reply.citations.map(({ end, index, start }: Record<string, number>) => [
      index,
      content.slice(start, end)
    ])
    assert.deepStrictEqual(cited, [
      [0, "[d1]"],
      [1, "[d2]"]
    ])
    assert.sameMembers(
      reply.retrieved.map(({ document_id }: Record<string, string>) => document_id),
      ids
    )
    for (const { document_id, end, filename, page, score, start, text } of reply.retrieved) {
      const isHolidays = document_id === ids[0]
      assert.deepStrictEqual([filename, page], ["rules [d9].txt", isHolidays ? 2 : 1])
      const whole = isHolidays ? holidays.replace("\f", "\n\n") : hours
      assert.strictEqual(text, whole.slice(start, end))
      assert.isAbove(score, 0)
    }
    const asked = JSON.stringify(service.model.requests[0]?.messages)
    assert.match(asked, /\\n\[d1\] \[rules \(d9\)\.txt, page \d\]\\n/u)
    assert.include(asked, "like [d1].")

    const events = await allEvents(
      await service.fetch("POST", `${thread}/messages`, { content: question, stream: true })
    )
    const deltas = events.map(({ data }) => (data.type === "content_streaming" ? data.content : "")).join("")
    assert.strictEqual(deltas, said)
    const { citations: found, citations_dropped, retrieved } = reply
    const fields = { content, citations: found, citations_dropped, retrieved }
    assert.deepInclude(events.at(-1)?.data, fields)
    const messages = async (from: Service) => (await from.call("GET", thread)).body.messages
    for (const answer of [(await messages(service))[1], (await messages(other))[3]]) assert.deepInclude(answer, fields)

    const parts = uiMessages((await other.call("GET", thread)).body)[1]?.parts ?? []
    const sources = parts.flatMap((part) => (part.type === "source-document" ? [part] : []))
    assert.deepStrictEqual(
      sources.map(({ sourceId, title }) => [sourceId, title]),
      retrieved.map(({ page }: { page: number }, index: number) => [`d${index + 1}`, `rules [d9].txt, page ${page}`])
    )
    assert.deepInclude(sources[0]?.providerMetadata?.["colloquy"], { text: retrieved[0].text, cited: [[7, 11]] })

    await service.call("DELETE", `/documents/${ids[0]}`)
    const last = events.at(-1)?.data
    const again = await allEvents(await other.fetch("GET", `${thread}/runs/${last.run_id}/events`))
    const left = [again.at(-1)?.data, (await messages(service))[1], (await messages(other))[3]]
    for (const each of left) {
      assert.deepStrictEqual(
        each.retrieved,
        retrieved.map((one: { document_id: string }) => (one.document_id === ids[0] ? { ...one, text: null } : one))
      )
      assert.deepStrictEqual(each.citations, found)
    }
  })

  it("is the same for each answer of a run with tools, and for what was said before a run is cancelled", async () => {
    const steps = [
      [say("Look [d1] [d5]."), callTool("weather", {})],
      say("Nine [d2]."),
      [say("Nine [d1] [d8]"), gate(), say("never")]
    ]
    await using service = await open(steps)
    const { thread } = await prepare(service)
    const body = { content: question, tools: [tool("weather")] }
    const first = (await service.call("POST", `${thread}/messages`, body)).body
    assert.deepInclude(first, { status: "REQUIRES_ACTION", content: "Look [d1].", citations_dropped: 1 })
    const outputs = { tool_outputs: [{ tool_call_id: first.tool_calls[0].id, output: "sun" }] }
    const path = `${thread}/runs/${first.run_id}/submit-tool-outputs`
    const next = (await service.call("POST", path, outputs)).body
    assert.deepInclude(next, { content: "Nine [d2].", retrieved: first.retrieved, citations_dropped: 0 })
    assert.deepStrictEqual(next.citations, [{ index: 1, start: 5, end: 9 }])
    const shown = uiMessages((await service.call("GET", thread)).body)
    assert.lengthOf(shown[1]?.parts.filter(({ type }) => type === "source-document") ?? [], 2)

    const begun = readEvents(await service.fetch("POST", `${thread}/messages`, { content: question, stream: true }))
    const { data } = (await begun.next()).value as SseEvent
    await service.run(service.model.reached())
    await service.call("POST", `${thread}/runs/${data.run_id}/cancel`)
    const events: Array<SseEvent> = []
    for await (const event of begun) events.push(event)
    assert.deepInclude(events.at(-1)?.data, { type: "run_cancelled", content: "Nine [d1]" })
    const { messages } = (await service.call("GET", thread)).body
    assert.deepInclude(messages.at(-1), { status: "CANCELLED", content: "Nine [d1]", retrieved: first.retrieved })
    assert.deepStrictEqual(messages.at(-1).citations, [{ index: 0, start: 5, end: 9 }])
  })

  it("numbers what a search tool finds through all its calls, each excerpt once", async () => {
    const search = (query: string) => callTool("search_documents", { query })
    const steps = [search("closes at nine"), search(question), say("[d1][d2][d3]")]
    await using service = await open(steps, "tool")
    const { ids, thread } = await prepare(service)
    const { body } = await service.call("POST", `${thread}/messages`, { content: question })
    assert.deepInclude(body, { content: "[d1][d2]", citations_dropped: 1 })
    assert.deepStrictEqual(
      body.retrieved.map(({ document_id, index }: Record<string, unknown>) => [index, document_id]),
      [
        [0, ids[1]],
        [1, ids[0]]
      ]
    )
    const read = JSON.stringify(service.model.requests.at(-1)?.messages)
    assert.strictEqual(read.split("\\n[d1] [rules").length, 3)
  })

  it("touches nothing where nothing was retrieved, where it is off, and where the answer has a schema", async () => {
    const answer = "None [d1] [d9]"
    const steps = [say(answer), say(answer), say(`{"a":"x [d9]"}`), say(answer)]
    await using service = await open(steps)
    const { thread } = await prepare(service)
    const send = async (body: object) => (await service.call("POST", `${thread}/messages`, body)).body
    const nothing = await send({ content: "Quantum?" })
    assert.strictEqual(nothing.content, answer)
    for (const field of ["citations", "citations_dropped", "retrieved"]) assert.notProperty(nothing, field)
    const off = await send({ content: question, citations: false })
    const output_schema = { type: "object", properties: { a: { type: "string" } } }
    const object = await send({ content: question, output_schema, citations: true })
    assert.deepInclude(object, { content: `{"a":"x [d9]"}`, output: { a: "x [d9]" } })
    assert.deepInclude(object.ignored_options, { option: "citations", because: "the answer is JSON of a schema" })
    assert.strictEqual(off.content, answer)
    for (const each of [off, object]) {
      assert.lengthOf(each.retrieved, 2)
      assert.notProperty(each, "citations")
    }
    for (const { messages } of service.model.requests) assert.notInclude(JSON.stringify(messages), "[d1] [rules")
    const form = new FormData()
    form.set("content", question)
    form.set("citations", "false")
    assert.notProperty((await service.call("POST", `${thread}/messages`, form)).body, "citations")
    const wrong = await service.call("POST", `${thread}/messages`, { content: "?", citations: "no" })
    assert.deepStrictEqual([wrong.status, wrong.body.detail[0].loc], [422, ["body", "citations"]])
  })

  it("cites memories beside excerpts", async () => {
    await using service = await open([say("Rain [m1], nine [d1], [m7].")])
    const { assistant_id, thread } = await prepare(service)
    await service.call("POST", `/assistants/${assistant_id}/memories`, { content: "The user lives at the harbour." })
    const body = { content: question, memory: "Readonly", memory_response_citation: true }
    const reply = (await service.call("POST", `${thread}/messages`, body)).body
    assert.deepInclude(reply, { content: "Rain [m1], nine [d1],.", citations_dropped: 1 })
    assert.deepStrictEqual(reply.citations, [
      { index: 0, start: 5, end: 9, kind: "memory" },
      { index: 0, start: 16, end: 20 }
    ])
    assert.isTrue(reply.retrieved_memories[0].cited)
  })
}
