/** Lists of threads with their messages, byte for byte the records that the checked way makes, on every store. */
import { callTool, say } from "@colloquy/testing"
import type { InMemory } from "@colloquy/adapters/in-memory"
import { ThreadId, Threads } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { makeWings, ownWings } from "../src/wings/Wings.ts"
import { threadToWire } from "../src/encoding/Encode.ts"
import { keys, open, type Service, tool } from "./Service.ts"

const wings = makeWings(ownWings, String, () => {})

/** Of threads without documents, whose addresses would differ from service to service. */
const threadRecords = (service: Service, ids: ReadonlyArray<string>) =>
  service.run(
    Effect.forEach(ids, (id) =>
      Effect.map(
        Threads.use((threads) => threads.get(ThreadId.make(id))),
        (found) => threadToWire(found, wings)
      )
    ),
    "ada"
  )

export const threadLists = (stores: () => Layer.Layer<InMemory.Stores>): void => {
  it("a thread is written as its records are, whatever its messages hold", async () => {
    const steps = [say("Plain."), callTool("weather", {}), say("It is sunny."), say('"quoted" \\ \0 \ud800 Grüße')]
    await using service = await open(steps, { stores: stores() })
    const first = await service.call("POST", "/threads/messages", { content: "Hello" })
    const { assistant_id, thread_id } = first.body
    const path = `/threads/${thread_id}`
    const asked = await service.call("POST", `${path}/messages`, { content: "?", tools: [tool("weather")] })
    const outputs = [{ tool_call_id: asked.body.tool_calls[0].id, output: "sun" }]
    const submitted = `${path}/runs/${asked.body.run_id}/submit-tool-outputs`
    assert.strictEqual((await service.call("POST", submitted, { tool_outputs: outputs })).status, 200)
    const metadata = JSON.stringify({ supplements: { a: [] }, "1": null, z: '"},[]]' })
    await service.call("POST", `${path}/messages`, { content: "Say it", metadata })
    await service.call("POST", `${path}/messages`, { content: "Only kept", send_to_llm: false, metadata })
    const other = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body.thread_id

    const [one, empty] = await threadRecords(service, [thread_id, other])
    assert.strictEqual(one?.messages.length, 8)
    const written = await service.call("GET", path)
    assert.strictEqual(written.text, JSON.stringify(one))
    assert.strictEqual(written.headers.get("content-type"), "application/json")
    const ofAssistant = `/assistants/${assistant_id}/threads`
    assert.strictEqual((await service.call("GET", ofAssistant)).text, JSON.stringify([one, empty]))
    assert.strictEqual((await service.call("GET", `${ofAssistant}?skip=1`)).text, JSON.stringify([empty]))
    const all = await service.call("GET", "/threads?limit=200")
    const ids: ReadonlyArray<string> = all.body.map((thread: { readonly thread_id: string }) => thread.thread_id)
    assert.includeMembers([...ids], [thread_id, other])
    assert.strictEqual(all.text, JSON.stringify(await threadRecords(service, ids)))
    const short = await service.call("GET", "/threads?limit=200&include_messages=false")
    assert.isTrue(
      short.body.every(({ messages }: { readonly messages: ReadonlyArray<unknown> }) => messages.length === 0)
    )
    const others = await service.call("GET", "/threads?limit=200", undefined, { key: keys.bob })
    assert.notInclude(others.text, thread_id)
    assert.strictEqual((await service.call("GET", path, undefined, { key: keys.bob })).status, 404)
  })

  it("a long thread is written whole, and its length is told before", async () => {
    await using service = await open([], { stores: stores() })
    const { thread_id } = (await service.call("POST", "/threads/messages", { content: "First", send_to_llm: false }))
      .body
    const path = `/threads/${thread_id}`
    for (let index = 0; index < 12; index++) {
      const content = `${index} ${"häß👩‍👩‍👧\ud800 ".repeat(1000)}`
      await service.call("POST", `${path}/messages`, { content, send_to_llm: false })
    }
    const [record] = await threadRecords(service, [thread_id])
    const written = await service.call("GET", path)
    assert.strictEqual(written.text, JSON.stringify(record))
    const length = String(Buffer.byteLength(written.text))
    assert.strictEqual(written.headers.get("content-length"), length)
    const head = await service.call("HEAD", path)
    assert.deepStrictEqual([head.text, head.headers.get("content-length")], ["", length])
  })
}
