/** Whatever is sent to OpenAI's endpoints is answered in OpenAI's form, with a status of the client's making, and leaves nothing behind. */
import { say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { openai } from "../../src/openai/index.ts"
import { keys, open } from "../Service.ts"

const model = "scripted/scripted-model"
const user = (content: unknown) => ({ model, messages: [{ role: "user", content }] })
const picture = (url: unknown) => user([{ type: "image_url", image_url: { url } }])
const id = `resp_${"0".repeat(64)}`

const bodies: ReadonlyArray<unknown> = [
  "",
  "{",
  "[]",
  "null",
  "1",
  '"x"',
  "[".repeat(500),
  {},
  { model },
  { model: 1, messages: [] },
  { model: "", messages: [{ role: "user", content: "x" }] },
  { model: "a".repeat(100_000), messages: [{ role: "user", content: "x" }] },
  { model: "/x", messages: [{ role: "user", content: "x" }] },
  { model: "x/", messages: [{ role: "user", content: "x" }] },
  { model: "__proto__/constructor", messages: [{ role: "user", content: "x" }] },
  user(null),
  user(1),
  user(""),
  user([]),
  user([null]),
  user([{ type: "text" }]),
  user([{ type: "nothing", text: "x" }]),
  picture(null),
  picture(""),
  picture("javascript:alert(1)"),
  picture("data:image/png;base64,"),
  picture("data:image/png;base64,A"),
  picture("data:image/png;base64,AB=C"),
  picture("data:text/html;base64,AAAA"),
  user([{ type: "input_audio", input_audio: { data: "A", format: "wav" } }]),
  { model, messages: [{ role: "assistant", content: "x" }] },
  {
    model,
    messages: [
      { role: "assistant", content: "x", tool_calls: [{ id: "a" }] },
      { role: "user", content: "x" }
    ]
  },
  { model, messages: [{ role: "tool", tool_call_id: "a", content: "x" }] },
  { model, messages: { role: "user", content: "x" } },
  { ...user("x"), stream: "yes" },
  { ...user("x"), tools: {} },
  { ...user("x"), tools: [{ type: "function", function: { name: "a b" } }] },
  {
    ...user("x"),
    tools: [
      { type: "function", function: { name: "a" } },
      { type: "function", function: { name: "a" } }
    ]
  },
  { ...user("x"), response_format: { type: "xml" } },
  { ...user("x"), n: 0 },
  { ...user("x"), metadata: [] },
  { ...user("x"), tool_choice: { type: "custom", custom: { name: "a" } } }
]

const responses: ReadonlyArray<unknown> = [
  { model, input: null },
  { model, input: [] },
  { model, input: "" },
  { model, input: 1 },
  { model, input: [{ type: "item_reference", id: "msg_1" }] },
  { model, input: [{ type: "function_call", call_id: "a", name: "x", arguments: "{}" }] },
  { model, input: "x", conversation: "conv_1" },
  { model, input: "x", conversation: { id: 1 } },
  { model, input: "x", previous_response_id: "" },
  { model, input: "x", previous_response_id: id },
  { model, input: "x", text: { format: { type: "xml" } } },
  { model, input: "x", prompt: { id: "p" } },
  { model, input: "x", background: true, store: false }
]

describe("OpenAI's endpoints", () => {
  it("refuse junk in OpenAI's form, and nothing of it stays", async () => {
    await using service = await open([], { http: { wings: [openai] } })
    const calls: ReadonlyArray<readonly [string, string, unknown?]> = [
      ...bodies.map((body) => ["POST", "/v1/chat/completions", body] as const),
      ...[...bodies.filter((body) => typeof body === "string" && body !== ""), ...responses].map(
        (body) => ["POST", "/v1/responses", body] as const
      ),
      ["POST", "/v1/conversations", { items: [{ role: "user", content: 1 }] }],
      ["POST", "/v1/conversations", { metadata: { assistant_id: "x" } }],
      ["POST", "/v1/conversations", { metadata: { assistant_id: "00000000-0000-0000-0000-000000000000" } }],
      ["POST", "/v1/conversations/conv_1", {}],
      ["DELETE", "/v1/conversations/conv_1"],
      ["GET", `/v1/responses/${id}`],
      ["DELETE", `/v1/responses/${id}`],
      ["POST", `/v1/responses/${id}/cancel`],
      ["GET", "/v1/models/%00"],
      ["GET", "/v1/models/nothing"],
      ["POST", "/v1/embeddings", {}],
      ["GET", "/v1"],
      ["PUT", "/v1/chat/completions", {}]
    ]
    for (const [method, path, body] of calls) {
      const headers = typeof body === "string" ? { "content-type": "application/json" } : {}
      const answer = await service.call(method, path, body, { headers })
      const what = `${method} ${path} ${JSON.stringify(body)?.slice(0, 100)}: ${answer.status} ${answer.text.slice(0, 300)}`
      assert.isAtLeast(answer.status, 400, what)
      assert.isBelow(answer.status, 500, what)
      assert.isString(answer.body?.error?.message, what)
      assert.isAbove(answer.body.error.message.length, 5, what)
      assert.hasAllKeys(answer.body.error, ["message", "type", "param", "code"], what)
    }
    assert.lengthOf((await service.call("GET", "/threads")).body, 0)
    assert.lengthOf((await service.call("GET", "/assistants")).body, 0)
    for (const headers of [
      {},
      { authorization: "Bearer " },
      { authorization: "Basic eA==" },
      { "x-api-key": "wrong" }
    ]) {
      const answer = await service.call("GET", "/v1/models", undefined, { key: null, headers })
      assert.deepStrictEqual([answer.status, answer.body.error.code], [401, "invalid_api_key"])
    }
  })

  it("name an option that they do not know, and take no effort that has the name of a member of every object", async () => {
    await using service = await open([say("1"), say("2")], { http: { wings: [openai] } })
    for (const reasoning_effort of ["constructor", "__proto__"]) {
      const answer = await service.call("POST", "/v1/chat/completions", { ...user("x"), reasoning_effort, toString: 1 })
      assert.deepStrictEqual([answer.status, answer.headers.get("x-ignored-options")], [200, "toString"])
      assert.isNull(service.model.requests.at(-1)?.thinking)
    }
  })

  it("answer HEAD as they answer GET", async () => {
    await using service = await open([], { http: { wings: [openai] } })
    for (const path of ["/v1/models", "/v1/models/nothing", `/v1/responses/${id}`, "/v1/nothing"]) {
      const [get, head] = [await service.call("GET", path), await service.call("HEAD", path)]
      assert.deepStrictEqual([head.status, head.text], [get.status, ""], path)
      assert.strictEqual(head.headers.get("content-length"), get.headers.get("content-length"), path)
    }
  })

  it("are there only where the host mounts them, and under its path", async () => {
    await using without = await open([])
    assert.strictEqual((await without.call("GET", "/v1/models")).status, 404)
    await using under = await open([say("Hi.")], { http: { wings: [openai], basePath: "/ai" } })
    assert.strictEqual((await under.call("GET", "/v1/models")).status, 404)
    const headers = { authorization: `Bearer ${keys.ada}` }
    const answer = await under.call("POST", "/ai/v1/chat/completions", user("Hi"), { key: null, headers })
    assert.strictEqual(answer.body.choices[0].message.content, "Hi.")
  })

  it("say that a conversation is too long for its model", async () => {
    await using service = await open([], { http: { wings: [openai] }, model: { info: { contextLimit: 1000 } } })
    const messages = [
      user("word ".repeat(2000)).messages[0],
      { role: "assistant", content: "?" },
      user("x").messages[0]
    ]
    const { body, status } = await service.call("POST", "/v1/chat/completions", { model, messages })
    assert.deepStrictEqual([status, body.error.code], [400, "context_length_exceeded"])
  })

  it("refuse pictures for a model that takes none", async () => {
    await using service = await open([], { http: { wings: [openai] }, model: { info: { supportsVision: false } } })
    const { body, status } = await service.call(
      "POST",
      "/v1/chat/completions",
      picture("https://pictures.example/a.png")
    )
    assert.strictEqual(status, 400)
    assert.match(body.error.message, /does not take pictures/u)
  })
})
