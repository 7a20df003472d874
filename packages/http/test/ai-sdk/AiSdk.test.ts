/** A thread behind `useChat`: the real chat of `@ai-sdk/react` over the transport, and over the route with the SDK's own transport. */
import { Chat } from "@ai-sdk/react"
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, fail, gate, say, type ScriptStep, think } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage
} from "ai"
import { chatRoute, ColloquyTransport, type TurnMetadata, uiMessages } from "../../src/ai-sdk/index.ts"
import { openWithDocuments } from "../DocumentService.ts"
import { keys, open, openPainting, type Service, tool } from "../Service.ts"
import { until } from "../../../../test/until.ts"

type Message = UIMessage<TurnMetadata>

const address = { baseUrl: "http://in.process" }

const clientOptions = (service: Service) => ({
  ...address,
  handler: service.handler,
  apiKey: keys.ada
})

const newThread = async (service: Service, fields: object = {}): Promise<string> => {
  const { assistant_id } = (await service.call("POST", "/assistants", { name: "a", ...fields })).body
  return (await service.call("POST", `/assistants/${assistant_id}/threads`)).body.thread_id
}

const openChat = (
  service: Service,
  id: string,
  options: Partial<ConstructorParameters<typeof Chat<Message>>[0]> = {}
) => new Chat<Message>({ id, transport: new ColloquyTransport(clientOptions(service)), ...options })

const shown = (messages: ReadonlyArray<Message>) =>
  messages.map(({ parts, role }) => [
    role,
    ...parts.flatMap((part) => {
      if (part.type === "text" || part.type === "reasoning") return [`${part.type}: ${part.text}`]
      return part.type === "dynamic-tool" ? [`${part.toolName}: ${part.state}`] : []
    })
  ])

const hasText = (chat: Chat<Message>) =>
  chat.lastMessage?.parts.some((part) => part.type === "text" && part.text !== "") === true &&
  chat.lastMessage.role === "assistant"

describe("the transport", () => {
  it("streams text and reasoning into one message, which knows its run", async () => {
    await using service = await open([[think("Well"), say("Hel", "lo.")]])
    const id = await newThread(service)
    const chat = openChat(service, id)
    await chat.sendMessage({ text: "Hi" })
    assert.strictEqual(chat.status, "ready")
    assert.deepStrictEqual(shown(chat.messages), [
      ["user", "text: Hi"],
      ["assistant", "reasoning: Well", "text: Hello."]
    ])
    const { messages } = (await service.call("GET", `/threads/${id}`)).body
    assert.strictEqual(chat.lastMessage?.id, messages[1].message_id)
    assert.strictEqual(chat.lastMessage?.metadata?.runId, messages[1].run_id)
    assert.strictEqual(chat.lastMessage?.metadata?.threadId, id)
  })

  it("gives the client's tools to the client, answers with their outputs, and shows the server's as done", async () => {
    const script: ReadonlyArray<ScriptStep> = [
      callTool("clock", {}, "h"),
      callTool("weather", { city: "Oslo" }, "c"),
      say("Rain.")
    ]
    const clock = {
      definition: { name: "clock", description: null, parameters: null },
      run: () => Effect.succeed("noon")
    }
    await using service = await open(script, { hosted: [clock] })
    const id = await newThread(service, { tools: [tool("weather")] })
    const asked: Array<string> = []
    const chat: Chat<Message> = openChat(service, id, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        asked.push(toolCall.toolName)
        void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { rain: true } })
      }
    })
    const done = new Promise<void>((resolve) => {
      chat["~registerStatusCallback"](() => {
        if (chat.status === "ready" && chat.lastMessage?.parts.at(-1)?.type === "text") resolve()
      })
    })
    await chat.sendMessage({ text: "Weather?" })
    await done
    assert.deepStrictEqual(asked, ["weather"])
    assert.deepStrictEqual(shown(chat.messages).at(-1), [
      "assistant",
      "clock: output-available",
      "weather: output-available",
      "text: Rain."
    ])
    const last = service.model.requests.at(-1)?.messages.at(-1)
    assert.deepInclude(last, { role: "tool", output: '{"rain":true}' })
  })

  it("asks the user about calls that need an approval, beside the client's, and goes on in the same message", async () => {
    const script: ReadonlyArray<ScriptStep> = [
      callTools(["pay", { cents: 5 }, "a"], ["pay", { cents: 6 }, "b"], ["weather", {}, "c"]),
      say("Done.")
    ]
    const paid: Array<unknown> = []
    const pay = {
      definition: { name: "pay", description: null, parameters: null },
      needsApproval: true as const,
      run: (args: object) => Effect.sync(() => paid.push(args))
    }
    await using service = await open(script, { hosted: [pay] })
    const id = await newThread(service, { tools: [tool("weather")] })
    const asked: Array<string> = []
    const chat: Chat<Message> = openChat(service, id, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onToolCall: ({ toolCall }) => void asked.push(toolCall.toolName)
    })
    await chat.sendMessage({ text: "Pay" })
    assert.deepStrictEqual(shown(chat.messages).at(-1), [
      "assistant",
      "pay: approval-requested",
      "pay: approval-requested",
      "weather: input-available"
    ])
    const stored = async () => uiMessages((await service.call("GET", `/threads/${id}`)).body)
    const states = (messages: ReadonlyArray<Message>) => shown(messages).at(-1)?.slice(1).toSorted()
    assert.deepStrictEqual(states(await stored()), states(chat.messages))
    await chat.addToolApprovalResponse({ id: "a", approved: true })
    await chat.addToolApprovalResponse({ id: "b", approved: false, reason: "No." })
    assert.deepStrictEqual([asked, paid], [["weather"], []])
    await chat.addToolOutput({ tool: "weather", toolCallId: "c", output: "sun" })
    await until(() => hasText(chat) && chat.status === "ready")
    const done = [
      "assistant",
      "pay: output-available",
      "pay: output-denied",
      "weather: output-available",
      "text: Done."
    ]
    assert.deepStrictEqual(shown(chat.messages).at(-1), done)
    assert.deepStrictEqual(paid, [{ cents: 5 }])
    assert.deepStrictEqual(states(await stored()), done.slice(1).toSorted())
  })

  it("begins a thread for a chat that has none, and stays on it", async () => {
    await using service = await open([say("One."), say("Two.")])
    const begun: Array<string> = []
    const transport = new ColloquyTransport({
      ...clientOptions(service),
      onThread: (threadId) => void begun.push(threadId)
    })
    const chat = openChat(service, "a chat", { transport })
    await chat.sendMessage({ text: "1" })
    await chat.sendMessage({ text: "2" })
    assert.lengthOf(begun, 1)
    assert.lengthOf((await service.call("GET", `/threads/${begun[0]}`)).body.messages, 4)
  })

  it.each(["the transport", "the route"])(
    "regenerates and edits in the place of the question, through %s",
    async (way) => {
      const script = ["One.", "Two.", "Two again.", "Edited.", "Last.", "First again."].map((text) => say(text))
      await using service = await open(script)
      const id = await newThread(service)
      const POST = chatRoute({ handler: service.handler })
      const through = new DefaultChatTransport<Message>({
        api: "http://in.process/chat",
        headers: { "x-api-key": keys.ada },
        fetch: (input, init) => POST(new Request(input, init))
      })
      const chat = way === "the route" ? openChat(service, id, { transport: through }) : openChat(service, id)
      await chat.sendMessage({ text: "1" })
      await chat.sendMessage({ text: "2" })
      await chat.regenerate()
      const texts = () =>
        chat.messages.map(({ parts }) => parts.flatMap((part) => ("text" in part ? part.text : [])).join(""))
      const stored = async () => {
        const { messages } = (await service.call("GET", `/threads/${id}`)).body
        return messages.map(({ content }: { readonly content: string }) => content)
      }
      assert.deepStrictEqual(texts(), ["1", "One.", "2", "Two again."])
      assert.deepStrictEqual(await stored(), texts())
      await chat.sendMessage({ text: "2 b", messageId: chat.messages[2]?.id ?? "" })
      assert.deepStrictEqual(texts(), ["1", "One.", "2 b", "Edited."])
      assert.deepStrictEqual(await stored(), texts())
      await chat.sendMessage({ text: "3" })
      const first = chat.messages[1]?.id ?? ""
      await chat.regenerate({ messageId: first })
      assert.deepStrictEqual(texts(), ["1", "First again."])
      assert.deepStrictEqual(await stored(), texts())
      // Every conversation that was replaced is a thread: three of them.
      assert.strictEqual((await service.call("GET", "/threads?include_messages=false")).body.length, 4)
    }
  )

  it("stops the run when the chat is stopped", async () => {
    await using service = await open([[say("One, "), gate(), say("two.")]])
    const id = await newThread(service)
    const chat = openChat(service, id)
    const sent = chat.sendMessage({ text: "Count" })
    await service.run(service.model.reached())
    await until(() => hasText(chat))
    await chat.stop()
    await sent
    let messages = []
    do messages = (await service.call("GET", `/threads/${id}`)).body.messages
    while (messages[1]?.status === "IN_PROGRESS")
    assert.deepStrictEqual([messages[1].status, messages[1].content], ["CANCELLED", "One, "])
  })

  it("goes on with an answer that is under way, from its first word, and with none when none is", async () => {
    await using service = await open([[say("One, "), gate(), say("two.")]])
    const id = await newThread(service)
    const first = openChat(service, id, {
      transport: new ColloquyTransport({ ...clientOptions(service), onStop: "leave" })
    })
    const sent = first.sendMessage({ text: "Count" })
    await service.run(service.model.reached())
    const { body } = await service.call("GET", `/threads/${id}`)
    const chat = openChat(service, id, { messages: uiMessages({ ...body, messages: body.messages.slice(0, 1) }) })
    const resumed = chat.resumeStream()
    await until(() => hasText(chat))
    await service.run(service.model.release())
    await resumed
    await sent
    assert.deepStrictEqual(shown(chat.messages), [
      ["user", "text: Count"],
      ["assistant", "text: One, two."]
    ])
    await chat.resumeStream()
    assert.lengthOf(chat.messages, 2)
  })

  it("ends its request at once when its stream is cancelled while the model is silent", async () => {
    const pay = {
      definition: { name: "pay", description: null, parameters: null },
      needsApproval: true as const,
      run: () => Effect.succeed("paid")
    }
    const script = [
      [say("One, "), gate(), say("two.")],
      callTool("pay", {}, "a"),
      [say("Three, "), gate(), say("four.")]
    ]
    await using service = await open(script, { hosted: [pay] })
    const aborted: Array<string> = []
    const transport = new ColloquyTransport({
      ...clientOptions(service),
      onStop: "leave",
      handler: (request) => {
        request.signal.addEventListener("abort", () =>
          aborted.push(new URL(request.url).pathname.split("/").at(-1) ?? "")
        )
        return service.handler(request)
      }
    })
    const leave = async (chat: Chat<Message>, chatId: string, messages: Array<Message>, text: string) => {
      const trigger = "submit-message" as const
      const stream = await transport.sendMessages({
        chatId,
        messages,
        trigger,
        messageId: undefined,
        abortSignal: undefined
      })
      const reader = stream.getReader()
      for (let told = ""; told !== text;) {
        const { value } = await reader.read()
        if (value?.type === "text-delta") told = value.delta
      }
      const silent = reader.read()
      await reader.cancel()
      assert.isTrue((await silent).done)
      await service.run(service.model.release())
    }
    const id = await newThread(service)
    const chat = openChat(service, id)
    await leave(chat, id, [{ id: "1", role: "user", parts: [{ type: "text", text: "Count" }] }], "One, ")
    await chat.sendMessage({ text: "Pay" })
    await chat.addToolApprovalResponse({ id: "a", approved: true })
    await leave(chat, id, chat.messages, "Three, ")
    assert.deepStrictEqual(aborted, ["messages", "approvals"])
  })

  it("stops a run that is stopped before its first event", async () => {
    await using service = await open([[gate(), say("One.")]])
    const id = await newThread(service)
    const stopped = new AbortController()
    const transport = new ColloquyTransport({
      ...clientOptions(service),
      handler: async (request) => {
        const response = await service.handler(request)
        if (request.method === "POST" && request.url.endsWith("/messages")) await service.run(service.model.reached())
        stopped.abort()
        return response
      }
    })
    const messages: Array<Message> = [{ id: "1", role: "user", parts: [{ type: "text", text: "Count" }] }]
    const sent = { chatId: id, messages, trigger: "submit-message" as const, messageId: undefined }
    const stream = await transport.sendMessages({ ...sent, abortSignal: stopped.signal })
    stopped.signal.addEventListener("abort", () => void stream.cancel())
    await until(async () => (await service.call("GET", `/threads/${id}`)).body.messages[1]?.status === "CANCELLED")
    const failed = await transport
      .sendMessages({ ...sent, abortSignal: stopped.signal })
      .catch((error: unknown) => error)
    assert.deepInclude(failed, { name: "AbortError" })
  })

  it("tells what the API refuses and what fails, as the chat's error", async () => {
    await using service = await open([fail("auth")])
    const chat = openChat(service, "00000000-0000-0000-0000-000000000000")
    await chat.sendMessage({ text: "Hi" })
    assert.match(String(chat.error), /There is no thread/u)
    const failing = openChat(service, await newThread(service))
    await failing.sendMessage({ text: "Hi" })
    assert.strictEqual(failing.status, "error")
  })
})

describe("the route", () => {
  it.each(["ai", "/ai", "/ai/"])("finds the API under the base path %s, wherever the route is", async (basePath) => {
    const called: Array<string> = []
    const handler = async (request: Request) => {
      called.push(new URL(request.url).pathname)
      return Response.json({ detail: "no" }, { status: 404 })
    }
    const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] }]
    const body = JSON.stringify({ id: "thread", messages })
    await chatRoute({ basePath, handler })(new Request("http://in.process/site/chat", { method: "POST", body }))
    assert.deepStrictEqual(called, ["/ai/threads/messages"])
  })

  it.each([
    ["a chat that is stopped", "cancel", "CANCELLED", "One, "],
    ["a page that goes away", "cancel", "CANCELLED", "One, "],
    ["a chat that is stopped", "leave", "COMPLETED", "One, two."],
    ["a page that goes away", undefined, "COMPLETED", "One, two."]
  ] as const)("of %s, with onStop %s, has a run that is %s", async (way, onStop, status, content) => {
    await using service = await open([[say("One, "), gate(), say("two.")]])
    const id = await newThread(service)
    const route = chatRoute({ handler: service.handler, ...(onStop === undefined ? {} : { onStop }) })
    const gone = new AbortController()
    const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Count" }] }]
    const response = await route(
      new Request("http://in.process/chat", {
        method: "POST",
        body: JSON.stringify({ id, messages }),
        headers: { "x-api-key": keys.ada },
        signal: gone.signal
      })
    )
    const reader = (response.body ?? assert.fail("no body")).getReader()
    const decoder = new TextDecoder()
    let told = ""
    while (!told.includes("One, ")) told += decoder.decode((await reader.read()).value)
    if (way === "a page that goes away") void reader.cancel()
    else gone.abort()
    const answer = async () => (await service.call("GET", `/threads/${id}`)).body.messages[1]
    if (status === "COMPLETED") await service.run(service.model.release())
    await until(async () => (await answer()).status !== "IN_PROGRESS")
    assert.deepInclude(await answer(), { status, content })
  })

  it.each([
    ["the transport", "cancel", "CANCELLED", "One, "],
    ["the route", "cancel", "CANCELLED", "One, "],
    ["the transport", "leave", "COMPLETED", "One, two."],
    ["the route", undefined, "COMPLETED", "One, two."]
  ] as const)(
    "and a stream that goes on through %s, with onStop %s, leave a run %s",
    async (way, onStop, status, content) => {
      await using service = await open([[say("One, "), gate(), say("two.")]])
      const id = await newThread(service)
      await service.call("POST", `/threads/${id}/messages`, { content: "Count", background: true })
      await service.run(service.model.reached())
      const gone = new AbortController()
      const options = onStop === undefined ? {} : { onStop }
      const route = chatRoute({ handler: service.handler, ...options })
      const stream =
        way === "the transport"
          ? await new ColloquyTransport({ ...clientOptions(service), ...options }).reconnectToStream({
              chatId: id,
              abortSignal: gone.signal
            })
          : (
              await route(
                new Request(`http://in.process/chat/${id}/stream`, {
                  headers: { "x-api-key": keys.ada },
                  signal: gone.signal
                })
              )
            ).body
      const reader = (stream ?? assert.fail("no stream")).getReader()
      await reader.read()
      gone.abort()
      await reader.cancel()
      const answer = async () => (await service.call("GET", `/threads/${id}`)).body.messages[1]
      if (status === "COMPLETED") await service.run(service.model.release())
      await until(async () => (await answer()).status !== "IN_PROGRESS")
      assert.deepInclude(await answer(), { status, content })
    }
  )

  it("answers what the API refuses to a stream that goes on, as it does to a message", async () => {
    await using service = await open([])
    const route = chatRoute({ handler: service.handler })
    const nobody = "00000000-0000-0000-0000-000000000000"
    const headers = { "x-api-key": keys.ada }
    const response = await route(new Request(`http://in.process/chat/${nobody}/stream`, { headers }))
    assert.strictEqual(response.status, 422)
    assert.match(await response.text(), /There is no thread/u)
  })

  it("serves the SDK's own transport, with the credentials of the request", async () => {
    await using service = await open([say("Hello."), callTool("weather", {}, "c"), say("Rain.")])
    const id = await newThread(service, { tools: [tool("weather")] })
    const route = chatRoute({ handler: service.handler })
    const transport = (headers: Record<string, string>) =>
      new DefaultChatTransport<Message>({
        api: "http://in.process/chat",
        headers,
        fetch: (input, init) => route(new Request(input, init))
      })
    const chat: Chat<Message> = new Chat<Message>({
      id,
      transport: transport({ "x-api-key": keys.ada }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls
    })
    await chat.sendMessage({ text: "Hi" })
    await chat.sendMessage({ text: "Weather?" })
    await chat.addToolOutput({ tool: "weather", toolCallId: "c", output: "rain" })
    await until(() => shown(chat.messages).at(-1)?.at(-1) === "text: Rain.")
    await chat.resumeStream()
    const stranger = new Chat<Message>({ id, transport: transport({ "x-api-key": "wrong" }) })
    await stranger.sendMessage({ text: "Hi" })
    assert.strictEqual(stranger.status, "error")
    assert.strictEqual((await route(new Request("http://in.process/chat", { method: "POST", body: "no" }))).status, 422)
  })
})

describe("a chat that is opened again", () => {
  it("begins with the thread's messages, open calls among them", async () => {
    await using service = await open([say("Hello."), callTool("weather", { city: "Oslo" }, "c")])
    const id = await newThread(service, { tools: [tool("weather")] })
    await service.call("POST", `/threads/${id}/messages`, { content: "Hi" })
    await service.call("POST", `/threads/${id}/messages`, { content: "Weather?" })
    const messages = uiMessages((await service.call("GET", `/threads/${id}`)).body)
    assert.deepStrictEqual(shown(messages), [
      ["user", "text: Hi"],
      ["assistant", "text: Hello."],
      ["user", "text: Weather?"],
      ["assistant", "weather: input-available"]
    ])
  })

  it("shows each answer as the stream has shown it: calls with their outputs, in one message", async () => {
    const clock = {
      definition: { name: "clock", description: null, parameters: null },
      run: () => Effect.succeed({ time: "noon" })
    }
    const script: ReadonlyArray<ScriptStep> = [
      [say("Well."), callTool("clock", {}, "h")],
      callTools(["weather", { city: "Oslo" }, "a"], ["weather", { city: "Rome" }, "b"]),
      say("Rain."),
      callTool("weather", {}, "c"),
      say("Never mind.")
    ]
    await using service = await open(script, { hosted: [clock] })
    const id = await newThread(service, { tools: [tool("weather")] })
    const chat: Chat<Message> = openChat(service, id, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls
    })
    await chat.sendMessage({ text: "Weather?" })
    await chat.addToolOutput({ tool: "weather", toolCallId: "a", output: { rain: true } })
    await chat.addToolOutput({ tool: "weather", toolCallId: "b", output: "sun" })
    await until(() => shown(chat.messages).at(-1)?.at(-1) === "text: Rain." && chat.status === "ready")
    const stored = async () => uiMessages((await service.call("GET", `/threads/${id}`)).body)
    assert.deepStrictEqual(shown(await stored()), [
      ["user", "text: Weather?"],
      [
        "assistant",
        "clock: output-available",
        "text: Well.",
        "weather: output-available",
        "weather: output-available",
        "text: Rain."
      ]
    ])
    assert.strictEqual((await stored())[1]?.id, chat.lastMessage?.id)
    const outputs = (await stored())[1]?.parts.flatMap((part) =>
      part.type === "dynamic-tool" && part.state === "output-available" ? [part.output] : []
    )
    assert.deepStrictEqual(outputs, [{ time: "noon" }, { rain: true }, "sun"])
    assert.isFalse(lastAssistantMessageIsCompleteWithToolCalls({ messages: await stored() }))
    await service.call("POST", `/threads/${id}/messages`, { content: "And now?" })
    await service.call("POST", `/threads/${id}/messages`, { content: "Stop." })
    assert.deepStrictEqual(shown(await stored()).slice(2), [
      ["user", "text: And now?"],
      ["assistant", "weather: output-error"],
      ["user", "text: Stop."],
      ["assistant", "text: Never mind."]
    ])
  })
})

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const picked = [
  { type: "file" as const, mediaType: "image/png", filename: "dot.png", url: `data:image/png;base64,${png}` },
  { type: "file" as const, mediaType: "text/plain", url: "data:text/plain;charset=utf-8,The%20answer%20is%2042." }
]

describe("files", () => {
  it("that are attached in a chat go with the message, are shown again, and go again by their ids", async () => {
    await using service = await openWithDocuments(InMemory.layer)
    const begun: Array<string> = []
    const transport = new ColloquyTransport({ ...clientOptions(service), onThread: (id) => void begun.push(id) })
    const chat = openChat(service, "a chat", { transport })
    await chat.sendMessage({ text: "What is it?", files: picked })
    assert.strictEqual(chat.status, "ready", String(chat.error))
    const [id] = begun
    const { body } = await service.call("GET", `/threads/${id}`)
    assert.deepStrictEqual(
      body.messages[0].attachments.map(({ filename, mime_type }: Record<string, string>) => [filename, mime_type]),
      [
        ["dot.png", "image/png"],
        ["file-2.txt", "text/plain"]
      ]
    )
    const answer = chat.lastMessage?.parts.map((part) => (part.type === "text" ? part.text : part.type)).join("")
    assert.include(answer, '"type":"image"')
    assert.include(answer, "The answer is 42.")
    const sources = chat.lastMessage?.parts.flatMap((part) => (part.type === "source-document" ? [part.filename] : []))
    assert.isTrue(sources?.includes("file-2.txt"))

    const messages = uiMessages(body)
    const [question] = messages
    const files = question?.parts.flatMap((part) => (part.type === "file" ? [part] : [])) ?? []
    assert.deepStrictEqual(
      files.map(({ filename, mediaType }) => [filename, mediaType]),
      [
        ["dot.png", "image/png"],
        ["file-2.txt", "text/plain"]
      ]
    )
    const bytes = await service.handler(new Request(`http://in.process${files[1]?.url}`))
    assert.strictEqual(await bytes.text(), "The answer is 42.")

    const again = openChat(service, String(id), { messages })
    await again.regenerate()
    assert.strictEqual(again.status, "ready", String(again.error))
    const { messages: stored } = (await service.call("GET", `/threads/${id}`)).body
    assert.lengthOf(stored, 2)
    assert.deepStrictEqual(
      stored[0].attachments.map(({ document_id }: Record<string, string>) => document_id),
      body.messages[0].attachments.map(({ document_id }: Record<string, string>) => document_id)
    )
    assert.lengthOf((await service.call("GET", `/threads/${id}/documents`)).body, 2)
  })

  it("go through the route as well, and what cannot be sent is the chat's error", async () => {
    await using service = await openWithDocuments(InMemory.layer)
    const route = chatRoute({ handler: service.handler })
    const transport = new DefaultChatTransport<Message>({
      api: "http://in.process/chat",
      headers: { "x-api-key": keys.ada },
      fetch: (input, init) => route(new Request(input, init))
    })
    const id = await newThread(service)
    const chat = new Chat<Message>({ id, transport })
    await chat.sendMessage({ text: "What is it?", files: picked })
    assert.strictEqual(chat.status, "ready", String(chat.error))
    assert.lengthOf((await service.call("GET", `/threads/${id}/documents`)).body, 2)
    const elsewhere = {
      ...picked[1],
      type: "file" as const,
      mediaType: "text/plain",
      url: "https://else.example/a.txt"
    }
    const broken = { ...elsewhere, url: "data:text/plain;base64,%%%" }
    for (const each of [chat, openChat(service, id)]) {
      for (const file of [elsewhere, broken]) {
        await each.sendMessage({ text: "And this?", files: [file] })
        assert.match(String(each.error), /data URL/u)
      }
    }
    const body = JSON.stringify({ id, messages: [{ id: "m", role: "user", parts: [elsewhere] }] })
    const init = { method: "POST", headers: { "x-api-key": keys.ada }, body }
    assert.strictEqual((await route(new Request("http://in.process/chat", init))).status, 422)
    await using plain = await open([])
    const without = openChat(plain, await newThread(plain))
    await without.sendMessage({ text: "What is it?", files: picked })
    assert.match(String(without.error), /not available/u)
  })

  it("that the model makes, and the pages that it rests on, are parts of the answer, now and later", async () => {
    await using service = await openPainting(
      [[callTool("generate_image", { prompt: "A fox" }), callTool("web_search", { query: "foxes" })], say("Here [1].")],
      InMemory.layer
    )
    const images = { image_generation: "auto", image_model_provider: "painter", image_model_name: "oil" } as const
    const transport = new ColloquyTransport({ ...clientOptions(service), message: { ...images, web_search: "Auto" } })
    const id = await newThread(service)
    const chat = openChat(service, id, { transport })
    await chat.sendMessage({ text: "A fox" })
    const stored = uiMessages((await service.call("GET", `/threads/${id}`)).body)
    for (const message of [chat.lastMessage, stored.at(-1)]) {
      const files = message?.parts.flatMap((part) => (part.type === "file" ? [part.mediaType] : []))
      const pages = message?.parts.flatMap((part) => (part.type === "source-url" ? [part.url] : []))
      assert.deepStrictEqual([files, pages], [["image/png"], ["https://foxes.example/"]])
    }
  })
})
