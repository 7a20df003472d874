/** Cases as tests: answered by a scripted model, scored, compared; and the matcher for one reply. */
import { tool } from "@colloquy/core/promises"
import { CasesUnreadable, readCases, scorer } from "@colloquy/core/evals"
import {
  callTool,
  evaluate,
  fail,
  matchers,
  type PassMatchers,
  say,
  type ScriptedCase,
  TestKernel
} from "@colloquy/testing"
import { afterAll, assert, beforeAll, describe, expect, it } from "@effect/vitest"

declare module "vitest" {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> extends PassMatchers {}
}

const weather = { name: "weather", description: "The weather of a city.", parameters: null }

describe("evaluate", () => {
  it("answers each case in each variant on a thread of its own, and leaves nothing behind", async () => {
    const kernel = await TestKernel.open([], {
      model: {
        otherwise: ({ messages, model, system }) =>
          say(`${model} was told ${system ?? "nothing"} and read ${messages.length} messages.`)
      }
    })
    const cases: ReadonlyArray<ScriptedCase> = [
      { question: "First?", expectations: [{ kind: "contains", text: "read 1 " }] },
      {
        name: "with a history",
        tags: ["old"],
        question: "And then?",
        messages: [
          { role: "user", content: "Hello" },
          { role: "assistant", content: "Hi." }
        ],
        expectations: [
          { kind: "contains", text: "read 3 " },
          { kind: "contains", text: "told to be brief" }
        ]
      }
    ]
    const evaluation = await evaluate(cases, {
      kernel,
      variants: [{ name: "now" }, { name: "brief", systemPrompt: "to be brief", model: "small" }],
      repeats: 2
    })
    assert.deepStrictEqual(
      evaluation.results.map(({ caseName, passed, repeat, variant }) => [variant, caseName, repeat, passed]),
      [
        ["now", "First?", 0, true],
        ["now", "First?", 1, true],
        ["now", "with a history", 0, false],
        ["now", "with a history", 1, false],
        ["brief", "First?", 0, true],
        ["brief", "First?", 1, true],
        ["brief", "with a history", 0, true],
        ["brief", "with a history", 1, true]
      ]
    )
    const [now, , , , brief] = evaluation.results
    assert.deepInclude(brief, { model: "small", tags: [], error: null })
    assert.isNull(now?.promptHash)
    assert.match(brief?.promptHash ?? "", /^[0-9a-f]{32}$/)
    assert.strictEqual(evaluation.compare("now", "brief").better[0]?.caseName, "with a history")
    assert.deepStrictEqual(evaluation.gate({ min: 1 }).reasons, ['"now" passes 2 of 4 (50 %); 100 % is needed.'])
    assert.deepStrictEqual(await kernel.threads.list(), [])
    assert.deepStrictEqual(await kernel.assistants.list(), [])
    await kernel.close()
  })

  it("plays the script of a case behind cases without one, and then answers as before", async () => {
    const kernel = await TestKernel.open([], { model: { otherwise: say("Otherwise.") } })
    const cases: ReadonlyArray<ScriptedCase> = [
      { question: "First?" },
      { question: "Second?", script: [say("By the script.")] },
      { question: "Third?" }
    ]
    const { results } = await evaluate(cases, { kernel })
    assert.deepStrictEqual(
      results.map(({ content }) => content),
      ["Otherwise.", "By the script.", "Otherwise."]
    )
    await kernel.close()
  })

  it("plays the script of each case, and answers the client's tools from the record", async () => {
    const kernel = await TestKernel.open([])
    const tools = [
      { name: "weather", arguments: '{"city":"Bergen"}', output: "sun" },
      { name: "weather", arguments: '{ "city": "Oslo" }', output: "rain" }
    ]
    const { results } = await evaluate(
      [
        {
          question: "Umbrella in Oslo?",
          script: [callTool("weather", { city: "Oslo" }), say("Yes.")],
          tools,
          expectations: [
            { kind: "calls", tool: "weather", arguments: { city: "Oslo" } },
            { kind: "equals", text: "Yes." }
          ]
        },
        {
          question: "Pay?",
          script: [callTool("pay"), say("never said")].slice(0, 1),
          expectations: [{ kind: "calls_none" }]
        },
        { question: "Broken?", script: [fail("auth")], expectations: [] }
      ],
      { kernel, variants: [{ name: "a", tools: [weather, { ...weather, name: "pay" }] }] }
    )
    assert.deepStrictEqual(
      results.map(({ passed, scores }) => [passed, scores.map(({ reason }) => reason)]),
      [
        [true, ['It called weather {"city":"Oslo"}.', "The answer is this text."]],
        [false, ["It called pay {}."]],
        [false, []]
      ]
    )
    const asked = kernel.model.requests[1]?.messages.at(-1)
    assert.include(JSON.stringify(asked), "rain")
    await kernel.close()
  })

  it("ends a turn whose model asks the same of a tool again and again", async () => {
    let calls = 0
    const kernel = await TestKernel.open([], {
      model: { otherwise: () => (++calls < 200 ? callTool("weather", { city: "Oslo" }) : say("At last.")) }
    })
    const tools = [{ name: "weather", arguments: '{"city":"Oslo"}', output: "rain" }]
    const { results } = await evaluate([{ question: "Umbrella?", tools, toolDefinitions: [weather] }], { kernel })
    assert.deepInclude(results[0], { content: "", error: null })
    assert.isBelow(calls, 30)
    await kernel.close()
  })

  it("says what could not be done: a turn that is refused, a scorer that is not there, variants of one name", async () => {
    const kernel = await TestKernel.open([], { model: { otherwise: say("x") } })
    const cases: ReadonlyArray<ScriptedCase> = [{ question: "a", expectations: [{ kind: "custom", name: "none" }] }]
    const { results } = await evaluate(cases, {
      kernel,
      variants: [{ name: "a" }, { name: "b", provider: "nobody" }]
    })
    assert.include(results[0]?.error, 'The scorer "none" could not tell')
    assert.include(results[1]?.error, "nobody")
    await evaluate(cases, { kernel, variants: [{ name: "a" }, { name: "a" }] }).then(
      () => assert.fail("two variants of one name"),
      (error: unknown) => assert.instanceOf(error, TypeError)
    )
    await kernel.close()
  })

  it("refuses what would check nothing: misspelled expectations, no repeats, nobody at work", async () => {
    const kernel = await TestKernel.open([])
    const refused = (testCase: object, options: object = {}) =>
      evaluate([{ question: "a" }, { question: "b", ...testCase }], { kernel, ...options }).then(
        () => assert.fail("it was evaluated"),
        (error: unknown) => (error instanceof TypeError ? error.message : assert.fail(String(error)))
      )
    const misspelled = {
      expectations: [
        { kind: "contains", text: "x", nto: true },
        { kind: "contians", text: "x" }
      ]
    }
    const told = await refused(misspelled)
    assert.include(told, "cases.1.expectations.0.nto:")
    assert.include(told, "cases.1.expectations.1")
    assert.include(
      await refused({ expectations: [{ kind: "matches", pattern: "(?=x)" }] }),
      "cases.1.expectations.0.pattern"
    )
    for (const repeats of [0, -1, 1.5, Number.NaN]) assert.include(await refused({}, { repeats }), "`repeats`")
    for (const concurrency of [0, Number.NaN]) assert.include(await refused({}, { concurrency }), "`concurrency`")
    assert.deepStrictEqual(await kernel.assistants.list(), [])
    await kernel.close()
  })

  it("asks the host's scorers and embedder", async () => {
    const kernel = await TestKernel.open([], { model: { otherwise: say("Good day.") } })
    const { results } = await evaluate(
      [
        {
          question: "a",
          expectations: [
            { kind: "custom", name: "short" },
            { kind: "similar", text: "Hello." }
          ]
        }
      ],
      {
        kernel,
        scorers: [scorer({ name: "short", score: ({ content }) => content.length < 20 })],
        embed: async (texts) => texts.map((text) => [text.length, 1])
      }
    )
    assert.isTrue(results[0]?.passed)
    await kernel.close()
  })

  it("ends when it is told to", async () => {
    const kernel = await TestKernel.open([], { model: { otherwise: say("x") } })
    const signal = AbortSignal.abort(new Error("enough"))
    const ended = await evaluate([{ question: "a" }], { kernel, signal }).then(
      () => "done",
      (error: unknown) => String(error)
    )
    assert.strictEqual(ended, "Error: enough")
    assert.deepStrictEqual(await kernel.assistants.list(), [])
    await kernel.close()
  })
})

describe("a file of cases", () => {
  it("has a case on each line, in the words of the wire", () => {
    const line = {
      case_id: "c1",
      name: "one",
      question: "Q?",
      messages: [
        { role: "assistant", content: null, tool_calls: [{ id: "1", name: "t", arguments: "{}" }] },
        { role: "tool", content: "x", tool_call_id: "1" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "2", type: "function", function: { name: "t", arguments: "{}" } }]
        },
        { role: "tool", content: "x", tool_call_id: "2" }
      ],
      expectations: [{ kind: "contains", text: "a" }]
    }
    assert.deepStrictEqual(readCases(`\n${JSON.stringify(line)}\r\n\n`), [
      {
        name: "one",
        question: "Q?",
        messages: [
          { role: "assistant", content: null, toolCalls: [{ id: "1", name: "t", arguments: "{}" }] },
          { role: "tool", content: "x", toolCallId: "1" },
          { role: "assistant", content: null, toolCalls: [{ id: "2", name: "t", arguments: "{}" }] },
          { role: "tool", content: "x", toolCallId: "2" }
        ],
        expectations: [{ kind: "contains", text: "a" }]
      }
    ])
  })

  it("is refused with every problem and its place", () => {
    const lines = [
      '{"question":"a"}',
      "{",
      '{"question":"","expectations":[{"kind":"judge","question":"?","at_least":2}]}',
      '{"question":"a","expectation":[]}',
      '{"question":"a","expectations":[{"kind":"contains","text":"a","nto":true}]}',
      '{"question":"a","messages":[{"role":"assistant","content":"a","toolCalls":[]}]}'
    ]
    try {
      readCases(lines.join("\n"))
      assert.fail("the file was read")
    } catch (error) {
      if (!(error instanceof CasesUnreadable)) throw error
      assert.deepStrictEqual(
        error.problems.map(({ line, path }) => [line, path]),
        [
          [2, ""],
          [3, "question"],
          [3, "expectations.0.at_least"],
          [4, "expectation"],
          [5, "expectations.0.nto"],
          [6, "messages.0.toolCalls"]
        ]
      )
      assert.include(error.message, "Line 2: This is no JSON.\nLine 3, question:")
    }
  })
})

describe("toPass", () => {
  const clock = tool({
    name: "clock",
    description: "The time.",
    parameters: { type: "object", properties: {} },
    execute: () => "noon"
  })
  let kernel: TestKernel.OpenTestKernel

  beforeAll(async () => {
    kernel = await TestKernel.open([], {
      hosted: [clock],
      model: {
        otherwise: ({ messages }) => (messages.at(-1)?.role === "tool" ? say("It is noon.") : callTool("clock"))
      }
    })
    expect.extend(matchers({ kernel }))
  })
  afterAll(() => kernel.close())

  it("looks at a reply, also at the calls of hosted tools", async () => {
    const reply = await kernel.send({ content: "What time is it?" })
    await expect(reply).toPass({ kind: "contains", text: "noon" }, { kind: "calls", tool: "clock" })
    await expect(reply).not.toPass({ kind: "contains", text: "midnight" })
    await expect(reply).toPass(scorer({ name: "short", score: ({ content }) => content.length < 20 }))
  })

  it("is not passed by nothing that is expected", async () => {
    const reply = await kernel.send({ content: "Hello" })
    await expect(expect(reply).toPass()).rejects.toThrow("Say what is expected")
  })

  it("says what was expected and what was there", async () => {
    const reply = await kernel.send({ content: "What time is it?" })
    const error = await expect(reply)
      .toPass({ kind: "contains", text: "midnight" }, { kind: "calls_none" }, { kind: "contains", text: "noon" })
      .then(() => "passed", String)
    assert.include(error, 'contains "midnight": The answer is: "It is noon."\ncalls no tool: It called clock {}.')
    assert.notInclude(error, 'contains "noon"')
  })

  it("without a kernel looks at what a reply tells, and says what it does not tell", async () => {
    const reply = await kernel.send({ content: "What time is it?" })
    const { toPass } = matchers()
    assert.isTrue((await toPass(reply, { kind: "contains", text: "noon" })).pass)
    const error = await toPass(reply, { kind: "calls_none" }).then(() => "passed", String)
    assert.include(error, "Use matchers({ kernel })")
    const wrong = await toPass(reply, { kind: "matches", pattern: "(?=a)" }).then(() => "passed", String)
    assert.include(wrong, "no pattern")
  })
})
