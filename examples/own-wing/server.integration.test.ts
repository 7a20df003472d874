/** A stranger's part over HTTP, in Express: its field, its event, its field of replies, its endpoint and its place in the description. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { app } from "./server.ts"

const listening = async () => {
  const server = createServer(app)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const call = (path: string, body?: unknown, method = body === undefined ? "GET" : "POST") =>
    fetch(`http://127.0.0.1:${port}/ai${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
    })
  return {
    call,
    read: async (path: string, body?: unknown) => JSON.parse(await (await call(path, body)).text()),
    [Symbol.asyncDispose]: async () =>
      void (await new Promise((resolve) => server.close(resolve).closeAllConnections()))
  }
}

describe("a wing of a host", () => {
  it("has a field of messages and of replies, an event, and an endpoint", async () => {
    await using host = await listening()
    const reply = await host.read("/threads/messages", { content: "count to 3", mood: "kind" })
    assert.deepStrictEqual([reply.status, reply.mood], ["COMPLETED", "kind"])
    const path = `/threads/${reply.thread_id}`
    const stream = await host.call(`${path}/messages`, { content: "count to 3", mood: "strict", stream: true })
    const events = (await stream.text()).split("\n").flatMap((line) => {
      return line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []
    })
    assert.strictEqual(events.find(({ type }) => type === "mood_set")?.mood, "strict")
    assert.strictEqual(events.at(-1).type, "run_ended")
    const { messages } = await host.read(path)
    assert.deepStrictEqual(
      messages.map((message: { mood?: string }) => message.mood),
      ["kind", undefined, "strict", undefined]
    )
    assert.deepStrictEqual(await host.read(`${path}/moods`), [{ mood: "kind" }, { mood: "strict" }])
  })

  it("refuses a value that its schema does not take, beside every other problem", async () => {
    await using host = await listening()
    const answer = await host.call("/threads/messages", { mood: "angry", memory: 1 })
    const { detail } = JSON.parse(await answer.text())
    const places = detail.map(({ loc }: { loc: ReadonlyArray<string> }) => loc.join("."))
    assert.strictEqual(answer.status, 422)
    assert.sameMembers(places, ["body.mood", "body.memory", "body.content"])
  })

  it("costs a message without its field nothing, and answers wrong addresses and methods as the API does", async () => {
    await using host = await listening()
    const reply = await host.read("/threads/messages", { content: "count to 3" })
    assert.notProperty(reply, "mood")
    const unknown = await host.call("/threads/00000000-0000-4000-8000-000000000000/moods")
    assert.strictEqual(unknown.status, 404)
    const wrong = await host.call(`/threads/${reply.thread_id}/moods`, undefined, "DELETE")
    assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD"])
  })

  it("stands in the description of the API", async () => {
    await using host = await listening()
    const { components, paths } = await host.read("/openapi.json")
    assert.deepStrictEqual(components.schemas.MessageRequest.properties.mood, {
      type: "string",
      enum: ["kind", "strict"]
    })
    for (const name of ["MessageResponse", "StoredMessage"])
      assert.deepStrictEqual(components.schemas[name].properties.mood.enum, ["kind", "strict"])
    assert.containsAllKeys(paths["/threads/{thread_id}/moods"].get.responses, ["200", "401", "404"])
    const { StreamEvent } = (await host.read("/asyncapi.json")).components.schemas
    assert.include(JSON.stringify(StreamEvent), '["mood_set"]')
  })

  it("is written in one file of forty lines", () => {
    const wing = readFileSync(new URL("Mood.ts", import.meta.url), "utf8")
    assert.isAtMost(wing.trim().split("\n").length, 40)
  })
})
