/** A model that plays the user: what both sides read, how it ends, and the cases that it leaves. */
import { callTool, evaluate, fail, say, type ScriptStep, simulate, TestKernel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"

const ann = { persona: "Ann, in a hurry.", goal: "to know when order A-17 arrives" }

const open = (script: ReadonlyArray<ScriptStep>) => TestKernel.open(script)

describe("a simulated user", () => {
  it("talks until it has what it wants; each of its messages becomes a case, and nothing is left behind", async () => {
    const kernel = await open([
      say("Where is my order?"),
      say("Which one?"),
      say("A-17."),
      say("It arrives on Friday."),
      say("Thank you! [reached]")
    ])
    const found = await simulate({ kernel, ...ann, variant: { systemPrompt: "You are a shop." } })
    assert.strictEqual(found.outcome, "reached")
    assert.deepStrictEqual(
      found.messages.map(({ content, role }) => `${role}: ${content}`),
      ["user: Where is my order?", "assistant: Which one?", "user: A-17.", "assistant: It arrives on Friday."]
    )
    assert.deepStrictEqual(found.cases[1], { question: "A-17.", messages: found.messages.slice(0, 2) })
    const [first, second] = kernel.model.requests
    assert.include(first?.system, "Ann, in a hurry.")
    assert.include(first?.system, ann.goal)
    assert.strictEqual(second?.system, "You are a shop.")
    assert.deepStrictEqual([first?.toolChoice, second?.toolChoice], ["none", "auto"])
    assert.deepStrictEqual([await kernel.threads.list(), await kernel.assistants.list()], [[], []])

    kernel.model.append(say("On Friday."), say("On Friday."))
    const { results } = await evaluate(
      found.cases.map((each) => ({ ...each, expectations: [{ kind: "contains", text: "Friday" }] })),
      { kernel }
    )
    assert.deepStrictEqual(
      results.map(({ passed }) => passed),
      [true, true]
    )
    await kernel.close()
  })

  it("reads on the clock of the kernel: nothing waits for real time", async () => {
    const kernel = await open([
      say("Hello?"),
      say("Yes?"),
      say("When does it arrive?"),
      say("Soon."),
      say("[Given up].")
    ])
    const { messages, outcome } = await simulate({ kernel, ...ann, pause: (turn) => kernel.adjust(`${turn} minutes`) })
    assert.deepStrictEqual([outcome, messages.length], ["given up", 4])
    assert.strictEqual(await kernel.run(Clock.currentTimeMillis), 3 * 60_000)
    await kernel.close()
  })

  it("ends after the turns that it has", async () => {
    const kernel = await open([say("a"), say("b"), say("c"), say("d")])
    const { cases, outcome } = await simulate({ kernel, ...ann, turns: 2 })
    assert.deepStrictEqual([outcome, cases.length], ["turns", 2])
    await kernel.close()
  })

  it("has the client's tools run, or ends where a tool would have to answer", async () => {
    const track = { name: "track", description: "Where it is.", parameters: null }
    const script: ReadonlyArray<ScriptStep> = [say("Where?"), [say("Let me see."), callTool("track")]]
    const kernel = await open([...script, say("In Oslo."), say("[reached]"), ...script])
    const tools = { ...ann, kernel, variant: { tools: [track] } }
    const { messages } = await simulate({ ...tools, runTool: ({ name }) => `${name}: Oslo` })
    assert.strictEqual(messages[1]?.content, "Let me see.\n\nIn Oslo.")
    assert.strictEqual((await simulate(tools)).outcome, "waiting")
    await kernel.close()
  })

  it("says when one side gives no answer", async () => {
    const kernel = await open([say("Where?"), fail("auth")])
    const { messages, outcome } = await simulate({ kernel, ...ann })
    assert.deepStrictEqual([outcome, messages], ["failed", [{ role: "user", content: "Where?" }]])
    await kernel.close()
  })
})
