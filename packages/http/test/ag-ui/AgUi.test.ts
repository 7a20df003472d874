/** Assistants as AG-UI agents: the official client, `HttpAgent` of `@ag-ui/client`, against the wing. */
import { type AgentSubscriber, HttpAgent } from "@ag-ui/client"
import type { BaseEvent, Interrupt, Message, RunFinishedEvent } from "@ag-ui/core"
import { EventSchemas } from "@ag-ui/core/schemas"
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, fail, gate, say, type ScriptStep, think } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { agUi } from "../../src/ag-ui/index.ts"
import { openWithDocuments } from "../DocumentService.ts"
import { keys, open, type Service, type ServiceOptions } from "../Service.ts"
import { until } from "../../../../test/until.ts"

const openAgUi = (script: ReadonlyArray<ScriptStep>, options: ServiceOptions = {}) =>
  open(script, { ...options, http: { ...options.http, wings: [agUi] } })

const newAssistant = async (service: Service, fields: object = {}, key?: string): Promise<string> =>
  (await service.call("POST", "/assistants", { name: "a", ...fields }, key === undefined ? {} : { key })).body
    .assistant_id

interface Seen {
  readonly agent: HttpAgent
  readonly events: Array<BaseEvent>
  readonly ask: (text: string, more?: Parameters<HttpAgent["runAgent"]>[0]) => Promise<ReadonlyArray<BaseEvent>>
  readonly run: (more?: Parameters<HttpAgent["runAgent"]>[0]) => Promise<ReadonlyArray<BaseEvent>>
}

let count = 0

const makeAgent = (
  service: Pick<Service, "handler">,
  assistantId: string,
  { key = keys.ada, ...config }: Partial<ConstructorParameters<typeof HttpAgent>[0]> & { readonly key?: string } = {}
): Seen => {
  const agent = new HttpAgent({
    url: `http://in.process/ag-ui/${assistantId}`,
    headers: { "x-api-key": key },
    fetch: (url, init) => service.handler(new Request(url, init)),
    ...config
  })
  const events: Array<BaseEvent> = []
  const subscriber: AgentSubscriber = {
    onEvent: ({ event }) => {
      EventSchemas.parse(event)
      events.push(event)
    }
  }
  agent.subscribe(subscriber)
  const run: Seen["run"] = async (more) => {
    const from = events.length
    await agent.runAgent(more)
    return events.slice(from)
  }
  return {
    agent,
    events,
    run,
    ask: (text, more) => {
      agent.addMessage({ id: `user-${++count}`, role: "user", content: text })
      return run(more)
    }
  }
}

const types = (events: ReadonlyArray<BaseEvent>) => events.map(({ type }) => type as string)

const finish = (events: ReadonlyArray<BaseEvent>): RunFinishedEvent => {
  const last = events.at(-1)
  assert.strictEqual(last?.type as string, "RUN_FINISHED", JSON.stringify(last))
  return last as RunFinishedEvent
}

const interrupts = (events: ReadonlyArray<BaseEvent>): ReadonlyArray<Interrupt> => {
  const { outcome } = finish(events)
  return outcome?.type === "interrupt" ? outcome.interrupts : assert.fail(JSON.stringify(outcome))
}

const shown = (messages: ReadonlyArray<Message>) =>
  messages.map((message) => [
    message.role,
    "content" in message ? message.content : undefined,
    ...(message.role === "assistant" ? (message.toolCalls ?? []).map((call) => call.function.name) : [])
  ])

const clock = {
  definition: { name: "clock", description: null, parameters: null },
  run: () => Effect.succeed("noon")
}

const pay = (paid: Array<unknown>) => ({
  definition: { name: "pay", description: null, parameters: null },
  needsApproval: true as const,
  run: (args: object) => Effect.sync(() => `paid ${paid.push(args)}`)
})

const weather = { name: "weather", description: "The weather", parameters: { type: "object", properties: {} } }

const hasAnswer = ({ agent }: Seen) => agent.messages.some(({ role }) => role === "assistant")

const stored = async (service: Service, { agent }: Seen, key = keys.ada) =>
  (await service.call("GET", `/threads/${agent.state.colloquy.thread_id}`, undefined, { key })).body.messages

describe("an assistant as an AG-UI agent", () => {
  it("streams reasoning and text, shares its state, and goes on with the conversation", async () => {
    await using service = await openAgUi([[think("Well"), say("Hel", "lo.")], say("Again.")])
    const client = makeAgent(service, await newAssistant(service), { initialState: { page: 3 } })
    const events = await client.ask("Hi")
    assert.deepStrictEqual(types(events), [
      "RUN_STARTED",
      "STATE_SNAPSHOT",
      "STEP_STARTED",
      "REASONING_START",
      "REASONING_MESSAGE_START",
      "REASONING_MESSAGE_CONTENT",
      "REASONING_MESSAGE_END",
      "REASONING_END",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "STEP_FINISHED",
      "STATE_DELTA",
      "RUN_FINISHED"
    ])
    assert.deepStrictEqual(finish(events).outcome, { type: "success" })
    assert.isAbove(finish(events).usage?.[0]?.totalTokens ?? 0, 0)
    assert.strictEqual(client.agent.state.page, 3)
    assert.strictEqual(client.agent.state.colloquy.status, "completed")
    await client.ask("And?")
    assert.deepStrictEqual(shown(client.agent.messages), [
      ["user", "Hi"],
      ["reasoning", "Well"],
      ["assistant", "Hello."],
      ["user", "And?"],
      ["assistant", "Again."]
    ])
    assert.lengthOf(await stored(service, client), 4)
    const texts = service.model.requests.at(-1)?.messages.map(({ role }) => role)
    assert.deepStrictEqual(texts, ["user", "assistant", "user"])
  })

  it("gives the model what the application says: its state, its context, its instructions", async () => {
    await using service = await openAgUi([say("Yes.")])
    const id = await newAssistant(service, { system_prompt: "Be kind." })
    const client = makeAgent(service, id, {
      initialState: { cart: ["tea"] },
      initialMessages: [{ id: "d", role: "developer", content: "Answer in French." }]
    })
    await client.ask("Hi", { context: [{ description: "The page", value: "checkout" }] })
    const system = service.model.requests[0]?.system ?? ""
    for (const words of ["Be kind.", "Answer in French.", "The page:\ncheckout", '{"cart":["tea"]}'])
      assert.include(system, words)
  })

  it("lets the client run its own tools, and shows what the server has run", async () => {
    const script = [
      [say("Let me see."), callTool("clock", {}, "h")],
      callTool("weather", { city: "Oslo" }, "c"),
      say("Rain.")
    ]
    await using service = await openAgUi(script, { hosted: [clock] })
    const client = makeAgent(service, await newAssistant(service))
    const events = await client.ask("Weather?", { tools: [weather] })
    assert.deepStrictEqual(finish(events).outcome, { type: "success", pendingToolCallIds: ["c"] })
    client.agent.addMessage({ id: "t", role: "tool", toolCallId: "c", content: '{"rain":true}' })
    await client.run({ tools: [weather] })
    assert.deepStrictEqual(shown(client.agent.messages), [
      ["user", "Weather?"],
      ["assistant", "Let me see.", "clock"],
      ["tool", "noon"],
      ["assistant", undefined, "weather"],
      ["tool", '{"rain":true}'],
      ["assistant", "Rain."]
    ])
    assert.deepInclude(service.model.requests.at(-1)?.messages.at(-1), { role: "tool", output: '{"rain":true}' })
  })

  it("keeps results and the message after them in order", async () => {
    await using service = await openAgUi([callTool("weather", {}, "c"), say("Rain."), say("Bye.")])
    const client = makeAgent(service, await newAssistant(service))
    await client.ask("Weather?", { tools: [weather] })
    client.agent.addMessage({ id: "t", role: "tool", toolCallId: "c", content: "rain" })
    await client.ask("Thanks", { tools: [weather] })
    assert.deepStrictEqual(
      (await stored(service, client)).map(({ content }: { content: string | null }) => content),
      ["Weather?", null, "Rain.", "Thanks", "Bye."]
    )
    assert.strictEqual(shown(client.agent.messages).at(-1)?.[1], "Bye.")
  })

  it("asks for approvals as interrupts, and goes on with the decisions", async () => {
    const paid: Array<unknown> = []
    const script = [
      callTools(["pay", { cents: 5 }, "a"], ["pay", { cents: 6 }, "b"], ["weather", {}, "c"]),
      say("Done.")
    ]
    await using service = await openAgUi(script, { hosted: [pay(paid)] })
    const client = makeAgent(service, await newAssistant(service))
    const events = await client.ask("Pay", { tools: [weather] })
    assert.deepStrictEqual(
      interrupts(events).map(({ id, reason, toolCallId }) => [id, reason, toolCallId]),
      [
        ["a", "tool_call", "a"],
        ["b", "tool_call", "b"]
      ]
    )
    assert.include(types(events), "MESSAGES_SNAPSHOT")
    client.agent.addMessage({ id: "t", role: "tool", toolCallId: "c", content: "sun" })
    const resume = [
      { interruptId: "a", status: "resolved" as const, payload: { approved: true, editedArgs: { cents: 4 } } },
      { interruptId: "b", status: "resolved" as const, payload: { approved: false, reason: "Too much." } }
    ]
    const after = await client.run({ resume, tools: [weather] })
    assert.deepStrictEqual(paid, [{ cents: 4 }])
    const results = after.filter(({ type }) => (type as string) === "TOOL_CALL_RESULT")
    assert.deepStrictEqual(
      results.map((event) => ("toolCallId" in event && "content" in event ? [event.toolCallId, event.content] : [])),
      [
        ["b", "Rejected: Too much."],
        ["a", "paid 1"]
      ]
    )
    assert.strictEqual(shown(client.agent.messages).at(-1)?.[1], "Done.")
    assert.deepStrictEqual(client.agent.pendingInterrupts, [])
  })

  const refusals: ReadonlyArray<readonly [string, object, string]> = [
    ["no decision", { messages: [{ id: "u2", role: "user", content: "Hurry" }] }, "interrupts_open"],
    ["one of two", { resume: [{ interruptId: "a", status: "cancelled" }] }, "interrupts_open"],
    [
      "a strange payload",
      { resume: ["a", "b"].map((interruptId) => ({ interruptId, status: "resolved", payload: 3 })) },
      "invalid_resume"
    ],
    ["an unknown call", { resume: [{ interruptId: "x", status: "cancelled" }] }, "unknown_interrupt"]
  ]
  it.each(refusals)("answers %s with RUN_ERROR, and the run waits on", async (_, fields, code) => {
    await using service = await openAgUi([callTools(["pay", {}, "a"], ["pay", {}, "b"])], { hosted: [pay([])] })
    const id = await newAssistant(service)
    await makeAgent(service, id, { threadId: "t" }).ask("Pay")
    const answer = await service.call("POST", `/ag-ui/${id}`, { threadId: "t", runId: "r", messages: [], ...fields })
    assert.deepStrictEqual([answer.status, answer.headers.get("content-type")], [200, "text/event-stream"])
    const event = JSON.parse(answer.text.replace("data: ", ""))
    assert.deepStrictEqual([event.type, event.code], ["RUN_ERROR", code])
    const look = makeAgent(service, id, { threadId: "t" })
    assert.lengthOf(interrupts(await look.run()), 2)
  })

  it("does nothing twice: the same run again is told from its beginning, and so are the same decisions", async () => {
    const paid: Array<unknown> = []
    await using service = await openAgUi([callTool("pay", {}, "a"), say("Done.")], { hosted: [pay(paid)] })
    const id = await newAssistant(service)
    const client = makeAgent(service, id, { threadId: "t" })
    const first = await client.ask("Pay", { runId: "one" })
    const again = makeAgent(service, id, { threadId: "t", initialMessages: client.agent.messages })
    assert.deepStrictEqual(interrupts(await again.run({ runId: "one" })), interrupts(first))
    const resume = [{ interruptId: "a", status: "resolved" as const, payload: { approved: true } }]
    await client.run({ resume })
    await again.run({ resume })
    assert.lengthOf(paid, 1)
    assert.deepStrictEqual(shown(again.agent.messages), shown(client.agent.messages))
    assert.lengthOf(await stored(service, client), 3)
  })

  it("takes a decision under the id of the run that asked, with the decision as the call's message, as React's parts do", async () => {
    const paid: Array<unknown> = []
    await using service = await openAgUi([callTool("pay", {}, "a"), say("Done.")], { hosted: [pay(paid)] })
    const client = makeAgent(service, await newAssistant(service), { threadId: "t" })
    await client.ask("Pay", { runId: "one" })
    client.agent.addMessage({ id: "m", role: "tool", toolCallId: "a", content: '{"approved":true}' })
    const resume = [{ interruptId: "a", status: "resolved" as const, payload: { approved: true } }]
    await client.run({ runId: "one", resume })
    await client.run({ runId: "one", resume })
    assert.lengthOf(paid, 1)
    assert.deepStrictEqual(shown(client.agent.messages).at(-1), ["assistant", "Done."])
  })

  it("ends a failed run with RUN_ERROR, and asks again when the client runs once more", async () => {
    await using service = await openAgUi([fail("quota"), say("Now.")])
    const client = makeAgent(service, await newAssistant(service))
    const failed = await client.ask("Hi").catch(() => client.events)
    assert.strictEqual(failed.at(-1)?.type as string, "RUN_ERROR")
    await client.run()
    assert.deepStrictEqual(shown(client.agent.messages), [
      ["user", "Hi"],
      ["assistant", "Now."]
    ])
    assert.lengthOf(await stored(service, client), 2)
  })

  it("follows a run whose client was lost, and shows the conversation to a new page", async () => {
    await using service = await openAgUi([[say("Hel"), gate(), say("lo.")]])
    const id = await newAssistant(service)
    const client = makeAgent(service, id, { threadId: "t" })
    const lost = client.ask("Hi").catch(() => [])
    await until(() => hasAnswer(client))
    client.agent.abortRun()
    await lost
    const page = makeAgent(service, id, { threadId: "t" })
    const events = page.run()
    await until(() => hasAnswer(page))
    await service.run(service.model.release())
    finish(await events)
    const hello = [
      ["user", "Hi"],
      ["assistant", "Hello."]
    ]
    assert.deepStrictEqual(shown(page.agent.messages), hello)
    await client.run()
    assert.deepStrictEqual(shown(client.agent.messages), hello)
    const later = makeAgent(service, id, { threadId: "t" })
    assert.deepStrictEqual(types(await later.run()), [
      "RUN_STARTED",
      "MESSAGES_SNAPSHOT",
      "STATE_SNAPSHOT",
      "RUN_FINISHED"
    ])
    assert.deepStrictEqual(shown(later.agent.messages), hello)
  })

  it("keeps owners apart: the same thread id is another conversation, another's ids are unknown", async () => {
    await using service = await openAgUi([say("For Ada."), say("For Bob.")])
    const [hers, his] = [await newAssistant(service), await newAssistant(service, {}, keys.bob)]
    const [ada, bob] = [
      makeAgent(service, hers, { threadId: "t" }),
      makeAgent(service, his, { threadId: "t", key: keys.bob })
    ]
    await ada.ask("Hi")
    await bob.ask("Hi")
    assert.notStrictEqual(ada.agent.state.colloquy.thread_id, bob.agent.state.colloquy.thread_id)
    assert.strictEqual(shown(bob.agent.messages).at(-1)?.[1], "For Bob.")
    const foreign = { threadId: ada.agent.state.colloquy.thread_id, runId: "r", messages: [] }
    const unknown = await service.call("POST", `/ag-ui/${hers}`, foreign, { key: keys.bob })
    assert.deepStrictEqual([unknown.status, unknown.body.detail], [404, `There is no assistant ${hers}.`])
    const other = makeAgent(service, his, { threadId: foreign.threadId, key: keys.bob })
    await other.run()
    assert.deepStrictEqual(other.agent.messages, [])
    assert.strictEqual((await service.call("POST", `/ag-ui/${hers}`, foreign, { key: null })).status, 401)
  })

  it("takes threads of the API, with their own ids, of this assistant alone", async () => {
    await using service = await openAgUi([say("One."), say("Two.")])
    const id = await newAssistant(service)
    const { thread_id } = (await service.call("POST", "/threads/messages", { content: "Hi", assistant_id: id })).body
    const client = makeAgent(service, id, { threadId: thread_id })
    await client.ask("And?")
    assert.deepStrictEqual(shown(client.agent.messages), [
      ["user", "Hi"],
      ["assistant", "One."],
      ["user", "And?"],
      ["assistant", "Two."]
    ])
    const other = { threadId: thread_id, runId: "r", messages: [] }
    const { text } = await service.call("POST", `/ag-ui/${await newAssistant(service)}`, other)
    assert.include(text, "other_assistant")
  })

  it("takes the fields of a message from the application, and names what is wrong with them", async () => {
    await using service = await openAgUi([say('{"city":"Oslo"}')])
    const client = makeAgent(service, await newAssistant(service))
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const events = await client.ask("Where?", { forwardedProps: { colloquy: { output_schema: schema } } })
    assert.deepStrictEqual(finish(events).result, { city: "Oslo" })
    assert.deepStrictEqual(client.agent.state.colloquy.output, { city: "Oslo" })
    const wrong = {
      threadId: "t",
      runId: "r",
      messages: [],
      forwardedProps: { colloquy: { model_options: { seed: "x" } } }
    }
    const { body, status } = await service.call("POST", `/ag-ui/${await newAssistant(service)}`, wrong)
    assert.strictEqual(status, 422)
    assert.deepStrictEqual(body.detail[0].loc, ["body", "forwardedProps", "colloquy", "model_options", "seed"])
  })

  it("keeps files that come with a message as documents of its thread", async () => {
    await using service = await openWithDocuments(InMemory.layer, { http: { wings: [agUi] } })
    const client = makeAgent(service, await newAssistant(service))
    client.agent.addMessage({
      id: "u",
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "document", source: { type: "data", value: btoa("A note."), mimeType: "text/plain" } }
      ]
    })
    finish(await client.run())
    const [question] = await stored(service, client)
    assert.strictEqual(question.attachments[0].filename, "text-1.txt")
  })

  it("names every problem of a body that is no RunAgentInput", async () => {
    await using service = await openAgUi([])
    const id = await newAssistant(service)
    const { body, status } = await service.call("POST", `/ag-ui/${id}`, { threadId: 1, messages: [{ role: "user" }] })
    assert.strictEqual(status, 422)
    const places = body.detail.map(({ loc }: { loc: ReadonlyArray<string> }) => loc.join("."))
    assert.includeMembers(places, ["body.threadId", "body.runId"])
    assert.strictEqual((await service.call("GET", `/ag-ui/${id}`)).status, 405)
  })
})
