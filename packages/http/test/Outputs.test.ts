/** Schemas of answers over HTTP: refusals with their places, streams, forms, and chats of the AI SDK. */
import { say, sayInChunks } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { allEvents, open } from "./Service.ts"

const output_schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
const path = "/threads/messages"
const written = `{"name":"Ada Lovelace"}`

describe("a message with output_schema", () => {
  it("is streamed as an object that grows, with the whole one at the end", async () => {
    await using service = await open([sayInChunks(written, 4)])
    const events = await allEvents(await service.fetch("POST", path, { content: "?", output_schema, stream: true }))
    const partials = events.filter(({ data }) => data.type === "output_streaming").map(({ data }) => data.partial)
    assert.deepStrictEqual(partials.at(0), {})
    assert.deepStrictEqual(partials.at(-1), { name: "Ada Lovelace" })
    assert.deepInclude(events.at(-1)?.data, {
      type: "run_ended",
      output: { name: "Ada Lovelace" },
      output_method: "instructed",
      content: written
    })
  })

  it("fails in the stream with every problem", async () => {
    await using service = await open([say("{}"), say("[]")])
    const events = await allEvents(await service.fetch("POST", path, { content: "?", output_schema, stream: true }))
    const problems = [{ path: [], message: "must be an object, and is a list" }]
    assert.deepInclude(events.at(-1)?.data, { type: "run_failed", code: "output_invalid", detail: { problems } })
  })

  it("may come in a form", async () => {
    await using service = await open([say(written)])
    const form = new FormData()
    form.set("content", "?")
    form.set("output_schema", JSON.stringify(output_schema))
    form.set("output_name", "person")
    assert.deepInclude((await service.call("POST", path, form)).body, { output: { name: "Ada Lovelace" } })
  })

  it.each<[object, ReadonlyArray<string>]>([
    [{ output_schema: { properties: { a: { not: {} } } } }, ["output_schema.properties.a.not"]],
    [{ output_schema: { pattern: "(a)\\1" }, output_name: "two words" }, ["output_schema.pattern", "output_name"]],
    [{ output_schema, json_output: true }, ["json_output"]],
    [{ output_schema: "person" }, ["output_schema"]]
  ])("is refused where the schema cannot be checked: %j", async (fields, places) => {
    await using service = await open([])
    const { body, status } = await service.call("POST", path, { content: "?", ...fields })
    assert.strictEqual(status, 422)
    const detail: ReadonlyArray<{ readonly loc: ReadonlyArray<string> }> = body.detail
    const found = detail.map(({ loc }) => loc.slice(1, 5).join("."))
    assert.deepStrictEqual([...new Set(found)], places)
  })

  it("is not asked with typed questions as well", async () => {
    await using service = await open([])
    const system_one = { questions: { a: { type: "noul", instructions: "?", criteria: { true: "x", false: "y" } } } }
    const { body, status } = await service.call("POST", path, { content: "?", output_schema, system_one })
    assert.strictEqual(status, 422)
    assert.include(JSON.stringify(body), "A message has an output_schema or system_one, not both.")
  })

  it("tells a name without a schema as ignored", async () => {
    await using service = await open([say("Hi")])
    const { body } = await service.call("POST", path, { content: "?", output_name: "person" })
    assert.notProperty(body, "output")
    const run = (await service.call("GET", `/threads/${body.thread_id}/runs/${body.run_id}`)).body
    assert.include(JSON.stringify(run), "output_name")
  })
})
