/** Approvals over HTTP: two kinds of open calls in one step, two people, wrong requests, repeats, foreign owners, OpenAI's clients. */
import { callTool, callTools, say } from "@colloquy/testing"
import { type HostedTool, PersonAsked } from "@colloquy/core"
import { tool as hostedTool } from "@colloquy/core/promises"
import { assert, describe, it } from "@effect/vitest"
import { openai } from "../src/openai/index.ts"
import { allEvents, keys, open, type Service, tool } from "./Service.ts"

const payOut = (paid: Array<unknown>): HostedTool =>
  hostedTool({
    name: "pay",
    description: "Pays money out",
    parameters: { type: "object", properties: { cents: { type: "integer", minimum: 1 } }, required: ["cents"] },
    needsApproval: true,
    execute: (args) => {
      paid.push(args)
      return "paid"
    }
  })

const approve = (tool_call_id: string, more: object = {}) => ({ tool_call_id, decision: "approve", ...more })
const reject = (tool_call_id: string, more: object = {}) => ({ tool_call_id, decision: "reject", ...more })

const waiting = async (service: Service, fields: object = {}) => {
  const { body, status } = await service.call("POST", "/threads/messages", { content: "Pay", ...fields })
  assert.strictEqual(status, 200)
  const path = `/threads/${body.thread_id}/runs/${body.run_id}`
  return {
    asked: body,
    decide: (approvals: ReadonlyArray<object>, more: object = {}, call: object = {}) =>
      service.call("POST", `${path}/approvals`, { approvals, ...more }, call),
    submit: (outputs: ReadonlyArray<object>, call: object = {}) =>
      service.call("POST", `${path}/submit-tool-outputs`, { tool_outputs: outputs }, call),
    thread: async () => (await service.call("GET", `/threads/${body.thread_id}`)).body,
    path
  }
}

const places = (body: { readonly detail: ReadonlyArray<{ readonly loc: ReadonlyArray<string | number> }> }) =>
  body.detail.map(({ loc }) => loc.join("."))

it("a tool that asks in the middle of its call shows its form, and every place where an answer does not fit", async () => {
  const form = {
    type: "object",
    properties: { seats: { type: "integer" }, name: { type: "string" } },
    required: ["seats", "name"]
  } as const
  const book = hostedTool({
    name: "book",
    description: "Books a table",
    parameters: { type: "object", properties: { day: { type: "string" } } },
    execute: (_, { answer }) => {
      if (answer === undefined) throw new PersonAsked({ message: "For how many?", schema: form, state: "secret" })
      return `${answer.action} ${JSON.stringify(answer.content)}`
    }
  })
  const script = [callTool("book", { day: "Friday" }, "a"), say("Booked."), callTool("book", {}, "b")]
  await using service = await open(script, { hosted: [book] })
  const run = await waiting(service)
  assert.deepStrictEqual(run.asked.tool_calls, [
    {
      id: "a",
      type: "function",
      kind: "approval",
      question: { message: "For how many?", schema: form },
      function: { name: "book", arguments: '{"day":"Friday"}' }
    }
  ])
  const wrong = await run.decide([approve("a", { arguments: { seats: "two" } })])
  assert.deepStrictEqual(
    [wrong.status, places(wrong.body).toSorted()],
    [422, ["body.approvals.0.arguments.name", "body.approvals.0.arguments.seats"]]
  )
  assert.strictEqual(
    (await run.decide([approve("a", { arguments: { seats: 2, name: "Ada" } })])).body.content,
    "Booked."
  )
  const { messages } = await run.thread()
  assert.deepInclude(messages[1].metadata_.tool_outputs[0], { output: 'accept {"seats":2,"name":"Ada"}' })
  const streamed = await service.fetch("POST", "/threads/messages", { content: "Again", stream: true })
  const asked = (await allEvents(streamed)).find(({ data }) => data.type === "approval_required")
  assert.deepInclude(asked?.data, { name: "book", question: { message: "For how many?", schema: form } })
  assert.notInclude(JSON.stringify([run.asked, messages, asked]), "secret")
})

describe("approvals", () => {
  it("wait beside the client's calls, and the run goes on when none is open", async () => {
    const paid: Array<unknown> = []
    await using service = await open(
      [callTools(["pay", { cents: 5 }, "a"], ["weather", {}, "c"], ["pay", { cents: 6 }, "b"]), say("Done.")],
      { hosted: [payOut(paid)] }
    )
    const run = await waiting(service, { tools: [tool("weather")] })
    assert.strictEqual(run.asked.status, "REQUIRES_ACTION")
    const kinds = run.asked.tool_calls.map((call: { id: string; kind: string }) => [call.id, call.kind])
    assert.deepStrictEqual(kinds, [
      ["a", "approval"],
      ["c", "client"],
      ["b", "approval"]
    ])

    const wrong = await run.decide([
      approve("x"),
      approve("c"),
      approve("a", { arguments: { cents: 0 } }),
      reject("b", { arguments: { cents: 1 } }),
      reject("b")
    ])
    assert.deepStrictEqual(
      [wrong.status, places(wrong.body)],
      [
        422,
        [
          "body.approvals.0.tool_call_id",
          "body.approvals.1.tool_call_id",
          "body.approvals.3.arguments",
          "body.approvals.4.tool_call_id"
        ]
      ]
    )
    const edited = await run.decide([approve("a", { arguments: { cents: 0 } })])
    assert.deepStrictEqual([edited.status, places(edited.body)], [422, ["body.approvals.0.arguments.cents"]])
    for (const approvals of [[], "all", [{ tool_call_id: "a", decision: "maybe" }], [approve("a", { arguments: [] })]])
      assert.strictEqual((await service.call("POST", `${run.path}/approvals`, { approvals })).status, 422)
    const output = await run.submit([{ tool_call_id: "a", output: "1" }])
    assert.deepStrictEqual([output.status, output.body.detail[0].type], [422, "needs_approval"])
    assert.strictEqual((await run.decide([approve("a")], {}, { key: keys.bob })).status, 404)

    const key = { headers: { "idempotency-key": "first" } }
    const first = await run.decide([approve("a", { arguments: { cents: 50 } })], {}, key)
    assert.deepStrictEqual([first.status, first.body], [202, { open: ["c", "b"] }])
    assert.deepStrictEqual((await run.decide([approve("a", { arguments: { cents: 50 } })], {}, key)).body, first.body)
    assert.strictEqual((await run.decide([approve("a")], {}, key)).status, 409)
    assert.strictEqual((await run.decide([approve("a")])).status, 409)
    const half = await run.submit([{ tool_call_id: "c", output: "sun" }])
    assert.deepStrictEqual([half.status, half.body], [202, { open: ["b"] }])
    assert.strictEqual((await run.submit([{ tool_call_id: "c", output: "sun" }])).status, 422)
    assert.deepStrictEqual((await run.thread()).messages[1].metadata_.tool_outputs[0].output, null)

    const events = await allEvents(
      await service.fetch("POST", `${run.path}/approvals`, {
        approvals: [reject("b", { reason: "No." })],
        stream: true
      })
    )
    assert.deepStrictEqual(
      events.map(({ data }) => data.type).filter((type) => type !== "content_streaming"),
      ["run_continuing", "run_ended"]
    )
    assert.deepStrictEqual(paid, [{ cents: 50 }])
    const outputs = (await run.thread()).messages[1].metadata_.tool_outputs
    assert.deepInclude(outputs[0], {
      tool_call_id: "a",
      output: "paid",
      decision: "approve",
      arguments: '{"cents":50}'
    })
    assert.deepInclude(outputs[2], { tool_call_id: "b", decision: "reject", reason: "No." })

    const again = await run.decide([reject("b", { reason: "Still no." })])
    assert.deepStrictEqual([again.status, again.body.content], [200, "Done."])
    assert.strictEqual((await run.decide([approve("b")])).status, 409)
    assert.lengthOf(paid, 1)
  })

  it("are told in the stream before the run pauses, and run once when many press at once", async () => {
    const paid: Array<unknown> = []
    await using service = await open([callTool("pay", { cents: 5 }, "a"), say("Done.")], { hosted: [payOut(paid)] })
    const events = await allEvents(await service.fetch("POST", "/threads/messages", { content: "Pay", stream: true }))
    const [approval, end] = events.slice(-2).map(({ data }) => data)
    assert.deepInclude(approval, {
      type: "approval_required",
      tool_call_id: "a",
      name: "pay",
      arguments: '{"cents":5}',
      expires_at: null
    })
    assert.strictEqual(end.tool_calls[0].kind, "approval")
    const path = `/threads/${end.thread_id}/runs/${end.run_id}/approvals`
    const pressed = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        service.call("POST", path, { approvals: [index % 2 === 0 ? approve("a") : reject("a")] })
      )
    )
    const wins = pressed.filter(({ status }) => status === 200)
    assert.deepStrictEqual([wins.length, pressed.filter(({ status }) => status === 409).length], [4, 4])
    for (const { body } of wins) assert.strictEqual(body.content, "Done.")
    assert.isAtMost(paid.length, 1)
  })

  it("end the answers of OpenAI's clients with the reason", async () => {
    const paid: Array<unknown> = []
    const steps = [
      callTool("pay", { cents: 1 }, "a"),
      callTool("pay", { cents: 1 }, "a"),
      callTool("pay", { cents: 1 }, "a")
    ]
    await using service = await open(steps, { hosted: [payOut(paid)], http: { wings: [openai] } })
    const messages = [{ role: "user", content: "Pay" }]
    const model = "scripted/scripted-model"
    const bearer = { key: null, headers: { authorization: `Bearer ${keys.ada}` } }
    const chat = await service.call("POST", "/v1/chat/completions", { model, messages }, bearer)
    assert.deepStrictEqual([chat.status, chat.body.error.code], [409, "approval_required"])
    const streamed = await service.call("POST", "/v1/chat/completions", { model, messages, stream: true }, bearer)
    assert.include(streamed.text, '"code":"approval_required"')
    const response = await service.call("POST", "/v1/responses", { model, input: "Pay" }, bearer)
    assert.deepInclude(response.body, { status: "incomplete", incomplete_details: { reason: "approval_required" } })
    assert.deepStrictEqual([response.body.output, paid], [[], []])
  })
})
