import { callTool, callTools, Crash, say, TestKernel } from "@colloquy/testing"
import { InMemory } from "@colloquy/adapters/in-memory"
import { AuditLog, type HostedTool } from "@colloquy/core"
import { tool } from "@colloquy/core/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { weather } from "../support/Story.ts"
import { watchedStores } from "../support/WatchedStores.ts"

const parameters = {
  type: "object",
  properties: { cents: { type: "integer", minimum: 1 } },
  required: ["cents"]
} as const

/** Pays out money; `paid` is what was really done, in whatever process. */
const payOut = (paid: Array<unknown>, needsApproval: boolean | ((args: Schema.JsonObject) => boolean) = true) =>
  tool({
    name: "pay",
    description: "Pays money out",
    parameters,
    needsApproval,
    execute: (args) => {
      paid.push(args)
      return `paid ${JSON.stringify(args)}`
    }
  })

const open = (
  steps: Parameters<typeof TestKernel.open>[0],
  hosted: ReadonlyArray<HostedTool>,
  options: TestKernel.TestKernelOptions = {}
) => TestKernel.open(steps, { hosted, ...options })

/** What the model read of tools in its last call. */
const outputsRead = (kernel: Awaited<ReturnType<typeof open>>) =>
  (kernel.model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))

const errorTag = (promise: Promise<unknown>) =>
  promise.then(
    () => "nothing",
    (error: { readonly _tag: string }) => error._tag
  )

describe("a call that needs an approval", () => {
  it("waits beside the client's calls of its step, and the run goes on with the last answer", async () => {
    const paid: Array<unknown> = []
    const clock = tool({ name: "clock", description: "", parameters: null, execute: () => "noon" })
    await using kernel = await open(
      [callTools(["clock", {}, "h"], ["pay", { cents: 5 }, "a"], ["weather", {}, "c"]), say("Done.")],
      [clock, payOut(paid)]
    )
    const turn = await kernel.start({ content: "Pay", tools: [weather], stream: true })
    const seen: Array<string> = []
    for await (const event of turn.events) seen.push(event._tag)
    assert.deepStrictEqual(seen.slice(-3), ["HostedResult", "ApprovalRequired", "ToolSubmitRequired"])
    const { threadId, runId } = turn
    const [waiting] = await kernel.approvals.list()
    assert.deepInclude(waiting, { id: "a", name: "pay", arguments: { cents: 5 }, threadId, runId, expiresAt: null })
    assert.strictEqual(
      await errorTag(kernel.submitToolOutputs({ threadId, outputs: [{ toolCallId: "a", output: "1" }] })),
      "ToolOutputsRejected"
    )
    assert.strictEqual(await errorTag(kernel.approvals.approve("c")), "CallNotFound")
    assert.strictEqual(await errorTag(kernel.approvals.approve({ id: "c", threadId, runId })), "DecisionsRejected")
    assert.strictEqual(await errorTag(kernel.as("bob").approvals.approve({ id: "a", threadId, runId })), "RunNotFound")
    assert.deepStrictEqual(await kernel.as("bob").approvals.list(), [])
    assert.strictEqual(await errorTag(kernel.approvals.approve("a", { arguments: { cents: 0 } })), "DecisionsRejected")

    const half = await kernel.approvals.approve("a", { arguments: { cents: 7 } })
    assert.strictEqual(half.status, "REQUIRES_ACTION")
    assert.deepStrictEqual(
      half.toolCalls.map(({ id }) => id),
      ["c"]
    )
    assert.deepStrictEqual([paid, await kernel.approvals.list()], [[], []])
    const again = await kernel.approvals.approve({ id: "a", threadId, runId }, { arguments: { cents: 7 } })
    assert.deepStrictEqual(
      again.toolCalls.map(({ id }) => id),
      ["c"]
    )
    const done = await (
      await kernel.submitToolOutputs({ threadId, outputs: [{ toolCallId: "c", output: "sun" }] })
    ).reply()
    assert.deepInclude(done, { status: "COMPLETED", content: "Done." })
    assert.deepStrictEqual(paid, [{ cents: 7 }])
    assert.deepStrictEqual(outputsRead(kernel), [
      "noon",
      '(Who approved this call changed its arguments to {"cents":7}.)\npaid {"cents":7}',
      "sun"
    ])
    const asked = { id: "a", threadId, runId }
    assert.strictEqual(await errorTag(kernel.approvals.reject(asked)), "AlreadyDecided")
    assert.strictEqual(await errorTag(kernel.approvals.approve(asked)), "AlreadyDecided")
    assert.deepInclude(await kernel.approvals.approve(asked, { arguments: { cents: 7 } }), { content: "Done." })
    assert.lengthOf(paid, 1)
    const entries = await kernel.run(AuditLog.use((audit) => audit.list({ limit: 10 })))
    assert.deepStrictEqual(
      entries.map(({ action, fields, subject }) => ({ action, fields, subject })),
      [{ action: "call_approved", fields: ["arguments"], subject: `${runId}/a` }]
    )
    const { messages } = await kernel.threads.get(threadId)
    assert.deepInclude(messages[1]?.toolResults[0], { toolCallId: "a", output: 'paid {"cents":7}', hosted: true })
    assert.notProperty(messages[1]?.toolResults[0], "isPending")
  })

  it("that is rejected is not run, and the model reads the reason; a condition says which calls wait", async () => {
    const paid: Array<unknown> = []
    await using kernel = await open(
      [
        callTools(["pay", { cents: 1 }, "small"], ["pay", { cents: 500 }, "large"], ["pay", { cents: "x" }, "wrong"]),
        say("I see.")
      ],
      [payOut(paid, (args) => Number(args["cents"]) > 100)]
    )
    const reply = await kernel.send({ content: "Pay" })
    assert.deepStrictEqual(
      reply.toolCalls.map(({ id }) => id),
      ["large"]
    )
    assert.deepStrictEqual(paid, [{ cents: 1 }])
    const [call] = reply.toolCalls
    const turn = await kernel.approvals.reject(call ?? "", { reason: "Too much.", stream: true })
    for await (const event of turn.events) if (event._tag === "TextDelta") assert.strictEqual(event.text, "I see.")
    assert.lengthOf(paid, 1)
    const read = outputsRead(kernel)
    assert.match(read[1] ?? "", /rejected it\. Their reason: Too much\.$/u)
    assert.match(read[2] ?? "", /^Error: the arguments do not fit/u)
    assert.strictEqual(
      await errorTag(kernel.approvals.reject({ ...turn, id: "large" }, { reason: "Other" })),
      "nothing"
    )
  })

  it("runs once when ten people press at the same moment, in two processes", async () => {
    const paid: Array<unknown> = []
    const stores = InMemory.layerFrom(InMemory.makeState())
    await using one = await open([callTool("pay", { cents: 5 }, "a")], [payOut(paid)], { stores })
    const { runId, threadId } = await one.send({ content: "Pay" })
    await using two = await open([say("Done.")], [payOut(paid)], { stores })
    const call = { id: "a", threadId, runId }
    const press = (index: number) =>
      index % 2 === 0 ? two.approvals.approve(call) : two.approvals.reject(call, { reason: "no" })
    const pressed = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => press(index)))
    const winners = pressed.filter(({ status }) => status === "fulfilled")
    assert.lengthOf(winners, 5)
    for (const each of pressed) if (each.status === "rejected") assert.strictEqual(each.reason._tag, "AlreadyDecided")
    const { messages } = await two.threads.get(threadId)
    assert.lengthOf(paid, messages[1]?.toolResults[0]?.decided?.decision === "approve" ? 1 : 0)
    assert.strictEqual(messages.at(-1)?.content, "Done.")
  })

  it("that nobody decides in time is rejected as expired, by a process that did not ask", async () => {
    const paid: Array<unknown> = []
    const stores = InMemory.layerFrom(InMemory.makeState())
    const settings = { approvalTimeout: "1 hour" } as const
    const asking = await open([callTool("pay", { cents: 5 }, "a")], [payOut(paid)], { stores, settings })
    const { runId, threadId } = await asking.send({ content: "Pay" })
    await asking.close()
    await using other = await open([say("Too late.")], [payOut(paid)], { stores })
    const [waiting] = await other.approvals.list()
    assert.strictEqual(waiting?.expiresAt?.getTime(), 3_600_000)
    await other.adjust("59 minutes")
    assert.lengthOf(await other.approvals.list(), 1)
    await other.adjust("2 minutes")
    const [run] = (await other.runs({ threadId })).runs
    assert.strictEqual(run?.run.status, "COMPLETED")
    assert.deepStrictEqual(paid, [])
    assert.match(outputsRead(other)[0] ?? "", /it has expired\.$/u)
    const call = { id: "a", threadId, runId }
    assert.strictEqual(await errorTag(other.approvals.approve(call)), "AlreadyDecided")
  })

  it("is left open by a condition with a defect, and by a run that is cancelled or superseded", async () => {
    const paid: Array<unknown> = []
    const failing = payOut(paid, () => {
      throw new Error("secret")
    })
    await using kernel = await open(
      [
        callTool("pay", { cents: 5 }, "a"),
        callTools(["pay", { cents: 6 }, "b"], ["pay", { cents: 7 }, "c"]),
        say("Well.")
      ],
      [failing]
    )
    const first = await kernel.send({ content: "Pay" })
    await kernel.cancel(first)
    assert.strictEqual(await errorTag(kernel.approvals.approve({ ...first, id: "a" })), "AlreadyDecided")
    const { threadId } = first
    const second = await kernel.send({ content: "Pay twice", threadId })
    await kernel.approvals.approve("b")
    await kernel.send({ content: "Never mind", threadId })
    assert.deepStrictEqual(paid, [])
    assert.deepStrictEqual(outputsRead(kernel).slice(1), [
      "No result: the call was approved, but the conversation went on before it was run.",
      "No result: the conversation went on before this call was answered."
    ])
    assert.strictEqual(await errorTag(kernel.approvals.approve({ ...second, id: "c" })), "AlreadyDecided")
  })
})

describe("a tool whose time limit is a fault", () => {
  it("waits for its approval, and tells the model that it failed", async () => {
    const paid: Array<unknown> = []
    const timeout = () => {
      throw new Error("no time")
    }
    await using kernel = await open([callTool("pay", { cents: 5 }, "a"), say("Done.")], [{ ...payOut(paid), timeout }])
    assert.deepInclude(await kernel.send({ content: "Pay" }), { status: "REQUIRES_ACTION" })
    assert.deepInclude(await kernel.approvals.approve("a"), { content: "Done." })
    assert.deepStrictEqual(outputsRead(kernel), ["Error: the tool failed inside the server. Answer without it."])
    assert.deepStrictEqual(paid, [])
  })
})

describe("an approved call whose beginning cannot be stored", () => {
  it("is not run, and the run ends", async () => {
    const paid: Array<unknown> = []
    const stores = watchedStores(InMemory.makeState(), (operation, call) =>
      operation === "runs.append" ? Effect.die(new Error("no JSON")) : call
    )
    await using kernel = await open([callTool("pay", { cents: 5 }, "a")], [payOut(paid)], { stores })
    await kernel.send({ content: "Pay" })
    const reply = await kernel.approvals.approve("a")
    assert.strictEqual(reply.status === "FAILED" && reply.fault.code, "internal_error")
    assert.deepStrictEqual(paid, [])
  })
})

describe("an approval in a process that is killed", () => {
  const story = async (point: Crash.CrashPoint) => {
    const paid: Array<unknown> = []
    const stores = InMemory.layerFrom(InMemory.makeState())
    const doom = await Effect.runPromise(Crash.make(point))
    const pay = doom.tool(payOut(paid))
    const dying = await open([callTool("pay", { cents: 5 }, "a"), say("Paid.")], [pay], { stores: doom.stores(stores) })
    return { paid, stores, doom, dying }
  }
  const died = (doom: Crash.Doom) => Effect.runPromise(doom.died)

  for (const hears of [true, false]) {
    it(`at any write after the question (${hears ? "after" : "before"} its answer) runs an approved call once, or says that it is not known`, async () => {
      const whole = await story({})
      const asked = await whole.dying.send({ content: "Pay" })
      const before = whole.doom.writes()
      assert.deepInclude(await whole.dying.approvals.approve({ ...asked, id: "a" }), { content: "Paid." })
      const writes = whole.doom.writes()
      await whole.dying.close()
      assert.isAtLeast(writes - before, 3)
      for (let at = before + 1; at <= writes; at++) {
        const { doom, dying, paid, stores } = await story({ at, hears })
        const { runId, threadId } = await dying.send({ content: "Pay" })
        void dying.approvals.approve({ id: "a", threadId, runId }).catch(() => {})
        await died(doom)
        const begun = paid.length
        await using next = await open([say("Paid.")], [payOut(paid)], { stores })
        await next.adjust("2 minutes")
        const { messages } = await next.threads.get(threadId)
        const last = messages.at(-1)
        if (last?.status === "FAILED") assert.match(last.fault?.message ?? "", /may be finished/u)
        else assert.strictEqual(last?.status, "COMPLETED", `write ${at}`)
        assert.isAtMost(paid.length, 1, `write ${at}`)
        // The first write stores the decision and begins the leg; nothing has run then, so another process goes on.
        if (at === before + 1) assert.deepStrictEqual([begun, paid.length, last?.content], [0, 1, "Paid."])
        const again = await next.approvals.approve({ id: "a", threadId, runId })
        assert.strictEqual(again.status, last?.status)
        if (next.model.requests.length === 0) await next.send({ content: "Again?", threadId })
        assert.isAtMost(paid.length, 1)
        await Effect.runPromise(doom.bury)
      }
    })
  }
})
