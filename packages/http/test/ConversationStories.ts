/** Import, fork, rewind, regenerate and edit over the whole surface, the same on every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, gate, say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import { allEvents, keys, open, type Service, tool } from "./Service.ts"

interface Told {
  readonly message_id: string
  readonly content: string | null
  readonly status: string
  readonly run_id: string | null
}

const threadMessages = async (service: Service, threadId: string): Promise<ReadonlyArray<Told>> =>
  (await service.call("GET", `/threads/${threadId}`)).body.messages
const said = (messages: ReadonlyArray<Told>) => messages.map(({ content }) => content)
const idAt = (messages: ReadonlyArray<Told>, place: number) => messages[place]?.message_id ?? "none"

/** Two questions with their answers; the second with a round trip of the client's tool, and options of its own. */
const spoken = async (service: Service) => {
  const tools = [tool("weather")]
  const first = (await service.call("POST", "/threads/messages", { content: "Hello" })).body
  const path = `/threads/${first.thread_id}`
  const options = { model_options: { temperature: 0.5 }, system_prompt: "Be brief.", metadata: '{"a":1}' }
  const asked = (await service.call("POST", `${path}/messages`, { content: "And the sky?", tools, ...options })).body
  const tool_outputs = [{ tool_call_id: asked.tool_calls[0].id, output: "blue" }]
  await service.call("POST", `${path}/runs/${asked.run_id}/submit-tool-outputs`, { tool_outputs })
  return { path, threadId: first.thread_id as string, runId: asked.run_id as string }
}
const script = [say("Hi."), callTool("weather", {}), say("Blue.")]

export const conversationStories = (stores: () => Layer.Layer<InMemory.Stores>): void => {
  describe("a conversation", () => {
    it("is forked at any message: the fork reads the same, and both go on", async () => {
      await using service = await open([...script, say("Fork."), say("Source.")], { stores: stores() })
      const { path, threadId } = await spoken(service)
      const before = await threadMessages(service, threadId)
      for (const [place, { message_id }] of before.entries()) {
        const fork = await service.call("POST", `${path}/fork`, { message_id })
        assert.strictEqual(fork.status, 201)
        assert.deepStrictEqual(fork.body.forked_from, { thread_id: threadId, message_id })
        const plain = ({ message_id: _, ...rest }: Told) => rest
        const copies = await threadMessages(service, fork.body.thread_id)
        // The waiting answer of a fork at a round trip was answered before, so all of it is equal.
        assert.deepStrictEqual(copies.map(plain), before.slice(0, place + 1).map(plain))
        assert.deepStrictEqual(fork.body.messages, copies)
      }
      const whole = (await service.call("POST", `${path}/fork`, { metadata: { a: 1 } })).body
      assert.deepStrictEqual(whole.metadata_, { a: 1 })
      for (const [id, content] of [
        [whole.thread_id, "Fork."],
        [threadId, "Source."]
      ]) {
        const sent = await service.call("POST", `/threads/${id}/messages`, { content: "Go on" })
        assert.deepInclude(sent.body, { status: "COMPLETED", content })
      }
      const [ofFork, ofSource] = service.model.requests.slice(-2)
      assert.deepStrictEqual(ofFork?.messages, ofSource?.messages)
      assert.deepStrictEqual(await threadMessages(service, threadId).then((all) => all.slice(0, 5)), before)
      assert.isNull((await service.call("GET", path)).body.forked_from)
    })

    it("is rewound, and its end is kept with its ids: the kept thread gives the same prompt", async () => {
      await using service = await open([...script, say("a"), say("b"), say("c")], { stores: stores() })
      const { path, runId, threadId } = await spoken(service)
      const before = await threadMessages(service, threadId)
      const copy = (await service.call("POST", `${path}/fork`)).body.thread_id
      const ofMessage = { headers: { "idempotency-key": "message-1" } }
      await service.call("POST", `/threads/${copy}/messages`, { content: "Go on" }, ofMessage)
      const conflict = await service.call("POST", `/threads/${copy}/fork`, {}, ofMessage)
      assert.deepStrictEqual([conflict.status, /another request/u.test(conflict.body.detail)], [409, true])
      const headers = { "idempotency-key": "rewind-1" }
      const body = { message_id: idAt(before, 1) }
      const rewound = await service.call("POST", `${path}/rewind`, body, { headers })
      assert.strictEqual(rewound.status, 200)
      assert.deepStrictEqual(
        await service.call("POST", `${path}/rewind`, body, { headers }).then((again) => again.body),
        rewound.body
      )
      const other = await service.call("POST", `${path}/rewind`, { message_id: idAt(before, 0) }, { headers })
      assert.strictEqual(other.status, 409)
      const kept = rewound.body.kept_as
      assert.deepStrictEqual(await threadMessages(service, threadId), before.slice(0, 2))
      const keptMessages = await threadMessages(service, kept)
      assert.deepStrictEqual(said(keptMessages), said(before))
      assert.deepStrictEqual(keptMessages.slice(2), before.slice(2))
      assert.strictEqual((await service.call("GET", `/threads/${kept}/runs/${runId}`)).status, 200)
      assert.strictEqual((await service.call("GET", `${path}/runs/${runId}`)).status, 404)
      await service.call("POST", `/threads/${kept}/messages`, { content: "Go on" })
      const [ofCopy, ofKept] = service.model.requests.slice(-2)
      assert.strictEqual(JSON.stringify(ofKept?.messages), JSON.stringify(ofCopy?.messages))
      await service.call("POST", `${path}/messages`, { content: "Other" })
      assert.strictEqual(service.model.requests.at(-1)?.messages.length, 3)
      const nothing = await service.call("POST", `${path}/rewind`, {
        message_id: idAt(await threadMessages(service, threadId), 3)
      })
      assert.deepInclude(nothing.body, { kept_as: null })
      const gone = await service.call("POST", `${path}/rewind`, { message_id: idAt(before, 0), keep: false })
      assert.deepInclude(gone.body, { kept_as: null })
      assert.deepStrictEqual(said(await threadMessages(service, threadId)), ["Hello"])
    })

    it("is regenerated and edited in place: with the options of the first time, once for a key, streamed like a message", async () => {
      const steps = [...script, say("Grey."), callTool("weather", {}), say("Red."), say("Green.")]
      await using service = await open(steps, { stores: stores() })
      const { path, threadId } = await spoken(service)
      const before = await threadMessages(service, threadId)
      const headers = { "idempotency-key": "again-1" }
      const again = (place: number, body: object = {}) =>
        service.call("POST", `${path}/messages/${idAt(before, place)}/regenerate`, body, { headers })
      const first = await again(4)
      assert.deepInclude(first.body, { status: "COMPLETED", content: "Grey.", thread_id: threadId })
      const { run_id: _run, ...repeated } = (await again(4)).body
      const { run_id: _first, ...reply } = first.body
      assert.deepStrictEqual(repeated, reply)
      const [asked, resent] = [service.model.requests[1], service.model.requests[3]]
      assert.deepStrictEqual({ ...resent, conversationId: null }, { ...asked, conversationId: null })
      assert.deepStrictEqual(said(await threadMessages(service, threadId)), ["Hello", "Hi.", "And the sky?", "Grey."])
      assert.deepStrictEqual(said(await threadMessages(service, first.body.kept_as)), said(before))
      const now = await threadMessages(service, threadId)
      const at = `${path}/messages/${idAt(now, 2)}`
      const over = { system_prompt: "Be long.", model_options: { seed: 1 }, stream: true }
      const events = await allEvents(await service.fetch("POST", `${at}/edit`, { content: "And the sea?", ...over }))
      assert.strictEqual(events.at(-1)?.data.type, "tool_submit_required")
      const request = service.model.requests.at(-1)
      assert.deepStrictEqual(request?.sampling, { temperature: 0.5, seed: 1 })
      assert.strictEqual(request?.system, "Be long.")
      const last = await threadMessages(service, threadId)
      assert.deepStrictEqual(said(last), ["Hello", "Hi.", "And the sea?", null])
      // The run waits for its client. A rewind past it cancels it.
      const streamed = await allEvents(
        await service.fetch("POST", `${path}/messages/${idAt(last, 0)}/edit`, {
          content: "Bye",
          tools: [],
          stream: true
        })
      )
      const end = streamed.at(-1)?.data
      assert.deepInclude(end, { type: "run_ended", content: "Red." })
      const kept = await threadMessages(service, String(end?.["kept_as"]))
      assert.deepStrictEqual(kept.map(({ status }) => status).at(-1), "CANCELLED")
      const fork = await service.call(
        "POST",
        `${path}/messages/${idAt(await threadMessages(service, threadId), 1)}/regenerate`,
        {
          in: "fork"
        }
      )
      assert.deepInclude(fork.body, { content: "Green.", status: "COMPLETED" })
      assert.notProperty(fork.body, "kept_as")
      assert.notStrictEqual(fork.body.thread_id, threadId)
      assert.deepStrictEqual(said(await threadMessages(service, fork.body.thread_id)), ["Bye", "Green."])
      assert.deepStrictEqual(said(await threadMessages(service, threadId)), ["Bye", "Red."])
    })

    it("is changed by nothing that is refused: a busy thread, a wrong model, an answer to edit, another owner", async () => {
      await using service = await open([say("Hi."), [say("Wait"), gate()]], { stores: stores() })
      const { assistant_id, thread_id } = (await service.call("POST", "/threads/messages", { content: "Hello" })).body
      const path = `/threads/${thread_id}`
      const before = await threadMessages(service, thread_id)
      const [question, answer] = [idAt(before, 0), idAt(before, 1)]
      const status = async (at: string, body: object, key = keys.ada) =>
        (await service.call("POST", `${path}/${at}`, body, { key })).status
      assert.strictEqual(await status(`messages/${answer}/edit`, { content: "x" }), 422)
      assert.strictEqual(await status(`messages/${question}/edit`, {}), 422)
      assert.strictEqual(await status(`messages/${answer}/regenerate`, { llm_provider: "nobody" }), 422)
      assert.strictEqual(await status(`messages/${answer}/regenerate`, { llm_provider: "nobody", in: "fork" }), 422)
      assert.strictEqual(await status(`messages/${answer}/regenerate`, { in: "elsewhere" }), 422)
      const unknown = "01a20967-ebec-77e4-a127-24805fbfb768"
      assert.strictEqual(await status("fork", { message_id: unknown }), 404)
      assert.strictEqual(await status("rewind", { message_id: unknown }), 404)
      assert.strictEqual(await status(`messages/${unknown}/regenerate`, {}), 404)
      for (const [at, body] of [
        ["fork", {}],
        ["rewind", { message_id: question }],
        [`messages/${answer}/regenerate`, {}]
      ] as const)
        assert.strictEqual(await status(at, body, keys.bob), 404)
      const sending = service.call("POST", `${path}/messages`, { content: "Wait" })
      await service.run(service.model.reached())
      assert.strictEqual(await status("fork", {}), 409)
      assert.strictEqual(await status("rewind", { message_id: question }), 409)
      assert.strictEqual(await status(`messages/${answer}/regenerate`, {}), 409)
      assert.strictEqual(await status(`messages/${answer}/regenerate`, { in: "fork" }), 409)
      await service.run(service.model.release())
      await sending
      assert.deepStrictEqual((await threadMessages(service, thread_id)).slice(0, 2), before)
      assert.strictEqual((await service.call("GET", `/assistants/${assistant_id}/threads`)).body.length, 1)
    })

    it("is tried on a scratch thread, which has an address and stands in no list, nor do its runs", async () => {
      await using service = await open([say("It was blue.")], { stores: stores() })
      const { assistant_id } = (await service.call("POST", "/assistants", { name: "Reader" })).body
      const path = `/assistants/${assistant_id}/threads/import`
      const messages = [
        { role: "user", content: "How was the sky?" },
        { role: "assistant", content: "Let me think." }
      ]
      const headers = { "idempotency-key": "scratch-1" }
      const made = await service.call("POST", path, { scratch: true, messages }, { headers })
      assert.strictEqual(made.status, 201)
      assert.strictEqual((await service.call("POST", path, { messages }, { headers })).status, 409)
      const { thread_id } = made.body
      const empty = await service.call("POST", path, { scratch: true, messages: [] })
      assert.deepInclude(empty.body, { messages: [] })
      const sent = await service.call("POST", `/threads/${thread_id}/messages`, { content: "And?" })
      assert.deepInclude(sent.body, { status: "COMPLETED", content: "It was blue." })
      assert.deepStrictEqual((await service.call("GET", `/assistants/${assistant_id}/threads`)).body, [])
      const all = await service.call("GET", "/threads?limit=200")
      assert.notInclude(all.text, thread_id)
      assert.deepStrictEqual((await service.call("GET", `/runs?thread_id=${thread_id}`)).body.runs, [])
      assert.strictEqual((await service.call("GET", `/threads/${thread_id}`)).body.messages.length, 4)
      assert.strictEqual((await service.call("GET", `/threads/${thread_id}`, undefined, { key: keys.bob })).status, 404)
      assert.strictEqual((await service.call("DELETE", `/threads/${thread_id}`)).status, 200)
      const refused = await service.call("POST", path, { scratch: "yes", metadata: 1, messages })
      assert.deepStrictEqual(
        [refused.status, refused.body.detail.map(({ loc }: { loc: ReadonlyArray<string> }) => loc.join("."))],
        [422, ["body.metadata", "body.scratch"]]
      )
    })

    it("is brought from elsewhere, and read by the model like its own", async () => {
      await using service = await open([say("It was blue.")], { stores: stores() })
      const { assistant_id } = (await service.call("POST", "/assistants", { name: "Reader" })).body
      const path = `/assistants/${assistant_id}/threads/import`
      const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"a":1}' } }
      const messages = [
        { role: "user", content: "How is the sky?", created_at: "2024-05-06T07:08:09Z", metadata: { from: "there" } },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: "blue" },
        { role: "assistant", content: "Blue." }
      ]
      const lines = messages.map((message) => `${JSON.stringify(message)}\n`).join("\n")
      const headers = { "idempotency-key": "import-1" }
      const asLines = { headers: { ...headers, "content-type": "application/x-ndjson" } }
      const made = await service.call("POST", path, lines, asLines)
      assert.strictEqual(made.status, 201)
      assert.deepStrictEqual((await service.call("POST", path, lines, asLines)).body, made.body)
      const [question, called, answer] = made.body.messages
      assert.deepInclude(question, {
        content: "How is the sky?",
        created_at: "2024-05-06T07:08:09.000Z",
        metadata_: { from: "there" },
        imported: true,
        run_id: null,
        total_tokens: null
      })
      assert.deepInclude(called, { tool_calls: [{ ...call, kind: "client" }], status: "COMPLETED", imported: true })
      assert.deepInclude(answer, { content: "Blue.", imported: true })
      const { thread_id } = made.body
      const sent = await service.call("POST", `/threads/${thread_id}/messages`, { content: "What was it?" })
      assert.deepInclude(sent.body, { status: "COMPLETED", content: "It was blue." })
      assert.deepStrictEqual(
        service.model.requests[0]?.messages.map(({ role }) => role),
        ["user", "assistant", "tool", "assistant", "user"]
      )
      const json = await service.call("POST", path, { metadata: { title: "Sky" }, messages })
      assert.deepInclude(json.body, { metadata_: { title: "Sky" }, updated_at: json.body.created_at })
      assert.strictEqual(json.body.messages.length, 3)
      assert.strictEqual((await service.call("POST", path, { messages }, { key: keys.bob })).status, 404)
      const wrong = [
        { role: "system", content: "?" },
        { role: "user", content: 7, metadata: [], created_at: "yesterday" },
        { role: "assistant", content: null, tool_calls: [call, { ...call, function: {} }] },
        { role: "user", content: "go on" },
        { role: "tool", content: "late", tool_call_id: "call_1" },
        "no message"
      ]
      const refused = await service.call("POST", path, { messages: wrong })
      assert.strictEqual(refused.status, 422)
      assert.deepStrictEqual(
        refused.body.detail.map(({ loc }: { loc: ReadonlyArray<string | number> }) => loc.slice(2).join(".")),
        [
          "0.role",
          "1.content",
          "1.metadata",
          "1.created_at",
          "2.tool_calls.1.id",
          "2.tool_calls.1.function.name",
          "2.tool_calls.1.function.arguments",
          "2.tool_calls.0",
          "2.tool_calls.1",
          "4.tool_call_id",
          "5"
        ]
      )
      const all = (await service.call("GET", `/assistants/${assistant_id}/threads`)).body
      assert.strictEqual(all.length, 2)
    })
  })
}
