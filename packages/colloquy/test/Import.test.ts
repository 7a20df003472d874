/** Conversations of other systems, read and imported: what the model reads in the next turn. */
import type { BetaManagedAgentsSessionEvent } from "@anthropic-ai/sdk/resources/beta/sessions/events"
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages"
import { fromAnthropic, fromLangGraph, fromOpenAi, fromUiMessages } from "colloquy/import"
import { say, TestKernel } from "colloquy/testing"
import type { ImportedMessage } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import type { UIMessage } from "ai"

const called = { id: "c1", name: "weather", arguments: '{"city":"Oslo"}' }
const expected: ReadonlyArray<unknown> = [
  { role: "user", content: "How is Oslo?" },
  { role: "assistant", content: "Let me look.", toolCalls: [called] },
  { role: "tool", toolCallId: "c1", content: '{"rain":true}' },
  { role: "assistant", content: "It rains." }
]

const ui: Array<UIMessage> = [
  { id: "0", role: "system", parts: [{ type: "text", text: "Be brief." }] },
  { id: "1", role: "user", parts: [{ type: "text", text: "How is Oslo?" }] },
  {
    id: "2",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "Let me look." },
      {
        type: "tool-weather",
        toolCallId: "c1",
        state: "output-available",
        input: { city: "Oslo" },
        output: { rain: true }
      },
      { type: "step-start" },
      { type: "text", text: "It rains." }
    ]
  }
]

const items = [
  { type: "message", role: "user", content: [{ type: "input_text", text: "How is Oslo?" }] },
  { type: "reasoning", summary: [] },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "Let me look." }] },
  { type: "function_call", call_id: "c1", name: "weather", arguments: called.arguments },
  { type: "function_call_output", call_id: "c1", output: '{"rain":true}' },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "It rains." }] }
]

const completions = [
  { role: "developer", content: "Be brief." },
  { role: "user", content: "How is Oslo?" },
  {
    role: "assistant",
    content: "Let me look.",
    tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: called.arguments } }]
  },
  { role: "tool", tool_call_id: "c1", content: '{"rain":true}' },
  { role: "assistant", content: "It rains." }
]

const call = { id: "c1", name: "weather", args: { city: "Oslo" } }
const stored = [
  { type: "human", data: { content: "How is Oslo?" } },
  { type: "ai", data: { content: [{ type: "text", text: "Let me look." }, { type: "tool_use" }], tool_calls: [call] } },
  { type: "tool", data: { content: '{"rain":true}', tool_call_id: "c1" } },
  { type: "ai", data: { content: "It rains." } }
]
const serialised = stored.map(({ data, type }) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", { human: "HumanMessage", ai: "AIMessage", tool: "ToolMessage" }[type]],
  kwargs: data
}))
const live = stored.map(({ data, type }) => ({ ...data, getType: () => type }))

describe("the readers of colloquy/import", () => {
  it.each([
    ["messages of the AI SDK", fromUiMessages(ui)],
    ["items of a conversation", fromOpenAi({ object: "list", data: items })],
    ["messages of chat completions", fromOpenAi(completions)],
    ["stored messages of LangChain", fromLangGraph({ values: { messages: stored } })],
    ["serialised messages of LangChain", fromLangGraph(serialised)],
    ["messages of a LangGraph state", fromLangGraph({ messages: live })]
  ])("read %s", async (_, messages) => {
    assert.deepStrictEqual([...messages], expected)
    await using kernel = await TestKernel.open([say("Yes.")])
    const { id } = await kernel.assistants.create({ name: "Reader" })
    const thread = await kernel.threads.import({ assistantId: id, messages })
    await kernel.send({ threadId: thread.id, content: "Still?" })
    assert.deepStrictEqual(
      (await kernel.threads.get(thread.id)).messages.map(({ imported, role }) => [role, imported === true]),
      [
        ["user", true],
        ["assistant", true],
        ["assistant", true],
        ["user", false],
        ["assistant", false]
      ]
    )
  })

  it("read the Assistants API's messages in the order of speaking, with their times", () => {
    const message = (role: string, value: string, created_at: number) => ({
      object: "thread.message",
      role,
      created_at,
      content: [{ type: "text", text: { value, annotations: [] } }]
    })
    assert.deepStrictEqual(
      [
        ...fromOpenAi({
          object: "list",
          data: [message("assistant", "Hi.", 1700000001), message("user", "Hello", 1700000000)]
        })
      ],
      [
        { role: "user", content: "Hello", createdAt: "2023-11-14T22:13:20.000Z" },
        { role: "assistant", content: "Hi.", createdAt: "2023-11-14T22:13:21.000Z" }
      ]
    )
  })

  const at = (second: number) => `2026-11-23T10:00:0${second}.000Z`
  const events: ReadonlyArray<BetaManagedAgentsSessionEvent> = [
    { type: "user.message", id: "1", processed_at: at(1), content: [{ type: "text", text: "How is Oslo?" }] },
    { type: "session.status_running", id: "2", processed_at: at(1) },
    { type: "agent.thinking", id: "3", processed_at: at(2) },
    { type: "agent.message", id: "4", processed_at: at(2), content: [{ type: "text", text: "Let me look." }] },
    { type: "agent.custom_tool_use", id: "c1", processed_at: at(3), name: "weather", input: { city: "Oslo" } },
    {
      type: "agent.mcp_tool_use",
      id: "c9",
      processed_at: at(3),
      name: "secret",
      input: {},
      mcp_server_name: "below",
      session_thread_id: "t2"
    },
    {
      type: "user.custom_tool_result",
      id: "5",
      processed_at: at(4),
      custom_tool_use_id: "c1",
      content: [{ type: "text", text: '{"rain":true}' }]
    },
    { type: "agent.message", id: "6", processed_at: at(5), content: [{ type: "text", text: "It rains." }] }
  ]
  const messages: ReadonlyArray<MessageParam> = [
    { role: "user", content: "How is Oslo?" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "s" },
        { type: "text", text: "Let me look." },
        { type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } }
      ]
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: '{"rain":true}' }] },
    { role: "assistant", content: [{ type: "text", text: "It rains." }] }
  ]
  const withoutTimes = (read: ReadonlyArray<ImportedMessage>) => read.map(({ createdAt: _, ...message }) => message)

  it("read sessions of Anthropic's managed agents in either order, and messages of its API", () => {
    for (const exported of [events, { data: events.toReversed() }, messages])
      assert.deepStrictEqual(withoutTimes(fromAnthropic(exported)), expected)
    assert.strictEqual(fromAnthropic(events)[0]?.createdAt, at(1))
    const [, asked, failed] = fromAnthropic([
      events[0],
      { type: "agent.mcp_tool_use", id: "m", name: "search", input: { q: "tea" }, mcp_server_name: "web" },
      {
        type: "agent.mcp_tool_result",
        mcp_tool_use_id: "m",
        is_error: true,
        content: [{ type: "text", text: "down" }]
      },
      { type: "agent.tool_use", id: "d", name: "bash", input: {} },
      { type: "user.tool_confirmation", tool_use_id: "d", result: "deny", deny_message: "No." },
      { type: "agent.message", content: [{ type: "text", text: "Sorry." }] }
    ])
    assert.deepInclude(asked, { toolCalls: [{ id: "m", name: "search", arguments: '{"q":"tea"}' }] })
    assert.deepInclude(failed, { role: "tool", toolCallId: "m", content: "Error: down" })
  })

  it("read a conversation of an export of claude.ai, with its files by name", () => {
    const created_at = at(1)
    const chat_messages = [
      { sender: "human", text: "Read this.", content: [], attachments: [{ file_name: "a.txt" }], created_at },
      { sender: "assistant", text: "", content: [{ type: "text", text: "It says hello." }], created_at: at(2) }
    ]
    assert.deepStrictEqual(withoutTimes(fromAnthropic({ uuid: "u", name: "n", chat_messages })), [
      { role: "user", content: "Read this.\n\n[A file was here: a.txt]" },
      { role: "assistant", content: "It says hello." }
    ])
  })

  it("read anything without a fault, and give every call in the middle an output", () => {
    for (const read of [fromOpenAi, fromLangGraph, fromAnthropic])
      for (const odd of [null, 7, "x", {}, [null, 1, [], {}, { role: 1, content: {} }, { type: "ai" }, { data: 1 }]])
        assert.deepStrictEqual([...read(odd)], [])
    const open = [
      { role: "assistant", content: null, toolCalls: [called] },
      ...fromOpenAi(completions.slice(1, 3)).slice(2)
    ]
    assert.strictEqual(open.length, 1)
    assert.deepStrictEqual(
      fromOpenAi([...completions.slice(1, 3), completions[4]]).map(({ role }) => role),
      ["user", "assistant", "tool", "assistant"]
    )
  })
})

describe("forks, rewinds and their like without Effect", () => {
  it("continue, cut and send again", async () => {
    await using kernel = await TestKernel.open(["One.", "Two.", "Again.", "Edited."].map((text) => say(text)))
    const { threadId } = await kernel.send({ content: "1" })
    await kernel.send({ threadId, content: "2" })
    const before = (await kernel.threads.get(threadId)).messages
    const messageId = before[1]?.id ?? ""
    const fork = await kernel.fork({ threadId, messageId })
    assert.deepStrictEqual(fork.forkedFrom, { threadId, messageId })
    assert.lengthOf((await kernel.threads.get(fork.id)).messages, 2)
    const again = await kernel.regenerate({ threadId, messageId: before[3]?.id ?? "" })
    const reply = await again.reply()
    assert.strictEqual(reply.content, "Again.")
    assert.lengthOf((await kernel.threads.get(reply.keptAs ?? "")).messages, 4)
    const edited = await kernel.edit({ threadId, messageId: before[0]?.id ?? "", content: "1 b", in: "fork" })
    assert.deepInclude(await edited.reply(), { content: "Edited.", keptAs: null })
    const { keptAs } = await kernel.rewind({ threadId, messageId })
    assert.lengthOf((await kernel.threads.get(threadId)).messages, 2)
    assert.lengthOf((await kernel.threads.get(keptAs ?? "")).messages, 4)
  })
})
