/** A model that plays the user: what both sides read, how it ends, and the cases that it leaves. */
import { callTool, evaluate, fail, gate, hang, say, type ScriptStep, simulate, TestKernel } from "@colloquy/testing"
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
    const { cases, messages } = await simulate({ ...tools, runTool: ({ name }) => `${name}: Oslo` })
    assert.strictEqual(messages[1]?.content, "Let me see.\n\nIn Oslo.")
    const recorded = { tools: [{ name: "track", arguments: "{}", output: "track: Oslo" }], toolDefinitions: [track] }
    assert.deepStrictEqual(cases, [{ question: "Where?", messages: [], ...recorded }])
    assert.strictEqual((await simulate(tools)).outcome, "waiting")
    await kernel.close()
  })

  it("says when one side gives no answer", async () => {
    const kernel = await open([say("Where?"), fail("auth")])
    const { messages, outcome } = await simulate({ kernel, ...ann })
    assert.deepStrictEqual([outcome, messages], ["failed", [{ role: "user", content: "Where?" }]])
    await kernel.close()
  })

  it("ends with a reason where one side says nothing, or the user ends it before it began", async () => {
    const scripts: ReadonlyArray<readonly [ReadonlyArray<ScriptStep>, string, number]> = [
      [[say("[reached]")], "The user: it ended the conversation before it began.", 0],
      [[say(" ")], "The user: it said nothing.", 0],
      [[say("Where?"), say("")], "The assistant: it said nothing.", 1],
      [[callTool("track"), say("")], "The user: it said nothing.", 0]
    ]
    for (const [script, reason, said] of scripts) {
      const kernel = await open(script)
      const found = await simulate({ kernel, ...ann })
      assert.deepStrictEqual([found.outcome, found.messages.length, found.cases.length], ["failed", said, said])
      assert.include(found.reason, reason)
      assert.deepStrictEqual([await kernel.threads.list(), await kernel.assistants.list()], [[], []])
      await kernel.close()
    }
  })

  it("keeps what was said when a limit of the owner ends it", async () => {
    const kernel = await TestKernel.open([say("Where?"), say("Which one?"), say("A-17."), say("On Friday.")], {
      quota: { turnsPerMinute: 4 }
    })
    const { messages, outcome, reason } = await simulate({ kernel, ...ann })
    assert.deepStrictEqual([outcome, messages.length], ["failed", 4])
    assert.include(reason, "turns a minute")
    await kernel.close()
  })

  it("does not wait for a model that hangs, nor for an assistant that calls tools without an end", async () => {
    const slow = await open([say("Where?"), hang, hang, hang])
    const later = new Set(["waiting"])
    const ended = simulate({ kernel: slow, ...ann }).finally(() => later.clear())
    while (later.size > 0) await slow.adjust("1 minute")
    const hung = await ended
    assert.deepStrictEqual([hung.outcome, hung.messages.length], ["failed", 1])
    await slow.close()

    const calling = await TestKernel.open([], {
      model: { otherwise: ({ toolChoice }) => (toolChoice === "none" ? say("Where?") : callTool("track")) }
    })
    const track = { name: "track", description: null, parameters: null }
    const { outcome, reason } = await simulate({
      kernel: calling,
      ...ann,
      variant: { tools: [track] },
      runTool: () => "Oslo"
    })
    assert.deepStrictEqual([outcome, reason], ["failed", "The assistant: it called tools 20 times and gave no answer."])
    assert.deepStrictEqual([await calling.threads.list(), await calling.assistants.list()], [[], []])
    await calling.close()
  })

  it("leaves no thread of the host's own assistant when its first answer is aborted", async () => {
    const kernel = await open([say("Where?"), gate()])
    const { id: assistantId } = await kernel.assistants.create({ name: "Shop" })
    const stop = new AbortController()
    const ended = simulate({ kernel, ...ann, variant: { assistantId }, signal: stop.signal })
    await kernel.run(kernel.model.reached())
    stop.abort(new Error("Enough."))
    assert.strictEqual(await ended.then(String, String), "Error: Enough.")
    assert.deepStrictEqual(await kernel.threads.list(), [])
    await kernel.close()
  })

  it("is aborted between two turns and in the middle of one, and leaves nothing behind", async () => {
    const enough = new Error("Enough.")
    const between = new AbortController()
    const kernel = await open([say("Where?"), say("Which one?"), say("A-17."), gate()])
    const first = simulate({ kernel, ...ann, signal: between.signal, pause: () => between.abort(enough) })
    assert.strictEqual(await first.catch((error: unknown) => error), enough)
    const middle = new AbortController()
    const second = simulate({ kernel, ...ann, signal: middle.signal })
    await kernel.run(kernel.model.reached())
    middle.abort(enough)
    assert.strictEqual(await second.catch((error: unknown) => error), enough)
    assert.deepStrictEqual([await kernel.threads.list(), await kernel.assistants.list()], [[], []])
    await kernel.close()
  })

  it("tells of a message that is too long for the model, and keeps it", async () => {
    const long = "x".repeat(1_000_000)
    const kernel = await open([say(long)])
    const { cases, outcome, reason } = await simulate({ kernel, ...ann })
    assert.deepStrictEqual([outcome, cases[0]?.question.length], ["failed", 1_000_000])
    assert.include(reason, "The assistant: ")
    await kernel.close()
  })
})
