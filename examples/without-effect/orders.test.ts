/** Conversations as tests, without Effect: a scripted model, and a clock that moves only when the test moves it. */
import { callTool, expect, fail, gate, say, TestKernel } from "colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { orderStatus } from "./orders.ts"

describe("our assistant", () => {
  it("looks an order up, after a first try with a number that is none", async () => {
    const results: Array<string> = []
    const kernel = await TestKernel.open(
      [
        callTool("order_status", { order: "17" }),
        callTool("order_status", { order: "A-17" }),
        [expect(({ messages }) => assert.strictEqual(messages.at(-1)?.role, "tool")), say("On Friday.")]
      ],
      { tools: [orderStatus] }
    )
    for await (const event of kernel.stream({ content: "Where is my order?" })) {
      if (event._tag === "HostedResult") results.push(event.output)
    }
    assert.include(results[0], "- order: ")
    assert.deepStrictEqual(JSON.parse(results[1] ?? ""), { status: "on its way", arrives: "Friday" })
    await kernel.close()
  })

  it("tries again when the model is overloaded, and no test waits for that", async () => {
    const kernel = await TestKernel.open([fail("overloaded"), say("Hello!")])
    const turn = await kernel.start({ content: "Hello" })
    const reply = turn.reply()
    await kernel.adjust("10 seconds")
    assert.strictEqual((await reply).content, "Hello!")
    await kernel.close()
  })

  it("keeps what was said when the customer cancels", async () => {
    const kernel = await TestKernel.open([[say("In the beginning"), gate()]])
    const turn = await kernel.start({ content: "Tell me everything", stream: true })
    for await (const event of turn.events) if (event._tag === "TextDelta") break
    await kernel.cancel(turn)
    const { messages } = await kernel.threads.get(turn.threadId)
    assert.deepStrictEqual(
      messages.map(({ content, status }) => [status, content]),
      [
        ["COMPLETED", "Tell me everything"],
        ["CANCELLED", "In the beginning"]
      ]
    )
    await kernel.close()
  })
})
