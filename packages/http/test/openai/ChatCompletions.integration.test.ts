/** `POST /v1/chat/completions` as OpenAI's own JavaScript client meets it, over a real server. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, fail, gate, hang, say, uses, finish } from "@colloquy/testing"
import { Threads } from "@colloquy/core"
import { firstPage } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import OpenAI from "openai"
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions"
import { keys } from "../Service.ts"
import { model, openService, type OpenAiService, refused } from "./OpenAiService.ts"
import { until } from "../../../../test/until.ts"

const user = (content: string): ChatCompletionMessageParam => ({ role: "user", content })

const weather: ChatCompletionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
}

const threads = (service: OpenAiService) =>
  service.run(Threads.use((all) => all.list({ page: firstPage, includeMessages: false })))

/** Nothing of a stateless turn is left when its follow-up is done, which is after the answer. */
const untilNoThreads = async (service: OpenAiService): Promise<void> => {
  await until(async () => (await threads(service)).length === 0)
}

const last = (service: OpenAiService) => service.model.requests.at(-1)

describe("chat completions", () => {
  it("answer a whole conversation, keep nothing of it, and are on the bill", async () => {
    await using service = await openService([
      [say("Hel", "lo."), uses({ inputTokens: 7, outputTokens: 2, costUsd: 0.5 })]
    ])
    const answer = await service.client().chat.completions.create({
      model,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "developer", content: [{ type: "text", text: "And kind." }] },
        user("Hi"),
        { role: "assistant", content: "Yes?" },
        user("Well")
      ]
    })
    assert.strictEqual(answer.object, "chat.completion")
    assert.match(answer.id, /^chatcmpl-/u)
    assert.strictEqual(answer.model, model)
    assert.deepStrictEqual(
      answer.choices.map(({ finish_reason, message }) => [message.role, message.content, finish_reason]),
      [["assistant", "Hello.", "stop"]]
    )
    assert.deepInclude(answer.usage, { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 })
    assert.strictEqual(last(service)?.system, "Be brief.\n\nAnd kind.")
    assert.deepStrictEqual(last(service)?.messages, [
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      { role: "assistant", content: "Yes?", toolCalls: [], providerData: null },
      { role: "user", content: [{ type: "text", text: "Well" }] }
    ])
    await untilNoThreads(service)
    assert.lengthOf((await service.call("GET", "/assistants")).body, 0)
    const { data } = (await service.call("GET", "/billing/usage/recent")).body
    assert.strictEqual(data[0].amount_deducted_usd, 0.5)
    assert.lengthOf(data, 1)
  })

  it("stream the words as they come, with the usage when it is asked for", async () => {
    await using service = await openService([[say("One, "), gate(), say("two.")], say("Again.")])
    const stream = await service.client().chat.completions.create({
      model,
      messages: [user("Count")],
      stream: true,
      stream_options: { include_usage: true }
    })
    let text = ""
    const reasons: Array<string> = []
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ""
      if (text === "One, ") await service.run(service.model.release())
      if (chunk.choices[0]?.finish_reason != null) reasons.push(chunk.choices[0].finish_reason)
      usage = chunk.usage
    }
    assert.deepStrictEqual([text, reasons], ["One, two.", ["stop"]])
    assert.deepInclude(usage, { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 })
    const plain = await service.client().chat.completions.create({ model, messages: [user("Again")], stream: true })
    for await (const chunk of plain) assert.notProperty(chunk, "usage")
    await untilNoThreads(service)
  })

  it("give calls to the client, side by side, and take their outputs with the whole conversation", async () => {
    await using service = await openService([
      [say("Let me see."), callTools(["weather", { city: "Oslo" }, "a"], ["weather", { city: "Rome" }, "b"])],
      say("Rain and sun.")
    ])
    const client = service.client()
    const messages = [user("Weather?")]
    const first = await client.chat.completions.create({ model, messages, tools: [weather] })
    const [choice] = first.choices
    assert.strictEqual(choice?.finish_reason, "tool_calls")
    assert.deepStrictEqual(choice?.message.tool_calls, [
      { id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
      { id: "b", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }
    ])
    assert.deepStrictEqual(
      last(service)?.tools.map(({ name }) => name),
      ["weather"]
    )
    if (choice === undefined) throw new Error("No choice")
    const second = await client.chat.completions.create({
      model,
      tools: [weather],
      messages: [
        ...messages,
        choice.message,
        { role: "tool", tool_call_id: "b", content: "sun" },
        { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "rain" }] }
      ]
    })
    assert.strictEqual(second.choices[0]?.message.content, "Rain and sun.")
    assert.deepStrictEqual(last(service)?.messages.slice(1), [
      {
        role: "assistant",
        content: "Let me see.",
        toolCalls: [
          { id: "a", name: "weather", arguments: '{"city":"Oslo"}' },
          { id: "b", name: "weather", arguments: '{"city":"Rome"}' }
        ],
        providerData: null
      },
      { role: "tool", toolCallId: "b", toolName: "weather", output: "sun" },
      { role: "tool", toolCallId: "a", toolName: "weather", output: "rain" }
    ])
    await untilNoThreads(service)
  })

  it("do for the helper that runs tools, streamed and not", async () => {
    await using service = await openService([
      callTools(["weather", { city: "Oslo" }, "a"], ["weather", { city: "Rome" }, "b"]),
      say("Done."),
      callTool("weather", { city: "Bonn" }, "c"),
      say("Streamed.")
    ])
    const asked: Array<string> = []
    const runnable = {
      type: "function" as const,
      function: {
        name: "weather",
        description: "The weather",
        parameters: { type: "object", properties: { city: { type: "string" } } },
        parse: JSON.parse,
        function: ({ city }: { city: string }) => {
          asked.push(city)
          return `${city}: rain`
        }
      }
    }
    const client = service.client()
    const run = client.chat.completions.runTools({ model, messages: [user("Weather?")], tools: [runnable] })
    assert.strictEqual(await run.finalContent(), "Done.")
    const streamed = client.chat.completions.runTools({
      model,
      messages: [user("Weather?")],
      tools: [runnable],
      stream: true
    })
    assert.strictEqual(await streamed.finalContent(), "Streamed.")
    assert.deepStrictEqual(asked, ["Oslo", "Rome", "Bonn"])
    assert.deepInclude(last(service)?.messages.at(-1), { role: "tool", output: "Bonn: rain" })
    await untilNoThreads(service)
  })

  it("take pictures where they stand, and sound", async () => {
    await using service = await openService([say("A cat."), say("Grey.")])
    const client = service.client()
    const messages: Array<ChatCompletionMessageParam> = [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID", detail: "low" } },
          { type: "image_url", image_url: { url: "https://pictures.example/cat.png" } }
        ]
      }
    ]
    await client.chat.completions.create({ model, messages })
    const picture = { type: "image", mediaType: "image/png", filename: null, source: { bytes: Uint8Array.of(1, 2, 3) } }
    const address = {
      type: "image",
      mediaType: "image/*",
      filename: null,
      source: { url: "https://pictures.example/cat.png" }
    }
    const shown = { role: "user", content: [{ type: "text", text: "What is it?" }, picture, address] }
    assert.deepStrictEqual<unknown>(last(service)?.messages, [shown])
    await client.chat.completions.create({
      model,
      messages: [
        ...messages,
        { role: "assistant", content: "A cat." },
        { role: "user", content: [{ type: "input_audio", input_audio: { data: "AQI=", format: "wav" } }] }
      ]
    })
    assert.deepStrictEqual<unknown>(last(service)?.messages, [
      shown,
      { role: "assistant", content: "A cat.", toolCalls: [], providerData: null },
      {
        role: "user",
        content: [{ type: "audio", mediaType: "audio/wav", filename: null, source: { bytes: Uint8Array.of(1, 2) } }]
      }
    ])
    await untilNoThreads(service)
  })

  it("ask for JSON of a schema, and the helper parses it", async () => {
    await using service = await openService([say('{"city":"Oslo"}')])
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const answer = await service.client().chat.completions.create({
      model,
      messages: [user("Where?")],
      response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } }
    })
    assert.strictEqual(answer.choices[0]?.message.content, '{"city":"Oslo"}')
    assert.isTrue(last(service)?.jsonOutput)
    assert.include(last(service)?.system, JSON.stringify(schema))
  })

  it("choose an assistant by its id and by its name, with its instructions and the server's tools", async () => {
    const clock = {
      definition: { name: "clock", description: null, parameters: null },
      run: () => Effect.succeed("noon")
    }
    await using service = await openService([callTool("clock", {}, "h"), say("Noon."), say("Hi."), say("Ho.")], {
      hosted: [clock]
    })
    const client = service.client()
    const made = await service.call("POST", "/assistants", { name: "Guide", system_prompt: "You are a guide." })
    const { assistant_id } = made.body
    const answer = await client.chat.completions.create({ model: assistant_id, messages: [user("Time?")] })
    assert.deepStrictEqual(
      [answer.choices[0]?.message.content, answer.choices[0]?.message.tool_calls],
      ["Noon.", undefined]
    )
    await client.chat.completions.create({
      model: "Guide",
      messages: [{ role: "system", content: "Be brief." }, user("Hi")]
    })
    assert.strictEqual(last(service)?.system, "You are a guide.\n\nBe brief.")
    const stranger = service.client({ apiKey: keys.bob })
    for (const name of [assistant_id, "Guide"]) {
      const error = await refused(
        stranger.chat.completions.create({ model: name, messages: [user("Hi")] }),
        OpenAI.NotFoundError
      )
      assert.deepStrictEqual([error.code, error.param], ["model_not_found", "model"])
    }
    await client.chat.completions.create({ model: "Guide", messages: [{ role: "system", content: "Say ho." }] })
    assert.deepStrictEqual(last(service)?.messages, [{ role: "user", content: [{ type: "text", text: "Say ho." }] }])
    await untilNoThreads(service)
    assert.lengthOf((await service.call("GET", "/assistants")).body, 1)
  })

  it("tell which options had no effect, and refuse in words those that would give another answer", async () => {
    await using service = await openService([say("Hello.")])
    const client = service.client()
    const asked = { model, messages: [user("Hi")] }
    const { response } = await client.chat.completions
      .create({
        ...asked,
        temperature: 0.2,
        seed: 1,
        top_p: 1,
        n: 1,
        user: "ada",
        tool_choice: "required",
        presence_penalty: 0.5,
        logprobs: false
      })
      .withResponse()
    assert.strictEqual(response.headers.get("x-ignored-options"), "presence_penalty, tool_choice")
    const refusals: ReadonlyArray<[string, object]> = [
      ["n", { n: 2 }],
      ["logprobs", { logprobs: true }],
      ["modalities", { modalities: ["text", "audio"] }],
      ["tool_choice", { tools: [weather], tool_choice: "any" }],
      ["functions", { functions: [{ name: "f" }] }],
      ["tools[0].type", { tools: [{ type: "custom", custom: { name: "x" } }] }],
      ["messages", { messages: [] }],
      ["messages[0].role", { messages: [{ role: "function", content: "x" }] }],
      [
        "messages[0].content[0].image_url",
        { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "ftp://x" } }] }] }
      ],
      ["messages[0].tool_call_id", { messages: [{ role: "tool", tool_call_id: "x", content: "y" }, user("Hi")] }],
      ["messages[0].content[0]", { messages: [{ role: "user", content: [{ type: "file", file: {} }] }] }]
    ]
    for (const [param, fields] of refusals) {
      const error = await refused(
        client.chat.completions.create({ ...asked, ...fields } as never),
        OpenAI.BadRequestError
      )
      assert.strictEqual(error.param, param, error.message)
      assert.strictEqual(error.type, "invalid_request_error")
      assert.isAbove(error.message.length, 20)
    }
    const open = [
      user("Weather?"),
      { role: "assistant", tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }] }
    ]
    const unanswered = client.chat.completions.create({ ...asked, messages: open } as never)
    assert.match((await refused(unanswered, OpenAI.BadRequestError)).message, /no output: a/u)
  })

  it("pass on the settings of the answer, and tell why it ended", async () => {
    await using service = await openService([
      [say("Once"), finish("length")],
      [say("Once"), finish("length")],
      [say("Hm"), finish("filtered")],
      say("Done.")
    ])
    const client = service.client()
    const asked = { model, messages: [user("Hi")] }
    const settings = { temperature: 0.2, top_p: 0.9, max_completion_tokens: 50, stop: "END", seed: 7 }
    const tools = { tools: [weather], parallel_tool_calls: false }
    const choice = { tool_choice: { type: "function", function: { name: "weather" } } } as const
    const cut = await client.chat.completions.create({ ...asked, ...settings, ...tools, ...choice })
    assert.deepStrictEqual([cut.choices[0]?.finish_reason, cut.choices[0]?.message.content], ["length", "Once"])
    assert.deepInclude(last(service), {
      maxOutputTokens: 50,
      toolChoice: { name: "weather" },
      sampling: { temperature: 0.2, topP: 0.9, stop: ["END"], seed: 7, parallelToolCalls: false }
    })
    const reasons: Array<string> = []
    for await (const chunk of await client.chat.completions.create({ ...asked, max_tokens: 9, stream: true })) {
      if (chunk.choices[0]?.finish_reason != null) reasons.push(chunk.choices[0].finish_reason)
    }
    assert.deepStrictEqual(reasons, ["length"])
    assert.deepInclude(last(service), { maxOutputTokens: 9 })
    const filtered = await client.chat.completions.create({ ...asked, stop: [] })
    assert.strictEqual(filtered.choices[0]?.finish_reason, "content_filter")
    assert.isUndefined(last(service)?.sampling)
    const plain = await client.chat.completions.create({ ...asked, ...tools, tool_choice: "required" })
    assert.strictEqual(plain.choices[0]?.finish_reason, "stop")
    assert.deepInclude(last(service), { toolChoice: "required" })
  })

  it("are refused with the errors that the client knows", async () => {
    await using service = await openService(
      [fail("rate_limited", { retryAfterMillis: 3_600_000 }), fail("model_not_found"), fail("invalid_request")],
      { quota: { requestsPerMinute: 6 } }
    )
    const client = service.client()
    const ask = (options: object = {}) => client.chat.completions.create({ model, messages: [user("Hi")], ...options })
    const wrong = service.client({ apiKey: "wrong" }).chat.completions.create({ model, messages: [user("Hi")] })
    assert.strictEqual((await refused(wrong, OpenAI.AuthenticationError)).code, "invalid_api_key")
    for (const name of ["nothing", "nobody/nothing", "00000000-0000-0000-0000-000000000000"]) {
      const error = await refused(ask({ model: name }), OpenAI.NotFoundError)
      assert.deepStrictEqual([error.code, error.param], ["model_not_found", "model"])
    }
    assert.strictEqual((await refused(ask(), OpenAI.RateLimitError)).code, "rate_limited")
    assert.strictEqual((await refused(ask(), OpenAI.NotFoundError)).code, "model_not_found")
    assert.strictEqual((await refused(ask(), OpenAI.BadRequestError)).code, "invalid_request")
    const limited = await refused(ask(), OpenAI.RateLimitError)
    assert.strictEqual(limited.code, "rate_limit_exceeded")
    assert.isAbove(Number(limited.headers?.get("retry-after")), 0)
    assert.strictEqual((await service.call("GET", "/threads")).status, 429)
  })

  it("end a stream with the error of the run, and the run with the client that aborts", async () => {
    await using service = await openService([[say("One, "), fail("auth")], [say("One, "), hang], hang])
    const client = service.client()
    const failing = await client.chat.completions.create({ model, messages: [user("Count")], stream: true })
    const error = await refused(
      (async () => {
        for await (const _ of failing);
      })(),
      OpenAI.APIError
    )
    assert.strictEqual(error.code, "auth")
    const leaving = await client.chat.completions.create({ model, messages: [user("Count")], stream: true })
    for await (const chunk of leaving) if (chunk.choices[0]?.delta.content === "One, ") break
    await untilNoThreads(service)
    const controller = new AbortController()
    const waiting = client.chat.completions.create({ model, messages: [user("Count")] }, { signal: controller.signal })
    await until(() => service.model.requests.length >= 3)
    controller.abort()
    await refused(waiting, OpenAI.APIUserAbortError)
    await untilNoThreads(service)
    assert.strictEqual(service.model.interrupted(), 2)
  })

  it("leave nothing when the server stops in the middle: the next one tidies up", async () => {
    const stores = InMemory.layerFrom(InMemory.makeState())
    {
      await using service = await openService([hang], { stores })
      const waiting = service.client().chat.completions.create({ model, messages: [user("Hi")] })
      waiting.catch(() => {})
      await until(() => service.model.requests.length > 0)
      assert.lengthOf(await threads(service), 1)
    }
    await using next = await openService([], { stores })
    await next.ready()
    await untilNoThreads(next)
    assert.lengthOf((await next.call("GET", "/assistants")).body, 0)
  })

  it("list the models and the caller's assistants", async () => {
    await using service = await openService([say("Kept.")])
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "Guide", system_prompt: "Guide." }))
      .body
    await service.client().responses.create({ model, input: "Hi" })
    const ids: Array<string> = []
    for await (const each of service.client().models.list()) ids.push(each.id)
    assert.deepStrictEqual(ids, [assistant_id])
    assert.strictEqual((await service.client().models.retrieve(assistant_id)).owned_by, "assistant")
    assert.strictEqual((await service.client().models.retrieve(model)).id, model)
    const others: Array<string> = []
    for await (const each of service.client({ apiKey: keys.bob }).models.list()) others.push(each.id)
    assert.notInclude(others, assistant_id)
    await refused(service.client().models.retrieve("nothing"), OpenAI.NotFoundError)
  })
})
