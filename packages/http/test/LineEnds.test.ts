/** Every stream that this package writes has one line of data an event, also for readers that take U+0085, U+2028 and U+2029 for the end of one. */
import { say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { chatRoute } from "../src/ai-sdk/index.ts"
import { openai } from "../src/openai/index.ts"
import { keys, open, type Service } from "./Service.ts"

const said = "a\u2028b\u2029c\u0085d"
const model = "scripted/scripted-model"

/** How Python splits lines. */
const lineEnd = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/u

const messageOfChat = { id: "m", role: "user", parts: [{ type: "text", text: said }] }

const streams: ReadonlyArray<readonly [string, (service: Service) => Promise<Response>]> = [
  ["the API", (service) => service.fetch("POST", "/threads/messages", { content: said, stream: true })],
  [
    "OpenAI's chat completions",
    (service) =>
      service.fetch("POST", "/v1/chat/completions", {
        model,
        stream: true,
        messages: [{ role: "user", content: said }]
      })
  ],
  ["OpenAI's responses", (service) => service.fetch("POST", "/v1/responses", { model, stream: true, input: said })],
  [
    "a route for useChat",
    async (service) => {
      const { body: assistant } = await service.call("POST", "/assistants", { name: "a" })
      const { body: thread } = await service.call("POST", `/assistants/${assistant.assistant_id}/threads`)
      return chatRoute({ handler: service.handler })(
        new Request("http://in.process/chat", {
          method: "POST",
          headers: { "x-api-key": keys.ada, "content-type": "application/json" },
          body: JSON.stringify({ id: thread.thread_id, messages: [messageOfChat] })
        })
      )
    }
  ]
]

describe("one line of data an event", () => {
  it.each(streams)("%s", async (_name, ask) => {
    await using service = await open([say(said)], { http: { wings: [openai] } })
    const answer = await ask(service)
    assert.strictEqual(answer.status, 200)
    const text = await answer.text()
    for (const line of text.split(lineEnd)) assert.match(line, /^(?:$|: |id: |event: |data: (?:\{.*\}|\[DONE\])$)/u)
    assert.include(text, String.raw`a\u2028b\u2029c\u0085d`)
  })
})
