/**
 * Pure: a stored turn as a file for Vitest. A scripted model says in it what the model said, tools answer from the record, and the test passes at
 * once. What is expected and not met by the recorded answer stands in the file as what is to be reached.
 */
import { noUsage } from "../primitives/Usage.ts"
import type { Message } from "../threads/Message.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import { caseMessages, recordedTools } from "./CaseFromTurn.ts"
import { describeExpectation, type Expectation, type PlainExpectation, shorten } from "./Expectation.ts"
import type { JudgedTurn } from "./JudgedTurn.ts"
import { scorePlain } from "./Scorers.ts"
import type { TestCase } from "./TestCase.ts"

/** The name, the expectations and the tools of the test that is written. */
export interface CopyOptions {
  /** Default: the beginning of the question. */
  readonly name?: string | null | undefined
  /** Default: the answer as it was, and its calls. */
  readonly expectations?: ReadonlyArray<Expectation> | undefined
  readonly instructions?: string | null | undefined
  /** The definitions of the client's tools. Of other tools that were called, the file has the names. */
  readonly tools?: ReadonlyArray<ToolDefinition> | undefined
  /** The module with the tools of tests. Default: `colloquy/testing`. */
  readonly testing?: string | undefined
}

/**
 * The test of one turn. `messages` are those of its thread, oldest first: the turn, and as much of what was said before as the test is to have.
 * `messageId` is the question or an answer to it. Null: there is no such turn.
 */
export const copyAsTest = (
  messages: ReadonlyArray<Message>,
  messageId: string,
  options: CopyOptions = {}
): string | null => {
  const named = messages.findIndex(({ id }) => id === messageId)
  const index = messages.slice(0, named + 1).findLastIndex(({ role }) => role === "user")
  const question = messages[index]
  if (question === undefined) return null
  const later = messages.slice(index + 1)
  const next = later.findIndex(({ role }) => role === "user")
  const answers = next === -1 ? later : later.slice(0, next)
  const testCase: TestCase = {
    name: options.name ?? null,
    question: question.content ?? "",
    messages: caseMessages(messages.slice(0, index)),
    tools: recordedTools(answers),
    expectations: options.expectations ?? []
  }
  return testFile(testCase, answers, options)
}

const testFile = (
  testCase: TestCase,
  answers: ReadonlyArray<Message>,
  { instructions = null, testing = "colloquy/testing", tools: defined = [] }: CopyOptions
): string => {
  const steps = answers.flatMap(recordedSteps)
  const turn = playedTurn(testCase, steps)
  const given = testCase.expectations ?? []
  const expectations = given.length === 0 ? usualExpectations(turn) : given.filter(isPlayed)
  const left = given.filter((each) => !isPlayed(each))
  const missed = expectations.filter((each) => !scorePlain(each, turn).passed)
  const called = [...new Set(turn.toolCalls.map(({ name }) => name))]
  const unknown = called.filter((name) => defined.every((tool) => tool.name !== name))
  const tools = [...defined, ...unknown.map((name) => ({ name, description: null, parameters: null }))]
  const variant = {
    name: "recorded",
    ...(instructions === null ? {} : { systemPrompt: instructions }),
    ...(tools.length === 0 ? {} : { tools })
  }
  const isWhole = answers.at(-1)?.status === "COMPLETED"
  const lines: ReadonlyArray<string | null> = [
    `import { ${called.length === 0 ? "" : "callTools, "}evaluate, say, TestKernel } from ${literal(testing)}`,
    'import { expect, it } from "vitest"',
    "",
    isWhole ? null : "// The recorded turn has no whole answer. The script says what was said until then.",
    ...left.map((each) => `// Not checked, because it needs a real model or its figures: ${inOneLine(each)}`),
    `it(${literal(testCase.name ?? shorten(testCase.question))}, async () => {`,
    "  const kernel = await TestKernel.open([])",
    "  const recorded = {",
    `    question: ${literal(testCase.question)},`,
    testCase.messages?.length === 0 ? null : `    messages: ${indented(testCase.messages)},`,
    testCase.tools?.length === 0 ? null : `    tools: ${indented(testCase.tools)},`,
    "    // What the model said. Without the script, and with a kernel that has a provider, a real model is asked.",
    `    script: [${(steps.length === 0 ? [silence] : steps).map(stepText).join(", ")}],`,
    `    expectations: ${indented(expectations)}`,
    "  } as const",
    `  const variant = ${literal(variant, 2)}`,
    "  const { results } = await evaluate([recorded], { kernel, variants: [variant] })",
    "  await kernel.close()",
    ...missed.map((each) => `  // Not met by the recorded answer: ${inOneLine(each)}. Expect true once it is.`),
    `  expect(results[0]?.passed, JSON.stringify(results[0], null, 2)).toBe(${missed.length === 0})`,
    "})",
    ""
  ]
  return lines.filter((line) => line !== null).join("\n")
}

// ------ what was said

interface RecordedStep {
  readonly text: string
  readonly calls: ReadonlyArray<ToolCall>
}

const silence: RecordedStep = { text: "", calls: [] }

/** An answer of one model call keeps no steps. What says nothing is no step. */
const recordedSteps = ({ content, steps, toolCalls }: Message): ReadonlyArray<RecordedStep> =>
  (steps.length > 0 ? steps : [{ text: content ?? "", toolCalls }])
    .map((step) => ({ text: step.text, calls: step.toolCalls }))
    .filter(({ calls, text }) => text !== "" || calls.length > 0)

/** The turn as the script plays it. Calls of hosted tools are answered from the record, too, so each step is a leg. */
const playedTurn = ({ question, tools = [] }: TestCase, steps: ReadonlyArray<RecordedStep>): JudgedTurn => ({
  question,
  content: steps
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n"),
  output: null,
  status: "COMPLETED",
  fault: null,
  stopReason: "stop",
  toolCalls: steps.flatMap(({ calls }) =>
    calls.map((call) => ({
      name: call.name,
      arguments: call.arguments,
      result: tools.find(({ name }) => name === call.name)?.output ?? null
    }))
  ),
  retrieved: [],
  cited: null,
  usage: noUsage,
  costUsd: null,
  millis: 0,
  provider: null,
  model: null,
  assistantVersion: null,
  promptHash: null
})

// ------ what is expected

const notPlayed = ["judge", "similar", "custom", "cites", "cost_under", "time_under", "tokens_under"] as const

type NotPlayed = Extract<Expectation, { readonly kind: (typeof notPlayed)[number] }>

/** A scripted model has no figures of its own and was given no documents. */
const isPlayed = (expectation: Expectation): expectation is Exclude<Expectation, NotPlayed> & PlainExpectation =>
  notPlayed.every((kind) => kind !== expectation.kind)

/** A longer answer is not expected as a whole. */
const mostExpected = 2000

const usualExpectations = ({ content, toolCalls }: JudgedTurn): ReadonlyArray<Exclude<Expectation, NotPlayed>> => [
  ...(content === "" || content.length > mostExpected ? [] : [{ kind: "equals", text: content } as const]),
  ...(toolCalls.length === 0 ? [{ kind: "calls_none" } as const] : []),
  ...[...new Set(toolCalls.map(({ name }) => name))].map((tool) => ({ kind: "calls", tool }) as const)
]

// ------ how it is written

/** On several lines if it is indented; then a name at the beginning of a line is one of a field, because texts have no line breaks in JSON. */
const literal = (value: unknown, spaces = 0): string =>
  spaces === 0
    ? JSON.stringify(value)
    : JSON.stringify(value, null, 2)
        .replaceAll(/^( *)"([A-Za-z_]\w*)":/gmu, "$1$2:")
        .replaceAll("\n", `\n${" ".repeat(spaces)}`)

const indented = (value: unknown): string => literal(value, 4)

const inOneLine = (expectation: Expectation): string => shorten(describeExpectation(expectation), 200)

const stepText = ({ calls, text }: RecordedStep): string => {
  const beats = [
    ...(text === "" && calls.length > 0 ? [] : [`say(${literal(text)})`]),
    ...(calls.length === 0 ? [] : [`callTools(${calls.map(callText).join(", ")})`])
  ]
  return beats.length === 1 ? beats.join("") : `[${beats.join(", ")}]`
}

/** Arguments as the model wrote them, which may be no JSON. */
const callText = (call: ToolCall): string => `[${literal(call.name)}, ${literal(call.arguments)}]`
