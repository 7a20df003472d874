/** The pure parts of the rooms of runs: filters and sums of a list, the replay of a log, the window of a prompt, samples of requests. */
import { assert, describe, it } from "@effect/vitest"
import { makeSegments, newMessages, type Prompt } from "../src/page/lib/promptBar.ts"
import { eventSteps, momentAt } from "../src/page/lib/replay.ts"
import {
  firstToken,
  isShown,
  noFilters,
  plainWords,
  readFilters,
  runDays,
  sumRuns,
  totalTime,
  withRuns,
  writeFilters
} from "../src/page/lib/runList.ts"
import { curlSample, typescriptSample } from "../src/page/lib/samples.ts"
import { stepFailures, makeChart, makeLanes, shareAt } from "../src/page/lib/waterfall.ts"
import type { RunStep, RunSummary, StreamEvent } from "../src/page/wire.ts"

const now = new Date(2026, 2, 20, 12).getTime()
const at = (days: number, hours = 0) => new Date(now - days * 86_400_000 - hours * 3_600_000).toISOString()

const run = (patch: Partial<RunSummary> = {}): RunSummary => ({
  run_id: "run-1",
  thread_id: "thread-1",
  assistant_id: "assistant-1",
  assistant_version: 1,
  status: "COMPLETED",
  created_at: at(0),
  started_at: "2026-03-20T10:00:00.000Z",
  first_token_at: "2026-03-20T10:00:00.250Z",
  ended_at: "2026-03-20T10:00:02.000Z",
  model_provider: "demo",
  model_name: "demo-1",
  steps: 1,
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  cost_usd: 0.5,
  content_preview: "Hello there",
  fault: null,
  parent_run_id: null,
  schedule_id: null,
  ...patch
})

describe("the list of runs", () => {
  it("keeps its filters in an address, and reads every other text as no filters", () => {
    const filters = { status: "FAILED", assistant: "a b", period: "month", words: "x&y=z é" } as const
    assert.deepStrictEqual(readFilters(writeFilters(filters)), filters)
    assert.strictEqual(writeFilters(noFilters), "")
    for (const text of ["", "status=GONE&period=year", "%%%", "constructor=1&status=toString"])
      assert.deepStrictEqual(readFilters(text), noFilters, text)
  })

  it("shows what the filters let through", () => {
    const shown = (patch: Partial<RunSummary>, filters: Partial<typeof noFilters>) =>
      isShown(run(patch), { ...noFilters, ...filters }, now)
    assert.isTrue(shown({}, {}))
    assert.isTrue(shown({}, { words: "THERE demo/demo-1" }))
    assert.isFalse(shown({}, { words: "there nowhere" }))
    assert.isFalse(shown({}, { status: "FAILED" }))
    assert.isFalse(shown({}, { assistant: "assistant-2" }))
    assert.isTrue(shown({ created_at: at(6) }, {}))
    assert.isFalse(shown({ created_at: at(7) }, {}))
    assert.isTrue(shown({ created_at: at(700) }, { period: "all" }))
  })

  it("has a run once, as it is now, newest first", () => {
    const list = withRuns([run({ run_id: "a", created_at: at(1) })], [run({ run_id: "b" })])
    assert.deepStrictEqual(
      list.map(({ run_id }) => run_id),
      ["b", "a"]
    )
    const again = withRuns(list, [run({ run_id: "a", created_at: at(1), status: "FAILED" })])
    assert.deepStrictEqual(
      again.map(({ status }) => status),
      ["COMPLETED", "FAILED"]
    )
  })

  it("sums tokens and cost of helpers once, with those who asked them", () => {
    const sums = sumRuns([
      run(),
      run({ run_id: "child", parent_run_id: "run-1" }),
      run({ run_id: "free", cost_usd: null }),
      run({ run_id: "bad", status: "FAILED", cost_usd: null })
    ])
    assert.deepStrictEqual(sums, { runs: 4, failed: 1, tokens: 45, costUsd: 0.5, unpriced: 1 })
  })

  it("has its days without gaps, at most thirty", () => {
    const days = runDays([run(), run({ run_id: "b", created_at: at(2), status: "FAILED" })], null, now)
    assert.deepStrictEqual(
      days.map(({ failed, runs }) => [runs, failed]),
      [
        [1, 1],
        [0, 0],
        [1, 0]
      ]
    )
    assert.strictEqual(runDays([], null, now).length, 1)
    assert.strictEqual(runDays([run({ created_at: at(400) })], null, now).length, 30)
  })

  it("tells times of what has happened, and counts on while a run is at work", () => {
    assert.strictEqual(firstToken(run()), 250)
    assert.isNull(firstToken(run({ first_token_at: null })))
    assert.strictEqual(totalTime(run(), 0), 2000)
    assert.isNull(totalTime(run({ ended_at: null, status: "REQUIRES_ACTION" }), 0))
    const begun = run({ ended_at: null, status: "IN_PROGRESS" })
    assert.strictEqual(totalTime(begun, Date.parse("2026-03-20T10:00:09.000Z")), 9000)
    assert.strictEqual(totalTime(begun, 0), 0)
  })
})

const step = (kind: RunStep["kind"], begin: number, end: number, patch: Partial<RunStep> = {}): RunStep => ({
  kind,
  name: null,
  tool_call_id: null,
  started_at: new Date(begin).toISOString(),
  ended_at: new Date(end).toISOString(),
  input_tokens: null,
  output_tokens: null,
  cost_usd: null,
  ...patch
})

const place = { thread_id: "t", assistant_id: "a", run_id: "r" }
const call = { id: "call-1", type: "function", function: { name: "clock", arguments: "{}" } } as const
const events: ReadonlyArray<StreamEvent> = [
  { type: "user_message", message_id: "m0", content: "What time?", role: "user", ...place, sequence: 1 },
  { type: "run_started", message_id: "m1", model_provider: "demo", model_name: "demo-1", ...place, sequence: 2 },
  { type: "content_streaming", content: "One ", ...place, sequence: 3 },
  { type: "content_streaming", content: "moment.", ...place, sequence: 4 },
  { type: "tool_call_start", tool_call_id: "call-1", name: "clock", ...place, sequence: 5 },
  { type: "tool_call_ready", tool_call: call, ...place, sequence: 6 },
  { type: "content_streaming", content: " Noon.", ...place, sequence: 7 },
  { type: "run_cancelled", message_id: "m1", content: "One moment. Noon.", ...place, sequence: 8 }
]
const steps = [
  step("recall", 0, 10),
  step("model", 10, 60),
  step("tool", 60, 70, { tool_call_id: "call-1", name: "clock" }),
  step("model", 70, 90),
  step("settle", 90, 100)
]

describe("the replay of a turn", () => {
  it("shows the conversation as it was behind each event", () => {
    const texts = events.map((_, index) =>
      momentAt(events, index)
        .answers.map(({ text }) => text)
        .join("|")
    )
    assert.deepStrictEqual(texts, [
      "",
      "",
      "One ",
      "One moment.",
      "One moment.",
      "One moment.",
      "One moment. Noon.",
      "One moment. Noon."
    ])
    assert.strictEqual(momentAt(events, 0).question, "What time?")
    assert.deepStrictEqual(
      momentAt(events, 4).answers[0]?.calls.map(({ given, name }) => [name, given]),
      [["clock", ""]]
    )
    assert.deepStrictEqual(
      momentAt(events, 5).answers[0]?.calls.map(({ given }) => given),
      ["{}"]
    )
    assert.deepStrictEqual(
      momentAt(events, 7).answers.map(({ state }) => state),
      ["cancelled"]
    )
    assert.deepStrictEqual(momentAt(events, -1), { question: null, answers: [] })
  })

  it("puts each event to its step: what is written behind a call belongs to the next model call", () => {
    assert.deepStrictEqual(eventSteps(events, steps), [0, 0, 1, 1, 1, 2, 3, 4])
    assert.deepStrictEqual(
      eventSteps(events, []),
      events.map(() => 0)
    )
  })
})

describe("the film of a turn", () => {
  it("has a lane for each kind of step, and marks times on its scale", () => {
    const { bars, total } = makeChart(steps, 0)
    const lanes = makeLanes(bars).map(({ bars: own, lane }) => [lane, own.map(([number]) => number)])
    assert.deepStrictEqual(lanes, [
      ["recall", [0]],
      ["model", [1, 3]],
      ["tool", [2]],
      ["settle", [4]]
    ])
    assert.strictEqual(shareAt(steps, total, new Date(25).toISOString()), 0.25)
    assert.isNull(shareAt(steps, total, new Date(500).toISOString()))
    assert.isNull(shareAt(steps, total, null))
    assert.isNull(shareAt([], 0, new Date(5).toISOString()))
  })

  it("puts what a provider refused to the call that had begun last, also when it was noted after its end", () => {
    const makeStep = (kind: "model" | "tool", started_at: string | null) => ({
      kind,
      name: "x",
      tool_call_id: null,
      started_at,
      ended_at: started_at,
      input_tokens: null,
      output_tokens: null,
      cost_usd: null
    })
    const failure = (time: string | null) => ({
      at: time,
      model_provider: "p",
      model_name: "m",
      reason: "auth",
      status: 401,
      code: null,
      request_id: null,
      said: null
    })
    const [first, second, third] = ["2026-03-20T10:00:00.000Z", "2026-03-20T10:00:01.000Z", "2026-03-20T10:00:02.000Z"]
    const called = [
      makeStep("model", first),
      makeStep("tool", second),
      makeStep("model", third),
      makeStep("model", null)
    ]
    const failures = [failure("2026-03-20T10:00:01.500Z"), failure("2026-03-20T10:00:02.001Z"), failure(null)]
    const found = called.map((_, number) => stepFailures({ failures, steps: called }, number))
    assert.deepStrictEqual(found, [failures.slice(0, 1), [], failures.slice(1, 2), []])
  })
})

const prompt = (parts: Prompt["parts"]): Prompt => ({ estimated_tokens: 0, input_tokens: null, parts })

describe("the window of a model call", () => {
  it("is a bar in true proportion, with the answer's room and what is free", () => {
    const parts = [
      { part: "system", estimated_tokens: 100, messages: [] },
      { part: "history", estimated_tokens: 300, messages: [] },
      { part: "memory", estimated_tokens: 0, messages: [] }
    ]
    const shares = (limit: number | null, reserved: number) =>
      makeSegments(prompt(parts), limit, reserved).map(({ name, share }) => [name, share])
    assert.deepStrictEqual(shares(1000, 200), [
      ["system", 0.1],
      ["history", 0.3],
      ["answer", 0.2],
      ["free", 0.4]
    ])
    assert.deepStrictEqual(shares(null, 200), [
      ["system", 0.25],
      ["history", 0.75]
    ])
    assert.deepStrictEqual(shares(200, 100), [
      ["system", 0.25],
      ["history", 0.75],
      ["answer", 0],
      ["free", 0]
    ])
  })

  it("marks the messages that the call before did not have", () => {
    const one = { role: "user", text: "Hi" }
    const two = { role: "tool", text: "Noon" }
    const before = prompt([{ part: "turn", estimated_tokens: 1, messages: [one] }])
    const part = { part: "turn", estimated_tokens: 2, messages: [one, two] }
    assert.deepStrictEqual(newMessages(part, before), [false, true])
    assert.deepStrictEqual(newMessages(part, undefined), [false, false])
  })
})

describe("the samples of requests", () => {
  const request = { path: "/threads/t/messages", body: { content: "It's `noon` $HOME" } }
  it("quote what a shell would read, and never hold a key", () => {
    assert.strictEqual(
      curlSample("http://host/api", request),
      `curl 'http://host/api/threads/t/messages' \\\n  -H "X-API-Key: $COLLOQUY_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"content":"It'\\''s \`noon\` $HOME"}'`
    )
    assert.include(typescriptSample("http://host/api", request), '"content": "It\'s `noon` $HOME"')
  })
})

it("the first words of an answer stand in a line without the marks of markdown", () => {
  const text = "## A sample Words can be **strong**, *soft* or `code`, and [a link](https://example.com). - one 1. two"
  assert.strictEqual(plainWords(text), "A sample Words can be strong, soft or code, and a link. - one 1. two")
  for (const plain of ["2 * 3 * 4 = 24", "C# and a_b", "5 > 3", "**", ""]) assert.strictEqual(plainWords(plain), plain)
})
