/** The guard over HTTP: whatever a client reads or sends, what it redacts is nowhere. */
import { chatRoute } from "@colloquy/http/ai-sdk"
import { expect, sayInChunks, say, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { service } from "./service.ts"

const answer = "Write to ada@example.org. The key is sk-12345678, and that is all."
const redacted = "Write to [removed]. The key is [removed], and that is all."
const question = "I am eve@example.org, my key is sk-87654321."

const open = (...script: ReadonlyArray<ScriptStep>) => {
  const { dispose, handler } = service(script)
  const call = async (path: string, body?: unknown) => {
    const request = new Request(`http://localhost/ai${path}`, {
      method: body === undefined ? "GET" : "POST",
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
    })
    return (await handler(request)).text()
  }
  return { call, handler, [Symbol.asyncDispose]: dispose }
}

/** The JSON texts of a stream of server-sent events. */
const events = (stream: string) =>
  stream.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []))

const hidden = (text: string) => assert.notMatch(text, /@example|sk-\d/u)

describe("the redacting guard", () => {
  it("redacts a streamed answer however the provider splits it, and everything that is read later", async () => {
    await using ai = open(sayInChunks(answer, 1))
    const stream = await ai.call("/threads/messages", { content: question, stream: true })
    hidden(stream)
    const told = events(stream)
    const deltas = told.flatMap((event) => (event.type === "content_streaming" ? [event.content] : []))
    assert.strictEqual(deltas.join(""), redacted)
    assert.isAbove(deltas.length, 1)
    const end = told.at(-1)
    assert.deepInclude(end, { type: "run_ended", content: redacted })
    const thread = await ai.call(`/threads/${end.thread_id}`)
    hidden(thread)
    assert.include(thread, "I am [removed], my key is [removed].")
    hidden(await ai.call(`/threads/${end.thread_id}/runs/${end.run_id}/stream`))
    hidden(await ai.call(`/threads/${end.thread_id}/runs/${end.run_id}/inspection`))
  })

  it("stops an answer with a private key: what was told before stays, and the reason is told", async () => {
    await using ai = open(say("Here it is. -----BEGIN PRIVATE", " KEY----- MIIE. More."))
    const reply = JSON.parse(await ai.call("/threads/messages", { content: "Hi" }))
    assert.deepInclude(reply, { status: "FAILED", partial_content: "Here it is. " })
    assert.deepInclude(reply.fault, {
      code: "review_stopped",
      message: "The answer was stopped, because it contained a private key."
    })
    assert.notInclude(JSON.stringify(reply), "MIIE")
  })

  it("redacts what `useChat` shows", async () => {
    await using ai = open(sayInChunks(answer, 3))
    const chat = chatRoute({ handler: ai.handler, basePath: "/ai" })
    const messages = [{ id: "m", role: "user", parts: [{ type: "text", text: question }] }]
    const request = new Request("http://localhost/api/chat", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: "new", messages, trigger: "submit-message" })
    })
    const stream = await (await chat(request)).text()
    hidden(stream)
    const deltas = events(stream).flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.delta] : []))
    assert.strictEqual(deltas.join(""), redacted)
  })

  it("redacts both streams of OpenAI's clients, and the conversation that such a client sends", async () => {
    const checked = expect((request) => hidden(JSON.stringify(request.messages)))
    await using ai = open([checked, sayInChunks(answer, 2)], [checked, sayInChunks(answer, 2)])
    const messages = [
      { role: "user", content: question },
      { role: "assistant", content: "Hello." },
      { role: "user", content: "And?" }
    ]
    const completion = await ai.call("/v1/chat/completions", {
      model: "scripted/scripted-model",
      messages,
      stream: true
    })
    hidden(completion)
    const told = events(completion).flatMap(({ choices }) => choices?.[0]?.delta?.content ?? [])
    assert.strictEqual(told.join(""), redacted)
    const response = await ai.call("/v1/responses", { model: "scripted/scripted-model", input: messages, stream: true })
    hidden(response)
    const deltas = events(response).flatMap(({ delta, type }) => (type === "response.output_text.delta" ? [delta] : []))
    assert.strictEqual(deltas.join(""), redacted)
  })

  it("is written in thirty lines", () => {
    const lines = readFileSync(new URL("Guard.ts", import.meta.url), "utf8")
      .trim()
      .split("\n")
    assert.isAtMost(lines.length, 30)
  })
})
