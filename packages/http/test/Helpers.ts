/** Assistants that ask others, over HTTP and on every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, fail, gate, say, uses } from "@colloquy/testing"
import { tool as hostedTool } from "@colloquy/core/promises"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { MessageResponse } from "../src/wire/Records.ts"
import { StreamEvent } from "../src/wire/StreamEvents.ts"
import { allEvents, keys, open, type Service, tool } from "./Service.ts"

const usage = (inputTokens: number, outputTokens: number, costUsd: number) =>
  uses({ inputTokens, outputTokens, costUsd })

/** Nothing goes out that is not described. */
const strictly = (schema: Schema.Decoder<unknown>) => Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })

const assistant = async (service: Service, body: object): Promise<string> =>
  (await service.call("POST", "/assistants", body)).body.assistant_id

const helper = (assistant_id: string, name: string) => ({ assistant_id, name, description: `Asks ${name}` })

export const helperStories = (stores: () => Layer.Layer<InMemory.Stores>): void => {
  it("a helper is a tool whose answers come from a thread of its own; usage, inspection and runs belong together", async () => {
    const steps = [
      [callTool("poet", { message: "A verse on tea" }, "c1"), usage(10, 1, 0.1)],
      [say("Tea, ", "tea."), usage(20, 2, 0.2)],
      [say("He says: Tea, tea."), usage(30, 3, 0.3)],
      [callTool("poet", { message: "Another" }, "c2"), usage(1, 1, 0.1)],
      [fail("quota")],
      [say("He is silent."), usage(1, 1, 0.1)]
    ]
    await using service = await open(steps, { stores: stores() })
    const poet = await assistant(service, { name: "Poet", system_prompt: "You rhyme." })
    const chief = await assistant(service, { name: "Chief", helpers: [helper(poet, "poet")] })
    const { thread_id } = (await service.call("POST", `/assistants/${chief}/threads`)).body
    const thread = `/threads/${thread_id}`
    const send = (content: string) => service.call("POST", `${thread}/messages`, { content })
    const first = (await send("A verse, please")).body
    assert.deepInclude(first, { status: "COMPLETED", content: "He says: Tea, tea.", input_tokens: 60 })
    assert.closeTo(first.cost_usd, 0.6, 1e-9)
    assert.deepStrictEqual(
      service.model.requests[0]?.tools.map(({ name }) => name),
      ["poet"]
    )
    assert.strictEqual(service.model.requests[1]?.system, "You rhyme.")
    strictly(MessageResponse)(first)
    const [child, ...none] = first.helper_runs
    assert.deepInclude(child, { tool_call_id: "c1", name: "poet", assistant_id: poet, status: "COMPLETED" })
    assert.deepStrictEqual(none, [])

    const run = (await service.call("GET", `${thread}/runs/${first.run_id}`)).body
    const own = run.usage_own
    assert.deepStrictEqual(
      [run.input_tokens, own.input_tokens, own.output_tokens, run.parent_run_id],
      [60, 40, 4, null]
    )
    assert.closeTo(own.cost_usd, 0.4, 1e-9)
    const below = (await service.call("GET", `/threads/${child.thread_id}/runs/${child.run_id}`)).body
    assert.deepStrictEqual([below.parent_run_id, below.input_tokens, below.assistant_id], [first.run_id, 20, poet])
    const listed = async (threadId: string) =>
      (await service.call("GET", `/runs?thread_id=${threadId}`)).body.runs.map(
        ({ parent_run_id, run_id }: Record<string, unknown>) => [run_id, parent_run_id]
      )
    assert.deepStrictEqual(await listed(child.thread_id), [[child.run_id, first.run_id]])
    assert.deepStrictEqual(await listed(thread_id), [[first.run_id, null]])
    const inside = (await service.call("GET", `${thread}/runs/${first.run_id}/inspection`)).body
    assert.deepInclude(inside.helpers[0], { tool_call_id: "c1", name: "poet", run_id: child.run_id })
    assert.strictEqual(inside.helpers[0].inspection.prompts[0].parts[0].messages[0].text, "You rhyme.")
    const days = (await service.call("GET", "/billing/usage/recent")).body.data
    const paid = days.reduce((sum: number, day: { amount_deducted_usd: number }) => sum + day.amount_deducted_usd, 0)
    assert.closeTo(paid, 0.6, 1e-9)

    const second = (await send("Again")).body
    assert.deepInclude(second, { status: "COMPLETED", content: "He is silent." })
    const told = service.model.requests.at(-1)?.messages.at(-1)
    assert.match(told?.role === "tool" ? told.output : "", /^Error: poet did not answer\. .*credit/u)
    assert.strictEqual(second.helper_runs[0].thread_id, child.thread_id)
    const { messages, metadata_ } = (await service.call("GET", `/threads/${child.thread_id}`)).body
    assert.deepStrictEqual(
      messages.map(({ content, status }: Record<string, unknown>) => [content, status]),
      [
        ["A verse on tea", "COMPLETED"],
        ["Tea, tea.", "COMPLETED"],
        ["Another", "COMPLETED"],
        [null, "FAILED"]
      ]
    )
    assert.strictEqual(metadata_.parent_thread_id, thread_id)
    assert.strictEqual((await service.call("DELETE", thread)).status, 200)
    assert.strictEqual((await service.call("GET", `/threads/${child.thread_id}`)).status, 404)
  })

  it("an approval inside of a helper is shown and decided at the run above, and in the inbox", async () => {
    const pay = hostedTool({
      name: "pay",
      description: "Pays",
      parameters: { type: "object", properties: { cents: { type: "integer" } }, required: ["cents"] },
      needsApproval: true,
      execute: ({ cents }) => `paid ${JSON.stringify(cents)}`
    })
    const steps = [
      callTool("clerk", { message: "Pay" }, "h"),
      callTool("pay", { cents: 5 }, "a"),
      callTool("pay", { cents: 6 }, "b"),
      say("All paid."),
      say("Done.")
    ]
    await using service = await open(steps, { stores: stores(), hosted: [pay] })
    const clerk = await assistant(service, { name: "Clerk" })
    const chief = await assistant(service, { name: "Chief", helpers: [helper(clerk, "clerk")] })
    const message = { content: "Pay", assistant_id: chief, stream: true }
    const streamed = await allEvents(await service.fetch("POST", "/threads/messages", message))
    const told = streamed.map(({ data }) => data)
    const required = told.find(({ type }) => type === "approval_required")
    assert.deepInclude(required, { tool_call_id: "a", name: "pay" })
    const asked = told.at(-1)
    assert.strictEqual(asked?.type, "tool_submit_required")
    const thread = `/threads/${asked?.thread_id}`
    const runs = (await service.call("GET", "/runs?status=REQUIRES_ACTION")).body.runs
    const below = runs.find(({ parent_run_id }: { parent_run_id: string | null }) => parent_run_id !== null)
    assert.strictEqual(below.parent_run_id, asked?.run_id)
    const call = {
      id: "a",
      type: "function",
      function: { name: "pay", arguments: '{"cents":5}' },
      kind: "approval",
      helper_thread_id: below.thread_id,
      helper_run_id: below.run_id
    }
    const shown = async () => (await service.call("GET", thread)).body.messages.at(-1).tool_calls
    assert.deepStrictEqual(asked?.tool_calls, [call])
    assert.deepStrictEqual(await shown(), [call])

    const decide = (approvals: ReadonlyArray<object>) =>
      service.call("POST", `${thread}/runs/${asked?.run_id}/approvals`, { approvals })
    const wrong = await decide([{ tool_call_id: "x", decision: "approve" }])
    assert.deepStrictEqual([wrong.status, wrong.body.detail[0].loc], [422, ["body", "approvals", 0, "tool_call_id"]])
    const late = { tool_outputs: [{ tool_call_id: "h", output: "I did it." }] }
    const submit = await service.call("POST", `${thread}/runs/${asked?.run_id}/submit-tool-outputs`, late)
    assert.strictEqual(submit.status, 422)
    const again = await decide([{ tool_call_id: "a", decision: "approve" }])
    assert.deepStrictEqual([again.status, again.body.status], [200, "REQUIRES_ACTION"])
    assert.deepStrictEqual(
      [again.body.tool_calls, await shown()].map((calls) => calls.map(({ id }: { id: string }) => id)),
      [["b"], ["b"]]
    )
    const done = await decide([{ tool_call_id: "b", decision: "approve", arguments: { cents: 7 } }])
    assert.deepInclude(done.body, { status: "COMPLETED", content: "Done.", run_id: asked?.run_id })
    assert.deepStrictEqual(
      done.body.helper_runs.map(({ status }: { status: string }) => status),
      ["COMPLETED"]
    )
    assert.strictEqual((await decide([{ tool_call_id: "b", decision: "reject" }])).status, 409)
    const { body: kept } = await service.call("GET", `/threads/${below.thread_id}`)
    assert.include(kept.messages.at(-2).metadata_.tool_outputs[0].output, "paid 7")
  })

  it("helpers may have helpers, two may be asked at once, and a circle ends at a depth of four", async () => {
    const down = callTool("other", { message: "Go on" })
    const steps = [
      callTools(["left", { message: "l" }, "l"], ["right", { message: "r" }, "r"]),
      say("one"),
      say("two"),
      say("both"),
      down,
      down,
      down,
      down,
      ...["four", "three", "two", "one", "done"].map((text) => say(text))
    ]
    await using service = await open(steps, { stores: stores() })
    const leaf = await assistant(service, { name: "Leaf" })
    const root = await assistant(service, { name: "Root", helpers: [helper(leaf, "left"), helper(leaf, "right")] })
    const both = (await service.call("POST", "/threads/messages", { content: "?", assistant_id: root })).body
    assert.strictEqual(both.content, "both")
    assert.sameMembers(
      both.helper_runs.map(({ status }: { status: string }) => status),
      ["COMPLETED", "COMPLETED"]
    )
    const circle = await assistant(service, { name: "Circle" })
    const path = `/assistants/${circle}`
    assert.strictEqual((await service.call("PUT", path, { helpers: [helper(circle, "other")] })).status, 200)
    const ended = (await service.call("POST", "/threads/messages", { content: "?", assistant_id: circle })).body
    assert.strictEqual(ended.content, "done")
    const offered = service.model.requests.slice(4).map(({ tools }) => tools.length)
    assert.deepStrictEqual(offered, [1, 1, 1, 1, 0, 1, 1, 1, 1])
  })

  it("helpers that are unknown, wrong or share a name are refused with their place", async () => {
    await using service = await open([], { stores: stores() })
    const mine = await assistant(service, { name: "Mine" })
    const theirs = (await service.call("POST", "/assistants", { name: "Theirs" }, { key: keys.bob })).body.assistant_id
    const nobody = "0199a5a0-0000-7000-8000-000000000000"
    const wrong: ReadonlyArray<readonly [body: object, ...places: ReadonlyArray<string>]> = [
      [{ helpers: [helper(theirs, "a")] }, "helpers.0.assistant_id"],
      [
        { helpers: [helper(mine, "a"), helper(nobody, "b")], handoffs: [helper(nobody, "c")] },
        "helpers.1.assistant_id",
        "handoffs.0.assistant_id"
      ],
      [{ helpers: [helper("x", "a")] }, "helpers.0.assistant_id"],
      [{ helpers: [helper(mine, "a b")] }, "helpers.0.name"],
      [{ handoffs: [helper(mine, "a".repeat(53))] }, "handoffs.0.name"],
      [{ helpers: [helper(mine, "a"), helper(mine, "a")] }, "helpers.1.name"],
      [{ helpers: Array.from({ length: 33 }, (_, index) => helper(mine, `a${index}`)) }, "helpers"],
      [{ helpers: [{ assistant_id: mine }] }, "helpers.0.name", "helpers.0.description"]
    ]
    for (const [body, ...places] of wrong) {
      for (const refused of [
        await service.call("POST", "/assistants", { name: "A", ...body }),
        await service.call("PUT", `/assistants/${mine}`, body)
      ]) {
        assert.strictEqual(refused.status, 422, JSON.stringify(body))
        const found = refused.body.detail.map(({ loc }: { loc: ReadonlyArray<unknown> }) => loc.slice(1).join("."))
        assert.includeMembers(found, [...places])
      }
    }
    const tools = [{ type: "function", function: { name: "clash" } }]
    const clash = await assistant(service, { name: "Clash", helpers: [helper(mine, "clash")] })
    const send = (fields: object) =>
      service.call("POST", "/threads/messages", { content: "?", assistant_id: clash, ...fields })
    assert.deepStrictEqual((await send({ tools })).body.detail[0].loc, ["body", "tools", 0, "function", "name"])
  })

  it("the stream tells the run of a helper, and a cancel goes down to it", async () => {
    await using service = await open([callTool("slow", { message: "Wait" }, "c"), [say("I "), gate("never")]], {
      stores: stores()
    })
    const slow = await assistant(service, { name: "Slow" })
    const chief = await assistant(service, { name: "Chief", helpers: [helper(slow, "slow")] })
    const { thread_id } = (await service.call("POST", `/assistants/${chief}/threads`)).body
    const sent = await service.fetch("POST", `/threads/${thread_id}/messages`, { content: "?", stream: true })
    const events = allEvents(sent)
    const reader = async () => {
      const { runs } = (await service.call("GET", `/threads/${thread_id}/runs`)).body
      return runs[0]?.run_id as string
    }
    await service.run(service.model.reached("never"))
    const run_id = await reader()
    const cancelled = await service.call("POST", `/threads/${thread_id}/runs/${run_id}/cancel`)
    assert.strictEqual(cancelled.body.status, "CANCELLED")
    const all = await events
    all.forEach(({ data }) => strictly(StreamEvent)(data))
    const started = all.find(({ data }) => data.type === "helper_started")?.data
    assert.deepInclude(started, { name: "slow", tool_call_id: "c", run_id })
    const child = (await service.call("GET", `/threads/${started.helper_thread_id}/runs/${started.helper_run_id}`)).body
    assert.deepStrictEqual([child.status, child.parent_run_id], ["CANCELLED", run_id])
  })

  it("a conversation is handed over within a turn, stays with the other assistant, goes through its tools, and back", async () => {
    const steps = [
      [say("One moment."), callTool("hand_off_to_sales", { reason: "A price" }, "h1"), usage(1, 1, 0.1)],
      [callTool("price", {}, "p1"), usage(2, 1, 0.2)],
      [say("Three."), usage(4, 1, 0.4)],
      say("Still three."),
      callTool("hand_back", { reason: "Done" }, "h2"),
      say("Welcome back."),
      say("Yes?")
    ]
    await using service = await open(steps, { stores: stores() })
    const sales = await assistant(service, { name: "Sales", system_prompt: "You sell.", tools: [tool("price")] })
    const desk = await assistant(service, {
      name: "Desk",
      system_prompt: "You greet.",
      handoffs: [helper(sales, "sales")]
    })
    const { thread_id } = (await service.call("POST", `/assistants/${desk}/threads`)).body
    const thread = `/threads/${thread_id}`
    const send = async (content: string) => (await service.call("POST", `${thread}/messages`, { content })).body
    const acting = async () => (await service.call("GET", thread)).body.acting_assistant_id

    const asked = await send("What does it cost?")
    assert.deepInclude(asked, { status: "REQUIRES_ACTION", assistant_id: sales, assistant_version: 1 })
    assert.strictEqual(await acting(), sales)
    const events = await allEvents(await service.fetch("GET", `${thread}/runs/${asked.run_id}/events`))
    events.forEach(({ data }) => strictly(StreamEvent)(data))
    const handed = events.find(({ data }) => data.type === "handed_over")?.data
    assert.deepInclude(handed, { name: "hand_off_to_sales", reason: "A price", tool_call_id: "h1" })
    const outputs = { tool_outputs: [{ tool_call_id: "p1", output: "3" }] }
    const path = `${thread}/runs/${asked.run_id}/submit-tool-outputs`
    const told = (await service.call("POST", path, outputs)).body
    assert.deepInclude(told, { status: "COMPLETED", content: "Three.", assistant_id: sales })
    assert.deepInclude(await send("Sure?"), { content: "Still three.", assistant_id: sales })
    const back = await send("Thanks")
    assert.deepInclude(back, { content: "Welcome back.", assistant_id: desk, status: "COMPLETED" })
    assert.isNull(await acting())
    assert.deepInclude(await send("Hello"), { content: "Yes?", assistant_id: desk })

    const seen = service.model.requests.map(({ system, tools }) => [system, tools.map(({ name }) => name).join()])
    const [greets, sells] = [
      ["You greet.", "hand_off_to_sales"],
      ["You sell.", "hand_back,price"]
    ]
    assert.deepStrictEqual(seen, [greets, sells, sells, sells, sells, greets, greets])
    const taken = service.model.requests[1]?.messages.at(-1)
    assert.match(taken?.role === "tool" ? taken.output : "", /handed over.*A price/u)
    const { messages } = (await service.call("GET", thread)).body
    const answers = messages.filter(({ role }: { role: string }) => role === "assistant")
    assert.deepStrictEqual(
      answers.map((answer: Record<string, unknown>) => answer["assistant_id"]),
      [sales, sales, sales, desk, desk]
    )

    await service.call("PUT", thread, { metadata: { a: 1 } })
    const gone = await assistant(service, { name: "Gone" })
    await service.call("PUT", `/assistants/${desk}`, { handoffs: [helper(gone, "gone")] })
    await service.call("DELETE", `/assistants/${gone}`)
    await service.run(
      Effect.sync(() => service.model.append(callTool("hand_off_to_gone", { reason: "?" }), say("I stay.")))
    )
    assert.deepInclude(await send("Go"), { content: "I stay.", assistant_id: desk })
    assert.isNull(await acting())
  })
}
