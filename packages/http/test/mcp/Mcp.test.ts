/** An owner's assistants, threads and documents over MCP: the official client, in the stateless revision and in those before it. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { InMemory } from "@colloquy/adapters/in-memory"
import { PersonAsked } from "@colloquy/core"
import type { HostedCall } from "@colloquy/core/adapters"
import { callTool, callTools, fail, gate, say, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { mcp } from "../../src/mcp/index.ts"
import { openWithDocuments } from "../DocumentService.ts"
import { keys, open, type Service, type ServiceOptions, tool } from "../Service.ts"
import { until } from "../../../../test/until.ts"

const modern = { mode: { pin: "2026-07-28" } } as const
const legacy = { mode: "legacy" } as const
const revisions = [
  ["2026-07-28", modern],
  ["2025-11-25", legacy]
] as const

const openMcp = (script: ReadonlyArray<ScriptStep>, options: ServiceOptions = {}) =>
  open(script, { ...options, http: { ...options.http, wings: [mcp] } })

interface Connecting {
  readonly revision?: typeof modern | typeof legacy
  readonly key?: string
  readonly answer?: (message: string) => {
    readonly action: "accept" | "decline"
    readonly content?: Record<string, string | boolean | number>
  }
}

const connect = async (
  service: Pick<Service, "handler">,
  { answer, key = keys.ada, revision = modern }: Connecting = {}
) => {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: revision, capabilities: answer === undefined ? {} : { elicitation: {} } }
  )
  if (answer !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => answer(params.message))
  const transport = new StreamableHTTPClientTransport(new URL("http://in.process/mcp"), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    fetch: (url, init) => service.handler(new Request(url, init))
  })
  await client.connect(transport)
  return client
}

const newAssistant = async (service: Service, fields: object, key = keys.ada): Promise<string> =>
  (await service.call("POST", "/assistants", fields, { key })).body.assistant_id

const firstTool = async (client: Client) => (await client.listTools()).tools[0] ?? assert.fail("There is no tool.")

const pay = (paid: Array<unknown>) => ({
  definition: { name: "pay", description: null, parameters: null },
  needsApproval: true as const,
  run: (args: object) => Effect.sync(() => `paid ${paid.push(args)}`)
})

const resultText = (result: Awaited<ReturnType<Client["callTool"]>>) =>
  result.content.map((each) => (each.type === "text" ? each.text : each.type)).join("\n")

describe.each(revisions)("in the revision %s", (_, revision) => {
  it("each assistant is a tool, and a conversation goes on", async () => {
    await using service = await openMcp([say("Hello."), say("Again.")])
    const id = await newAssistant(service, {
      name: "Café: the first!",
      description: "Greets",
      tools: [tool("weather")]
    })
    const client = await connect(service, { revision })
    const { description, name, title } = await firstTool(client)
    assert.deepStrictEqual([description, title], ["Greets", "Café: the first!"])
    assert.match(name, /^[A-Za-z0-9_-]{1,64}$/u)
    assert.include(name, id.replaceAll("-", ""))
    const first = await client.callTool({ name, arguments: { message: "Hi", thread_id: "" } })
    assert.strictEqual(resultText(first), "Hello.")
    const { thread_id } = first.structuredContent as { thread_id: string }
    await client.callTool({ name, arguments: { message: "And?", thread_id } })
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    assert.deepStrictEqual(
      messages.map(({ content }: { content: string }) => content),
      ["Hi", "Hello.", "And?", "Again."]
    )
    assert.deepStrictEqual(service.model.requests[0]?.tools, [], "nobody would run the client's tools")
    await client.close()
  })

  it("threads and documents are resources", async () => {
    await using service = await openWithDocuments(InMemory.layer, { http: { wings: [mcp] } })
    const id = await newAssistant(service, { name: "a" })
    const client = await connect(service, { revision })
    const asked = await client.callTool({ name: (await firstTool(client)).name, arguments: { message: "Hi" } })
    assert.notStrictEqual(asked.isError, true, resultText(asked))
    const form = new FormData()
    form.set("file", new File(["A note."], "note.txt", { type: "text/plain" }))
    await service.call("POST", `/assistants/${id}/documents`, form)
    const { resources } = await client.listResources()
    const [thread, document] = resources
    assert.deepStrictEqual([resources.length, document?.name, document?.size], [2, "note.txt", 7])
    const read = async (uri = "") => (await client.readResource({ uri })).contents[0]
    assert.deepInclude(await read(document?.uri), { mimeType: "text/plain", text: "A note." })
    const conversation = await read(thread?.uri)
    const upper = (uri = "") => uri.replace(/[^/]+$/u, (part) => part.toUpperCase())
    assert.deepInclude(await read(upper(document?.uri)), { uri: upper(document?.uri), text: "A note." })
    assert.deepInclude(await read(upper(thread?.uri)), { ...conversation, uri: upper(thread?.uri) })
    assert.match(
      conversation !== undefined && "text" in conversation ? conversation.text : "",
      /^## user, .*\n\nHi\n\n## assistant, /u
    )
    assert.lengthOf((await client.listResourceTemplates()).resourceTemplates, 2)
    const unknown = `colloquy://threads/${globalThis.crypto.randomUUID()}`
    for (const uri of [unknown, "file:///etc/passwd", "colloquy://threads/x"])
      assert.match(String(await read(uri).catch((error: unknown) => error)), /-32602|not found/iu)
    await client.close()
  })

  it("another owner sees and reaches nothing of it", async () => {
    await using service = await openMcp([say("Secret.")])
    await newAssistant(service, { name: "a" })
    const ada = await connect(service, { revision })
    const { name } = await firstTool(ada)
    const { structuredContent } = await ada.callTool({ name, arguments: { message: "Hi" } })
    const { thread_id } = structuredContent as { thread_id: string }
    const bob = await connect(service, { revision, key: keys.bob })
    assert.deepStrictEqual((await bob.listTools()).tools, [])
    assert.deepStrictEqual((await bob.listResources()).resources, [])
    const failures = [
      bob.readResource({ uri: `colloquy://threads/${thread_id}` }),
      bob.callTool({ name, arguments: { message: "Hi" } })
    ]
    for (const failure of failures) assert.match(String(await failure.catch((error: unknown) => error)), /Error/u)
    await newAssistant(service, { name: "b" }, keys.bob)
    const taken = await bob.callTool({ name: (await firstTool(bob)).name, arguments: { message: "Hi", thread_id } })
    assert.deepStrictEqual([taken.isError, resultText(taken)], [true, `There is no thread ${thread_id}.`])
    const stranger = await connect(service, { revision, key: "wrong" }).catch((error: unknown) => error)
    assert.instanceOf(stranger, Error)
  })

  it("what is wrong is told to the model that called", async () => {
    await using service = await openMcp([fail("quota")])
    await newAssistant(service, { name: "a" })
    const client = await connect(service, { revision })
    const { name } = await firstTool(client)
    const wrong = await client.callTool({ name, arguments: { words: "Hi" } })
    assert.strictEqual(wrong.isError, true)
    assert.include(resultText(wrong), "message")
    const failed = await client.callTool({ name, arguments: { message: "Hi" } })
    assert.isTrue(failed.isError)
    assert.include(resultText(failed), "no credit left")
  })
})

describe("a call that needs an approval", () => {
  it("asks the person behind the client, and goes on with the decision", async () => {
    const paid: Array<unknown> = []
    const script = [callTools(["pay", { cents: 5 }, "a"], ["pay", { cents: 6 }, "b"]), say("Paid.")]
    await using service = await openMcp(script, { hosted: [pay(paid)] })
    await newAssistant(service, { name: "a" })
    const client = await connect(service, {
      answer: (message) =>
        message.includes('"cents":6') ? { action: "decline" } : { action: "accept", content: { approved: true } }
    })
    const result = await client.callTool({ name: (await firstTool(client)).name, arguments: { message: "Pay" } })
    assert.deepStrictEqual([resultText(result), paid], ["Paid.", [{ cents: 5 }]])
    const { messages } = (
      await service.call("GET", `/threads/${(result.structuredContent as { thread_id: string }).thread_id}`)
    ).body
    assert.lengthOf(messages, 3)
  })

  it("hands on the form of a tool that asks in the middle of its call", async () => {
    const seats = { type: "object", properties: { seats: { type: "integer" } }, required: ["seats"] } as const
    const book = {
      definition: { name: "book", description: null, parameters: null },
      run: (_: object, { answer }: HostedCall) =>
        answer === undefined
          ? Effect.fail(new PersonAsked({ message: "How many?", schema: seats, state: null }))
          : Effect.succeed(`${answer.action} ${JSON.stringify(answer.content)}`)
    }
    const script = [callTool("book", {}, "a"), say("Booked."), callTool("book", {}, "b"), say("Not booked.")]
    await using service = await openMcp(script, { hosted: [book] })
    await newAssistant(service, { name: "a" })
    const asked: Array<string> = []
    const client = await connect(service, {
      answer: (message) =>
        asked.push(message) === 1 ? { action: "accept", content: { seats: 2 } } : { action: "decline" }
    })
    const { name } = await firstTool(client)
    const call = { name, arguments: { message: "Book" } }
    assert.deepStrictEqual(
      [resultText(await client.callTool(call)), resultText(await client.callTool(call)), asked],
      ["Booked.", "Not booked.", ["How many?", "How many?"]]
    )
    const outputs = service.model.requests.flatMap(({ messages }) =>
      messages.flatMap((message) => (message.role === "tool" ? [message.output] : []))
    )
    assert.deepStrictEqual(outputs, ['accept {"seats":2}', "decline {}"])
  })

  it.each(revisions)("where nobody can be asked (%s), it waits, and the result says where", async (_, revision) => {
    await using service = await openMcp([callTool("pay", {}, "a")], { hosted: [pay([])] })
    await newAssistant(service, { name: "a" })
    const client = await connect(service, { revision })
    const result = await client.callTool({ name: (await firstTool(client)).name, arguments: { message: "Pay" } })
    const { run_id, status, thread_id } = result.structuredContent as Record<string, string>
    assert.strictEqual(status, "REQUIRES_ACTION")
    assert.include(resultText(result), `/threads/${thread_id}/runs/${run_id}/approvals`)
  })
})

describe("a call under way", () => {
  it("tells its progress, and ends with its client", async () => {
    await using service = await openMcp([[say("Hel"), gate(), say("lo.")]])
    await newAssistant(service, { name: "a" })
    const client = await connect(service)
    const controller = new AbortController()
    const heard: Array<string | undefined> = []
    const { name } = await firstTool(client)
    const call = client
      .callTool(
        { name, arguments: { message: "Hi" } },
        { signal: controller.signal, onprogress: ({ message }) => void heard.push(message) }
      )
      .catch(() => "ended")
    await until(() => heard.length > 0)
    controller.abort()
    assert.strictEqual(await call, "ended")
    const runs = async () => (await service.call("GET", "/runs")).body.runs
    while ((await runs())[0]?.status === "IN_PROGRESS");
    assert.deepStrictEqual([(await runs())[0]?.status, heard], ["CANCELLED", ["The assistant reads."]])
  })

  it("is not begun twice under one Idempotency-Key", async () => {
    await using service = await openMcp([say("Once.")])
    const id = await newAssistant(service, { name: "a" })
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: `a_${id.replaceAll("-", "")}`, arguments: { message: "Hi" } }
    }
    const headers = { "idempotency-key": "k", accept: "application/json, text/event-stream" }
    const first = await service.call("POST", "/mcp", body, { headers })
    assert.include(first.text, "Once.")
    assert.strictEqual((await service.call("POST", "/mcp", body, { headers })).text, first.text)
    assert.deepStrictEqual(
      [(await service.call("GET", "/mcp")).status, (await service.call("POST", "/mcp", body, { key: null })).status],
      [405, 401]
    )
  })

  const batch = async (service: Service, ...messages: ReadonlyArray<string>) => {
    const id = await newAssistant(service, { name: "a" })
    const name = `a_${id.replaceAll("-", "")}`
    return messages.map((message, index) => ({
      jsonrpc: "2.0",
      id: index,
      method: "tools/call",
      params: { name, arguments: { message } }
    }))
  }
  const accept = "application/json, text/event-stream"

  it("that stands in a batch with others has an answer of its own under their Idempotency-Key", async () => {
    await using service = await openMcp([say("Yes."), say("Yes.")])
    const body = await batch(service, "One?", "Two?")
    const headers = { "idempotency-key": "k", accept }
    for (let attempt = 0; attempt < 2; attempt++) {
      const { text } = await service.call("POST", "/mcp", body, { headers })
      const runs = [...text.matchAll(/"run_id":"([^"]+)"/gu)].map(([, run]) => run)
      assert.lengthOf(new Set(runs), 2, text)
    }
    assert.lengthOf(service.model.requests, 2)
  })

  it("counts as a request, also in a batch", async () => {
    await using service = await openMcp([], { quota: { requestsPerMinute: 3 }, extra: TestClock.layer() })
    const body = await batch(service, "One?", "Two?", "Three?")
    const { status } = await service.call("POST", "/mcp", body, { headers: { accept } })
    assert.deepStrictEqual([status, service.model.requests.length], [429, 0])
  })
})
