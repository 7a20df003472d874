/** Conversations of other systems, read and imported: what the model reads in the next turn. */
import type { BetaManagedAgentsSessionEvent } from "@anthropic-ai/sdk/resources/beta/sessions/events"
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages"
import { fromAnthropic, fromChatGpt, fromLangGraph, fromOpenAi, fromUiMessages, listEntries } from "colloquy/import"
import { say, TestKernel } from "colloquy/testing"
import type { ImportedMessage } from "@colloquy/core"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
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

const zone = process.env["TZ"]
beforeAll(() => {
  process.env["TZ"] = "America/New_York"
})
afterAll(() => {
  if (zone === undefined) delete process.env["TZ"]
  else process.env["TZ"] = zone
})

describe("times", () => {
  const read = (created_at: unknown) => fromOpenAi([{ role: "user", content: "Hi", created_at }])[0]?.createdAt

  it("are read the same by every server: without a zone they are of UTC", () => {
    for (const time of [
      1772884800,
      1772884800000,
      "2026-03-07T12:00:00",
      "2026-03-07 12:00",
      "2026-03-07T12:00:00.000000",
      "2026-03-07T12:00:00Z",
      "2026-03-07T07:00:00-05:00",
      "2026-03-07 12:00:00+00",
      "2026-03-07T17:30:00+0530"
    ])
      assert.strictEqual(read(time), "2026-03-07T12:00:00.000Z", String(time))
    assert.strictEqual(read("2026-03-07"), "2026-03-07T00:00:00.000Z")
  })

  it("that are none are left out", () => {
    for (const time of ["", "1", "March 7, 2026", "2026-13-07", Number.NaN, 1e300, 1772884800000000, null, {}])
      assert.isUndefined(read(time), JSON.stringify(time))
  })
})

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

  it("tell a file that an assistant of the AI SDK made, in words", () => {
    const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" } as const
    const parts: UIMessage["parts"] = [{ type: "text", text: "Here." }, file, { type: "reasoning", text: "Hm." }]
    assert.deepStrictEqual(
      [...fromUiMessages([{ role: "assistant", parts }])],
      [{ role: "assistant", content: "Here.\n\n[A file was here: image/png]" }]
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

  const node = (id: string, parent: string | null, message: object | null, children: ReadonlyArray<string> = []) => ({
    [id]: { id, parent, children, message }
  })
  const gptSaid = (role: string, parts: ReadonlyArray<unknown>, more: object = {}) => ({
    author: { role, name: null, metadata: {} },
    create_time: 1700000000.5,
    content: { content_type: "text", parts },
    recipient: "all",
    metadata: {},
    ...more
  })
  const gptTool = (name: string, text: string) => ({
    ...gptSaid("tool", []),
    author: { role: "tool", name },
    content: { content_type: "execution_output", text }
  })
  const picture = { content_type: "image_asset_pointer", asset_pointer: "file-service://file-1" }
  const gptTree = {
    ...node("root", null, null),
    ...node("sys", "root", gptSaid("system", ["Be kind."])),
    ...node(
      "set",
      "sys",
      gptSaid("user", [], { content: { content_type: "user_editable_context", user_profile: "x" } })
    ),
    ...node("q-old", "set", gptSaid("user", ["How is Rome?"])),
    ...node(
      "q",
      "set",
      gptSaid("user", ["How is this?", picture], {
        metadata: {
          attachments: [
            { id: "file-1", name: "sky.png" },
            { id: "file-2", name: "list.pdf" }
          ]
        }
      })
    ),
    ...node("t", "q", gptSaid("assistant", [], { content: { content_type: "thoughts", thoughts: ["Hm."] } })),
    ...node(
      "c",
      "t",
      gptSaid("assistant", [], { recipient: "python.run", content: { content_type: "code", text: "print(1)" } })
    ),
    ...node("o", "c", gptTool("python", "1")),
    ...node("f", "o", gptTool("myfiles_browser", "A list.")),
    ...node(
      "a",
      "f",
      gptSaid("assistant", [
        "It rains\ue200cite\ue202turn0\ue201.",
        { content_type: "audio_transcription", text: "Yes." }
      ])
    )
  }

  it("read the shown branch of a conversation of ChatGPT, with its tools, and its files by name", async () => {
    const read = fromChatGpt({ title: "t", current_node: "a", mapping: gptTree })
    assert.strictEqual(read[0]?.createdAt, "2023-11-14T22:13:20.500Z")
    assert.deepStrictEqual(withoutTimes(read), [
      { role: "user", content: "How is this?\n\n[A file was here: sky.png]\n\n[A file was here: list.pdf]" },
      {
        role: "assistant",
        content: null,
        toolCalls: [{ id: "call_4", name: "python_run", arguments: '{"input":"print(1)"}' }]
      },
      { role: "tool", toolCallId: "call_4", content: "1" },
      { role: "assistant", content: null, toolCalls: [{ id: "call_6", name: "myfiles_browser", arguments: "{}" }] },
      { role: "tool", toolCallId: "call_6", content: "A list." },
      { role: "assistant", content: "It rains.\n\nYes." }
    ])
    await using kernel = await TestKernel.open([])
    const { id } = await kernel.assistants.create({ name: "Reader" })
    await kernel.threads.import({ assistantId: id, messages: read })
  })

  it("read what can be reached of a tree with circles and missing parents", () => {
    const question = gptSaid("user", ["Hi"])
    const answer = gptSaid("assistant", ["Yes"], { create_time: 1800000000 })
    const circle = { ...node("a", "b", question), ...node("b", "a", answer) }
    const both = ["Hi", "Yes"]
    for (const [exported, expectedWords] of [
      [{ current_node: "b", mapping: circle }, both],
      [{ mapping: { ...node("a", "__proto__", question), ...node("b", "a", answer) } }, both],
      [{ current_node: "gone", mapping: { ...node("a", "gone", question), ...node("b", "a", answer) } }, both],
      [{ current_node: "constructor", mapping: {} }, []],
      [{ current_node: 7, mapping: { a: 1, b: { message: 3 }, c: { message: { author: 1, content: [] } } } }, []]
    ] as const)
      assert.deepStrictEqual(
        fromChatGpt(exported).map(({ content }) => content),
        [...expectedWords]
      )
    const deep = Object.assign(
      {},
      ...Array.from({ length: 20_000 }, (_, index) => node(`${index}`, `${index - 1}`, question))
    )
    assert.lengthOf(fromChatGpt({ current_node: "19999", mapping: deep }), 20_000)
  })

  const pieces = async function* (text: string, size: number) {
    const bytes = new TextEncoder().encode(text)
    for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
  }
  const entriesIn = async (text: string, size: number) => {
    const found: Array<unknown> = []
    for await (const entry of listEntries(pieces(text, size))) found.push(entry)
    return found
  }

  it("read the entries of a list in pieces of any size", async () => {
    const list = [{ a: '],"\\[é€😀' }, [], [[1], {}], "x,y", 7, null, { nested: { deep: ["}"] } }]
    for (const size of [1, 2, 3, 7, 1000]) {
      assert.deepStrictEqual(await entriesIn(JSON.stringify(list), size), list)
      assert.deepStrictEqual(await entriesIn(`\ufeff${JSON.stringify(list, null, 2)}\n`, size), list)
    }
    for (const [text, problem] of [
      ["", /ends in the middle, in entry 0/u],
      ["{}", /no JSON list/u],
      ["[1, 2", /ends in the middle, in entry 1/u],
      ["[secret]", /^Entry 0 is no JSON\.$/u],
      ["[1}, 2]", /ends in the middle/u],
      ["[] []", /follows the list/u]
    ] as const) {
      const error: unknown = await entriesIn(text, 3).catch((caught: unknown) => caught)
      assert.match(error instanceof Error ? error.message : "none", problem)
    }
  })

  it("read a long list without keeping it, and refuse an entry that is too large", async () => {
    const conversation = JSON.stringify({ current_node: "a", mapping: gptTree, more: "x".repeat(1_000_000) })
    const file = async function* () {
      yield "["
      for (let count = 0; count < 20; count++) yield `${count === 0 ? "" : ","}${conversation}`
      yield "]"
    }
    let read = 0
    for await (const entry of listEntries(file())) read += fromChatGpt(entry).length
    assert.strictEqual(read, 120)
    const endless = async function* () {
      yield '["'
      for (;;) yield "x".repeat(16 * 1024 * 1024)
    }
    const error: unknown = await listEntries(endless())
      .next()
      .catch((caught: unknown) => caught)
    assert.match(error instanceof Error ? error.message : "none", /^Entry 0 has more than/u)
  })

  it("read anything without a fault, and give every call in the middle an output", () => {
    for (const read of [fromOpenAi, fromLangGraph, fromAnthropic, fromChatGpt])
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
