/** Hosted tools that ask a person in the middle of a call. */
import { callTool, say, TestKernel } from "@colloquy/testing"
import { InMemory } from "@colloquy/adapters/in-memory"
import { PersonAsked, type PersonsAnswer } from "@colloquy/core"
import { tool } from "@colloquy/core/promises"
import { assert, describe, it } from "@effect/vitest"

const schema = {
  type: "object",
  properties: { seats: { type: "integer", minimum: 1 } },
  required: ["seats"]
} as const

/** Asks as many questions as it is told, one after the other, and answers with what it has heard. */
const book = (questions: number, heard: Array<PersonsAnswer> = []) =>
  tool({
    name: "book",
    description: "Books a table",
    parameters: { type: "object", properties: { day: { type: "string" } } },
    execute: (args, { answer }) => {
      if (answer !== undefined) heard.push(answer)
      const round = answer === undefined ? 0 : Number(answer.state) + 1
      if (round < questions && (answer?.action ?? "accept") === "accept")
        throw new PersonAsked({ message: `How many seats? (${round})`, schema, state: round })
      return JSON.stringify([args, answer?.action ?? null, answer?.content ?? null])
    }
  })

type Kernel = Awaited<ReturnType<typeof TestKernel.open>>

const lastOutputs = ({ model }: Kernel) =>
  (model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.output] : []))

const errorText = (promise: Promise<unknown>) =>
  promise.then(
    () => "nothing",
    (error: Error & { readonly _tag: string }) => `${error._tag}: ${error.message}`
  )

const script = [callTool("book", { day: "Friday" }, "a"), say("Booked.")]

describe("a tool that asks a person", () => {
  it("waits with the form, refuses an answer that does not fit, and goes on in another process", async () => {
    const heard: Array<PersonsAnswer> = []
    const stores = InMemory.layerFrom(InMemory.makeState())
    await using one = await TestKernel.open(script.slice(0, 1), { hosted: [book(1, heard)], stores })
    const asked = await one.send({ content: "Book" })
    assert.strictEqual(asked.status, "REQUIRES_ACTION")
    const [call] = await one.approvals.list()
    assert.deepInclude(call, { id: "a", arguments: { day: "Friday" } })
    assert.deepStrictEqual(call?.question, { message: "How many seats? (0)", schema })

    await using two = await TestKernel.open(script.slice(1), { hosted: [book(1, heard)], stores })
    for (const args of [undefined, {}, { seats: "two" }, { seats: 0 }])
      assert.match(
        await errorText(two.approvals.approve("a", { arguments: args })),
        /^DecisionsRejected: .*a \(invalid arguments: seats/u
      )
    assert.deepStrictEqual(heard, [])
    const done = await two.approvals.approve("a", { arguments: { seats: 2 } })
    assert.deepInclude(done, { status: "COMPLETED", content: "Booked." })
    assert.deepStrictEqual(heard, [{ action: "accept", content: { seats: 2 }, state: 0 }])
    assert.deepStrictEqual(lastOutputs(two), ['[{"day":"Friday"},"accept",{"seats":2}]'], "the call ran as it was made")
    const place = { id: "a", threadId: asked.threadId, runId: asked.runId }
    assert.deepInclude(await two.approvals.approve(place, { arguments: { seats: 2 } }), { content: "Booked." })
    assert.match(await errorText(two.approvals.approve(place, { arguments: { seats: 3 } })), /was answered already/u)
    assert.lengthOf(heard, 1)
  })

  it("learns that a person declines, and that nobody has answered in time", async () => {
    const heard: Array<PersonsAnswer> = []
    const settings = { approvalTimeout: "1 hour" } as const
    await using kernel = await TestKernel.open([...script, callTool("book", {}, "b"), say("Too late.")], {
      hosted: [book(1, heard)],
      settings
    })
    await kernel.send({ content: "Book" })
    assert.deepInclude(await kernel.approvals.reject("a", { reason: "No." }), { content: "Booked." })
    assert.deepStrictEqual(lastOutputs(kernel), ['[{"day":"Friday"},"decline",{}]'])
    const { threadId } = await kernel.send({ content: "Book again" })
    await kernel.adjust("61 minutes")
    const { messages } = await kernel.threads.get(threadId)
    assert.strictEqual(messages.at(-1)?.content, "Too late.")
    assert.deepStrictEqual(
      heard.map(({ action }) => action),
      ["decline", "cancel"]
    )
  })

  it("may ask again: the second question is a call of its own", async () => {
    const heard: Array<PersonsAnswer> = []
    await using kernel = await TestKernel.open(script, { hosted: [book(2, heard)] })
    await kernel.send({ content: "Book" })
    const second = await kernel.approvals.approve("a", { arguments: { seats: 1 } })
    assert.strictEqual(second.status, "REQUIRES_ACTION")
    const [call] = await kernel.approvals.list()
    assert.strictEqual(call?.question?.message, "How many seats? (1)")
    assert.notStrictEqual(call?.id, "a")
    assert.lengthOf(kernel.model.requests, 1)
    const done = await kernel.approvals.approve(call?.id ?? "", { arguments: { seats: 2 } })
    assert.deepInclude(done, { status: "COMPLETED", content: "Booked." })
    assert.deepStrictEqual(
      heard.map(({ content, state }) => [content, state]),
      [
        [{ seats: 1 }, 0],
        [{ seats: 2 }, 1]
      ]
    )
    assert.deepStrictEqual(lastOutputs(kernel), [
      "The tool has asked a person something. It goes on in the next call.",
      '[{"day":"Friday"},"accept",{"seats":2}]'
    ])
    assert.deepStrictEqual(done.usage.estimated, false)
  })

  it("may need an approval first", async () => {
    await using kernel = await TestKernel.open(script, { hosted: [{ ...book(1), needsApproval: true }] })
    await kernel.send({ content: "Book" })
    const [approval] = await kernel.approvals.list()
    assert.isNull(approval?.question)
    await kernel.approvals.approve("a", { arguments: { day: "Sunday" } })
    const [call] = await kernel.approvals.list()
    assert.deepInclude(call, { arguments: { day: "Sunday" } })
    const done = await kernel.approvals.approve(call?.id ?? "", { arguments: { seats: 2 } })
    assert.strictEqual(done.content, "Booked.")
    assert.include(lastOutputs(kernel).join("\n"), '[{"day":"Sunday"},"accept",{"seats":2}]')
  })
})
