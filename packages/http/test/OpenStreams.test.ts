/** Streams have their place before anything is stored, and give it back. */
import { gate, say, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { agUi } from "../src/ag-ui/index.ts"
import { openai } from "../src/openai/index.ts"
import { OpenStreams } from "../src/streams/OpenStreams.ts"
import { allEvents, type Call, keys, open, readEvents, type Service, type ServiceOptions } from "./Service.ts"

/** The streams of a process are counted together: here they are counted without those that tests of other files have left open. */
const openAlone = (steps: ReadonlyArray<ScriptStep>, http: ServiceOptions["http"]) =>
  open(steps, { http: { ...http }, extra: Layer.succeed(OpenStreams, OpenStreams.defaultValue()) })

const bob: Call = { key: keys.bob }

const opened = async (service: Service, call?: Call) => {
  const events = readEvents(await service.fetch("POST", "/threads/messages", { content: "Talk", stream: true }, call))
  const { value: begun } = await events.next()
  return { events, path: `/threads/${begun?.data.thread_id}/runs/${begun?.data.run_id}/events` }
}

const noPlace = [503, "5"]
const refusal = ({ headers, status }: Response) => [status, headers.get("retry-after")]

describe("streams at once", () => {
  it("are refused with 503 before anything is stored, on every way to a stream", async () => {
    await using service = await openAlone([[gate(), say("Yes.")]], { streams: 1, wings: [openai, agUi] })
    const { events, path } = await opened(service)
    await service.run(service.model.reached())
    const before = await service.call("GET", "/threads")
    const message = { content: "Talk", stream: true }
    const [{ assistant_id, thread_id }] = before.body
    const said = { model: "scripted/scripted-model", stream: true }
    const run = { threadId: thread_id, runId: "r", messages: [{ id: "m", role: "user", content: "?" }], state: {} }
    const ways = [
      service.fetch("POST", "/threads/messages", message),
      service.fetch("POST", `/threads/${thread_id}/messages`, message),
      service.fetch("GET", path),
      service.fetch("GET", "/runs/events"),
      service.fetch("POST", "/v1/chat/completions", { ...said, messages: [{ role: "user", content: "?" }] }),
      service.fetch("POST", "/v1/responses", { ...said, input: "?" }),
      service.fetch("POST", `/ag-ui/${assistant_id}`, { ...run, tools: [], context: [], forwardedProps: {} })
    ]
    for (const answer of await Promise.all(ways)) assert.deepStrictEqual(refusal(answer), noPlace)
    assert.deepStrictEqual((await service.call("GET", "/threads")).body, before.body)
    assert.lengthOf(service.model.requests, 1)
    await service.run(service.model.release())
    for await (const event of events) void event
    const again = await service.fetch("GET", path)
    assert.strictEqual(again.status, 200)
    await allEvents(again)
  })

  it("give their place back when the client leaves and when the request is refused", async () => {
    await using service = await openAlone([say("Yes.")], { streams: 1 })
    const inbox = (await service.fetch("GET", "/runs/events")).body?.getReader()
    await inbox?.read()
    await inbox?.cancel()
    const missing = "/threads/00000000-0000-7000-8000-000000000000/messages"
    assert.strictEqual((await service.fetch("POST", missing, { content: "?", stream: true })).status, 404)
    const answer = await service.fetch("POST", "/threads/messages", { content: "Talk", stream: true })
    assert.strictEqual(answer.status, 200)
    await allEvents(answer)
  })

  it("of one owner leave as many for all others", async () => {
    const steps = [
      [gate(), say("Yes.")],
      [gate(), say("Yes.")]
    ]
    await using service = await openAlone(steps, { streams: 4 })
    const own = await opened(service)
    const followed = await service.fetch("GET", own.path)
    assert.strictEqual(followed.status, 200)
    assert.deepStrictEqual(refusal(await service.fetch("GET", own.path)), noPlace)
    const other = await opened(service, bob)
    assert.deepStrictEqual(refusal(await service.fetch("GET", other.path, undefined, bob)), noPlace)
    await service.run(service.model.release())
    await service.run(service.model.release())
    for (const events of [own.events, readEvents(followed), other.events]) for await (const event of events) void event
  })
})
