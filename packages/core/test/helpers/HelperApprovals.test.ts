/** Approvals inside of helpers: they come up to the run that asked, and everything goes on from there, in whatever process. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, Crash, say, type ScriptStep, TestKernel, uses } from "@colloquy/testing"
import type { HostedTool } from "@colloquy/core"
import { guard, openKernel, tool } from "@colloquy/core/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { weather } from "../support/Story.ts"

/** Pays out money; `paid` is what was really done, in whatever process. */
const payOut = (paid: Array<unknown>): HostedTool =>
  tool({
    name: "pay",
    description: "Pays money out",
    parameters: { type: "object", properties: { cents: { type: "integer", minimum: 1 } }, required: ["cents"] },
    needsApproval: true,
    execute: (args) => {
      paid.push(args)
      return "paid"
    }
  })

type Open = Awaited<ReturnType<typeof open>>

const open = (steps: ReadonlyArray<ScriptStep>, paid: Array<unknown>, options: TestKernel.TestKernelOptions = {}) =>
  TestKernel.open(steps, { hosted: [payOut(paid)], ...options })

/** A chief above a row of helpers, each of which asks the next. */
const createChief = async (kernel: Open, ...names: ReadonlyArray<string>) => {
  let below = await kernel.assistants.create({ name: "Last" })
  for (const name of names.toReversed()) {
    below = await kernel.assistants.create({
      name: `Above ${name}`,
      helpers: [{ assistantId: below.id, name, description: `Asks ${name}` }]
    })
  }
  return below
}

const ask = (name: string, id = "h") => callTool(name, { message: "Pay" }, id)
const pay = (id = "a") => callTool("pay", { cents: 5 }, id)

const outputs = (kernel: Open) =>
  (kernel.model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))

const statuses = async (kernel: Open) =>
  (await kernel.runs.list({ limit: 20 })).runs
    .map(({ parentRunId, status }) => `${parentRunId === null ? "upper" : "helper"} ${status}`)
    .toSorted((a, b) => (a < b ? -1 : 1))

describe("an approval inside of a helper", () => {
  it("comes up to the run that asked, and its decision goes down: both go on, and usage adds up", async () => {
    const paid: Array<unknown> = []
    const steps = [
      [ask("clerk"), uses({ inputTokens: 1, outputTokens: 0 })],
      [pay(), uses({ inputTokens: 10, outputTokens: 0 })],
      [say("Paid it."), uses({ inputTokens: 100, outputTokens: 0 })],
      [say("Done."), uses({ inputTokens: 1000, outputTokens: 0 })]
    ]
    await using kernel = await open(steps, paid)
    const chief = await createChief(kernel, "clerk")
    const turn = await kernel.start({ content: "Pay", assistantId: chief.id, stream: true })
    const seen: Array<string> = []
    for await (const event of turn.events) seen.push(event._tag)
    assert.deepStrictEqual(seen.slice(-3), ["ApprovalRequired", "ChildEnded", "ToolSubmitRequired"])
    const { runId, threadId } = turn
    const reply = await turn.reply()
    assert.deepInclude(reply, { status: "REQUIRES_ACTION", stopReason: "tools" })
    const [call] = reply.toolCalls
    assert.deepInclude(call, { id: "a", name: "pay", arguments: '{"cents":5}', approval: { expiresAt: null } })
    assert.strictEqual(reply.toolCalls.length, 1)
    const [waiting] = await kernel.approvals.list()
    assert.deepStrictEqual(waiting?.above, { threadId, runId })
    assert.deepStrictEqual(call?.of, { threadId: waiting?.threadId, runId: waiting?.runId })
    const before = (await kernel.threads.get(threadId)).messages.at(-1)
    assert.deepStrictEqual(before?.toolCalls, reply.toolCalls)

    const answered = await kernel.approvals.approve("a")
    assert.deepInclude(answered, { status: "COMPLETED", content: "Done.", runId, threadId })
    assert.deepStrictEqual(outputs(kernel), ["Paid it."])
    assert.deepStrictEqual(paid, [{ cents: 5 }])
    assert.deepStrictEqual(await kernel.approvals.list(), [])
    const { ownUsage, run } = await kernel.report({ threadId, runId })
    assert.strictEqual(run.usage.inputTokens, 1111)
    assert.strictEqual(ownUsage.inputTokens, 1001)
    const asked = (await kernel.threads.get(threadId)).messages[1]
    assert.deepStrictEqual(asked?.toolCalls, [
      { id: "h", name: "clerk", arguments: '{"message":"Pay"}', approval: { expiresAt: null } }
    ])
    // The first decision stands, also where it was given to the run above.
    const repeated = await kernel.approvals.approve({ id: "a", threadId, runId })
    assert.strictEqual(repeated.content, "Done.")
    const late = kernel.approvals.reject({ id: "a", threadId, runId })
    assert.deepInclude(await late.catch((error: unknown) => error), { _tag: "AlreadyDecided", decided: "approved" })
    assert.strictEqual(paid.length, 1)
  })

  it("gives the answer of the helper to the run above rewritten, and then cut", async () => {
    const steps = [ask("clerk"), pay(), say("Paid with BEGIN abc END of the bank."), say("Done.")]
    const noKeys = guard({ before: (text) => text.replace(/BEGIN[\s\S]*?END/gu, "[key]") })
    const guarded = Layer.provideMerge(
      noKeys,
      TestKernel.layer(steps, { hosted: [payOut([])], settings: { maxToolResult: 18 } })
    )
    await using kernel = TestKernel.withTools(
      await openKernel(Layer.provideMerge(guarded, TestKernel.clock()), { owner: "owner" })
    )
    const chief = await createChief(kernel, "clerk")
    await kernel.send({ content: "Pay", assistantId: chief.id })
    await kernel.approvals.approve("a")
    assert.deepStrictEqual(outputs(kernel), ["Paid with [key] of"])
  })

  it("is decided at the helper's run too; the run above goes on, without a caller", async () => {
    const paid: Array<unknown> = []
    await using kernel = await open([ask("clerk"), pay(), say("No."), say("He refused.")], paid)
    const chief = await createChief(kernel, "clerk")
    const { runId, threadId } = await kernel.send({ content: "Pay", assistantId: chief.id })
    const [waiting] = await kernel.approvals.list()
    if (waiting === undefined) return assert.fail("nothing waits")
    const { id, runId: inner, threadId: innerThread } = waiting
    const reply = await kernel.approvals.reject({ id, runId: inner, threadId: innerThread }, { reason: "Too much" })
    assert.deepInclude(reply, { content: "No.", runId: inner })
    await kernel.adjust("10 seconds")
    const { run } = await kernel.report({ threadId, runId })
    assert.strictEqual(run.status, "COMPLETED")
    assert.deepStrictEqual(outputs(kernel), ["No."])
    assert.deepStrictEqual(paid, [])
  })

  it("comes up through two helpers, and a second one after the first", async () => {
    const paid: Array<unknown> = []
    const steps = [ask("desk", "h1"), ask("clerk", "h2"), pay("a"), pay("b"), say("Twice."), say("Up."), say("Done.")]
    await using kernel = await open(steps, paid)
    const chief = await createChief(kernel, "desk", "clerk")
    const first = await kernel.send({ content: "Pay", assistantId: chief.id })
    const { runId, threadId } = first
    assert.deepStrictEqual(
      first.toolCalls.map(({ id }) => id),
      ["a"]
    )
    const second = await kernel.approvals.approve({ id: "a", threadId, runId })
    assert.deepInclude(second, { status: "REQUIRES_ACTION", runId })
    assert.deepStrictEqual(
      second.toolCalls.map(({ id }) => id),
      ["b"]
    )
    // The stored answer shows what is open now.
    const shown = (await kernel.threads.get(threadId)).messages.at(-1)
    assert.deepStrictEqual(shown?.toolCalls, second.toolCalls)
    const last = await kernel.approvals.approve({ id: "b", threadId, runId }, { arguments: { cents: 7 } })
    assert.deepInclude(last, { status: "COMPLETED", content: "Done." })
    assert.deepStrictEqual(paid, [{ cents: 5 }, { cents: 7 }])
    assert.deepStrictEqual(await statuses(kernel), ["helper COMPLETED", "helper COMPLETED", "upper COMPLETED"])
  })

  it("waits beside the client's calls and others' approvals; a call that two runs wait for is decided where it waits", async () => {
    const paid: Array<unknown> = []
    const steps = [
      callTools(["clerk", { message: "Pay" }, "h"], ["pay", { cents: 1 }, "a"], ["weather", {}, "c"]),
      pay("a"),
      say("Paid."),
      say("Done.")
    ]
    await using kernel = await open(steps, paid)
    const chief = await createChief(kernel, "clerk")
    const { runId, threadId, toolCalls } = await kernel.send({
      content: "Pay",
      assistantId: chief.id,
      tools: [weather]
    })
    assert.deepStrictEqual(
      toolCalls.map(({ id, of }) => [id, of === undefined]),
      [
        ["a", false],
        ["a", true],
        ["c", true]
      ]
    )
    const of = toolCalls[0]?.of
    if (of === undefined) return assert.fail("no place")
    const outs = await kernel.submitToolOutputs({ threadId, runId, outputs: [{ toolCallId: "c", output: "sun" }] })
    assert.strictEqual((await outs.reply()).status, "REQUIRES_ACTION")
    await kernel.approvals.approve({ id: "a", ...of })
    await kernel.adjust("10 seconds")
    assert.strictEqual((await kernel.report({ threadId, runId })).run.status, "REQUIRES_ACTION")
    const [own] = await kernel.approvals.list()
    assert.deepInclude(own, { id: "a", runId, above: null })
    // The run's own call of this id comes before that of the helper.
    const done = await kernel.approvals.approve({ id: "a", threadId, runId })
    assert.deepInclude(done, { status: "COMPLETED", content: "Done." })
    assert.deepStrictEqual(paid, [{ cents: 5 }, { cents: 1 }])
    assert.deepStrictEqual(outputs(kernel), ["Paid.", "paid", "sun"])
  })

  it("of two helpers at once: a call of one is decided there where both have its id", async () => {
    const paid: Array<unknown> = []
    const steps = [
      callTools(["one", { message: "Pay" }, "h1"], ["two", { message: "Pay" }, "h2"]),
      pay("a"),
      pay("a"),
      say("Paid."),
      say("Paid too."),
      say("Done.")
    ]
    await using kernel = await open(steps, paid)
    const { id: assistantId } = await kernel.assistants.create({ name: "Clerk" })
    const helpers = ["one", "two"].map((name) => ({ assistantId, name, description: `Asks ${name}` }))
    const chief = await kernel.assistants.create({ name: "Chief", helpers })
    const { runId, threadId, toolCalls } = await kernel.send({ content: "Pay", assistantId: chief.id })
    const [first, second] = toolCalls.map(({ of }) => of)
    if (first === undefined || second === undefined) return assert.fail("no place")
    const unclear = await kernel.approvals.approve({ id: "a", threadId, runId }).catch((error: unknown) => error)
    assert.deepInclude(unclear, { _tag: "DecisionsRejected" })
    await Promise.all([first, second].map((of) => kernel.approvals.approve({ id: "a", ...of })))
    await kernel.adjust("20 seconds")
    assert.strictEqual((await kernel.report({ threadId, runId })).run.status, "COMPLETED")
    assert.strictEqual(paid.length, 2)
    assert.deepStrictEqual(outputs(kernel).toSorted(), ["Paid too.", "Paid."])
  })

  it("ends with a cancel from above, and with a new message; a cancel of the helper's run is told above", async () => {
    const paid: Array<unknown> = []
    const steps = [
      ask("clerk"),
      pay(),
      ask("clerk"),
      pay(),
      say("Never mind."),
      ask("clerk"),
      pay(),
      say("Cancelled, I hear.")
    ]
    await using kernel = await open(steps, paid)
    const chief = await createChief(kernel, "clerk")
    const first = await kernel.send({ content: "Pay", assistantId: chief.id })
    await kernel.cancel(first)
    assert.deepStrictEqual(await statuses(kernel), ["helper CANCELLED", "upper CANCELLED"])
    const { threadId } = await kernel.send({ content: "Pay", threadId: first.threadId })
    assert.strictEqual((await kernel.send({ content: "No", threadId })).content, "Never mind.")
    assert.deepStrictEqual(await kernel.approvals.list(), [])
    const third = await kernel.send({ content: "Pay", threadId })
    const [waiting] = await kernel.approvals.list()
    if (waiting === undefined) return assert.fail("nothing waits")
    await kernel.cancel(waiting)
    await kernel.adjust("20 seconds")
    const { run } = await kernel.report(third)
    assert.strictEqual(run.status, "COMPLETED")
    assert.deepStrictEqual(outputs(kernel).at(-1), "Error: clerk did not answer. It was cancelled.")
    assert.deepStrictEqual(paid, [])
  })

  it("whose conversation is deleted, or goes on otherwise, is told above as a helper that did not answer", async () => {
    const paid: Array<unknown> = []
    const steps = [ask("clerk"), pay(), say("It is gone."), ask("clerk"), pay(), say("I am here."), say("It went on.")]
    await using kernel = await open(steps, paid)
    const chief = await createChief(kernel, "clerk")
    const first = await kernel.send({ content: "Pay", assistantId: chief.id })
    const [one] = await kernel.approvals.list()
    await kernel.threads.remove(one?.threadId ?? "")
    await kernel.adjust("10 seconds")
    assert.strictEqual((await kernel.report(first)).run.status, "COMPLETED")
    assert.deepStrictEqual(outputs(kernel).at(-1), "Error: clerk did not answer. Its conversation was deleted.")
    const second = await kernel.send({ content: "Pay", threadId: first.threadId })
    const [two] = await kernel.approvals.list()
    await kernel.send({ content: "Are you there?", threadId: two?.threadId ?? "" })
    await kernel.adjust("10 seconds")
    assert.strictEqual((await kernel.report(second)).run.status, "COMPLETED")
    assert.deepStrictEqual(outputs(kernel).at(-1), "Error: clerk did not answer. It was cancelled.")
    assert.deepStrictEqual(paid, [])
  })

  it("expires like every other, in whatever process", async () => {
    const stores = InMemory.layerFrom(InMemory.makeState())
    const settings = { approvalTimeout: "1 minute" } as const
    const paid: Array<unknown> = []
    const place = await (async () => {
      await using first = await open([ask("clerk"), pay()], paid, { stores, settings })
      const chief = await createChief(first, "clerk")
      return await first.send({ content: "Pay", assistantId: chief.id })
    })()
    await using next = await open([say("Too late."), say("It expired.")], paid, { stores, settings })
    await next.adjust("2 minutes")
    await next.adjust("10 seconds")
    assert.strictEqual((await next.threads.get(place.threadId)).messages.at(-1)?.content, "It expired.")
    assert.deepStrictEqual(paid, [])
  })
})

describe("an approval inside of a helper, in a process that is killed", () => {
  const begin = async (point: Crash.CrashPoint) => {
    const paid: Array<unknown> = []
    const stores = InMemory.layerFrom(InMemory.makeState())
    const doom = await Effect.runPromise(Crash.make(point))
    const hosted = [doom.tool(payOut(paid))]
    const steps = [ask("clerk"), pay(), say("Paid."), say("Done.")]
    const dying = await open(steps, paid, { hosted, stores: doom.stores(stores) })
    const chief = await createChief(dying, "clerk")
    const { id: threadId } = await dying.threads.create({ assistantId: chief.id })
    return { doom, dying, paid, stores, threadId }
  }
  const story = async (dying: Open, threadId: string) => {
    await dying.send({ content: "Pay", threadId })
    await dying.approvals.approve("a")
  }
  // The steps that are left follow from where the process died.
  const model = { otherwise: say("Done.") }

  for (const hears of [true, false]) {
    it(`at any write (${hears ? "after" : "before"} its answer) pays once at most, and every run comes to an end`, async () => {
      const whole = await begin({})
      const before = whole.doom.writes()
      await story(whole.dying, whole.threadId)
      const writes = whole.doom.writes()
      await whole.dying.close()
      assert.isAtLeast(writes - before, 10)
      for (let at = before + 1; at <= writes; at++) {
        const { doom, dying, paid, stores, threadId } = await begin({ at, hears })
        void story(dying, threadId).catch(() => {})
        await Effect.runPromise(doom.died)
        await using next = await open([], paid, { stores, model })
        for (let minute = 0; minute < 3; minute++) await next.adjust("1 minute")
        // What waits for a person now can be decided, and goes on from there.
        const [waiting] = await next.approvals.list()
        if (waiting !== undefined) {
          assert.deepInclude(await next.approvals.approve("a"), { status: "COMPLETED", threadId }, `write ${at}`)
        }
        for (let minute = 0; minute < 3; minute++) await next.adjust("1 minute")
        const found = await statuses(next)
        for (const run of found) assert.match(run, /COMPLETED|FAILED|CANCELLED/u, `write ${at}`)
        assert.isAtMost(paid.length, 1, `write ${at}`)
        assert.deepStrictEqual(await next.approvals.list(), [])
        const { messages } = await next.threads.get(threadId)
        assert.isFalse(
          messages.some(({ status }) => status === "REQUIRES_ACTION"),
          `write ${at}`
        )
        await Effect.runPromise(doom.bury)
      }
    })
  }
})
