/** What the API tells beyond the specification for those who look at it: the inside of a run, a thread's own title, what is installed. */
import { callTool, say, TestKernel, uses } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { connect } from "../src/client/Client.ts"
import { webHandler } from "../src/WebHandler.ts"
import { keys, open } from "./Service.ts"

const tool = { type: "function", function: { name: "get_weather", parameters: { type: "object", properties: {} } } }

describe("GET /threads/{t}/runs/{r}/inspection", () => {
  it("tells steps with times and tokens, and the prompt part by part; to the owner alone", async () => {
    await using service = await open([[say("Hello."), uses({ inputTokens: 5, outputTokens: 2 })]])
    const { body: sent } = await service.call("POST", "/threads/messages", { content: "Hi", system_prompt: "Be kind." })
    const path = `/threads/${sent.thread_id}/runs/${sent.run_id}/inspection`
    const { body, status } = await service.call("GET", path)
    assert.strictEqual(status, 200)
    const steps = body.steps.filter(({ kind }: { readonly kind: string }) => kind !== "queue")
    assert.deepStrictEqual(
      steps.map(({ kind }: { readonly kind: string }) => kind),
      ["recall", "model", "settle"]
    )
    const [, model] = steps
    assert.deepInclude(model, { input_tokens: 5, output_tokens: 2, cost_usd: null, tool_call_id: null })
    assert.isAtLeast(Date.parse(model.ended_at), Date.parse(model.started_at))
    assert.deepStrictEqual(
      body.prompts[0].parts.map(({ messages, part }: { readonly messages: unknown; readonly part: string }) => [
        part,
        messages
      ]),
      [
        ["system", [{ role: "system", text: "Be kind." }]],
        ["tools", []],
        ["history", []],
        ["turn", [{ role: "user", text: "Hi" }]]
      ]
    )
    assert.lengthOf(body.prompts, 1)
    assert.strictEqual(body.prompts[0].input_tokens, 5)
    assert.strictEqual((await service.call("GET", path, undefined, { key: keys.bob })).status, 404)
    const client = await connect({ baseUrl: "http://in.process", apiKey: keys.ada, handler: service.handler })
    assert.deepStrictEqual<unknown>(await client.runs.inspect(sent.thread_id, sent.run_id), body)
  })

  it("tells a run that waits for its client", async () => {
    await using service = await open([callTool("get_weather", {})])
    const { body: sent } = await service.call("POST", "/threads/messages", { content: "Hi", tools: [tool] })
    const { body } = await service.call("GET", `/threads/${sent.thread_id}/runs/${sent.run_id}/inspection`)
    assert.deepStrictEqual(
      body.steps.map(({ kind }: { readonly kind: string }) => kind).filter((kind: string) => kind !== "queue"),
      ["recall", "model"]
    )
  })
})

it("is not there where the host has not installed it", async () => {
  const { dispose, handler } = webHandler({ kernel: TestKernel.layer([]), authenticate: () => "ada" })
  const response = await handler(
    new Request(`http://service/threads/${crypto.randomUUID()}/runs/${crypto.randomUUID()}/inspection`, {
      headers: { "X-API-Key": "k" }
    })
  )
  await dispose()
  assert.strictEqual(response.status, 501)
})

describe("a stored message", () => {
  it("has the calls that the server ran itself, with what came of them", async () => {
    await using service = await open([callTool("no_such_tool", { city: "Oslo" }), say("Sorry.")])
    const { body: sent } = await service.call("POST", "/threads/messages", { content: "Hi" })
    const { body: thread } = await service.call("GET", `/threads/${sent.thread_id}`)
    const [call] = thread.messages.at(-1).metadata_.hosted_calls
    assert.deepInclude(call, {
      tool_name: "no_such_tool",
      arguments: '{"city":"Oslo"}',
      output: 'Error: there is no tool named "no_such_tool".'
    })
    assert.isNull(thread.messages[0].metadata_)
  })
})

describe("PUT /threads/{t}", () => {
  it("sets fields of the metadata and leaves the others", async () => {
    await using service = await open([])
    const { body: assistant } = await service.call("POST", "/assistants", { name: "a" })
    const made = await service.call("POST", `/assistants/${assistant.assistant_id}/threads`, {
      metadata: { title: "old", kept: 1 }
    })
    const path = `/threads/${made.body.thread_id}`
    const { body, status } = await service.call("PUT", path, { metadata: { title: "new" } })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(body, { ...made.body, metadata_: { title: "new", kept: 1 } })
    assert.deepStrictEqual((await service.call("GET", path)).body.metadata_, { title: "new", kept: 1 })
    assert.strictEqual((await service.call("PUT", path, { metadata: "x" })).status, 422)
    assert.strictEqual((await service.call("PUT", path, { metadata: {} }, { key: keys.bob })).status, 404)
    const unknown = `/threads/${crypto.randomUUID()}`
    assert.strictEqual((await service.call("PUT", unknown, { metadata: {} })).status, 404)
  })
})

describe("GET /capabilities", () => {
  it("tells what the host has installed", async () => {
    await using service = await open([])
    const { body, status } = await service.call("GET", "/capabilities")
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(body, {
      typed_answers: false,
      documents: false,
      memory: false,
      web_search: false,
      image_generation: false,
      video_generation: false,
      voice: false,
      evals: false
    })
    assert.strictEqual((await service.call("GET", "/capabilities", undefined, { key: null })).status, 401)
  })
})
