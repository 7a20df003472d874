/** What every chat provider must do, asked of the real model. The same promises as the scripted scenarios of the tests. */
import type { Provider, Usage } from "@colloquy/core"
import {
  type ChatDriver,
  type ChatEvent,
  type ChatRequest,
  converse,
  defaultChatPolicy,
  describeModel,
  type FinishReason,
  type ModelErrorReason
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { DoesNotHold, type LiveCheck } from "./LiveCheck.ts"

interface Heard {
  readonly text: string
  readonly deltas: number
  readonly calls: ReadonlyArray<{ readonly name: string; readonly arguments: string }>
  readonly finish: FinishReason | null
  readonly usage: Usage | null
  readonly error: ModelErrorReason | null
}

const hear = (chat: ChatDriver, request: ChatRequest): Effect.Effect<Heard> =>
  Effect.gen(function* () {
    const events: Array<ChatEvent> = []
    const listener = { hear: (event: ChatEvent) => void events.push(event), pause: () => {} }
    const result = yield* Effect.result(converse(chat, request, defaultChatPolicy, listener))
    const texts = events.flatMap((event) => (event._tag === "TextDelta" ? [event.text] : []))
    return {
      text: texts.join(""),
      deltas: texts.length,
      calls: events.flatMap((event) => (event._tag === "ToolCallReady" ? [event.call] : [])),
      finish: events.flatMap((event) => (event._tag === "Finished" ? [event.reason] : [])).at(-1) ?? null,
      usage: events.flatMap((event) => (event._tag === "Usage" ? [event.usage] : [])).at(-1) ?? null,
      error: Result.isFailure(result) ? result.failure.reason : null
    }
  })

const getTime = {
  name: "get_time",
  description: "Tells the time of a zone",
  parameters: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] }
}

const says = (text: string): ChatRequest["messages"][number] => ({ role: "user", content: [{ type: "text", text }] })

/** Each expectation gives the sentence of what does not hold, or null. */
type Expectation = (heard: Heard) => string | null

const answered: Expectation = ({ error, finish, usage }) =>
  error !== null
    ? `The request failed: ${error}.`
    : finish === null
      ? "The answer has no end."
      : usage === null || usage.inputTokens === 0 || usage.outputTokens === 0
        ? "The provider reported no usage."
        : null

const both =
  (first: Expectation, second: Expectation): Expectation =>
  (heard) =>
    first(heard) ?? second(heard)

const contains =
  (word: string): Expectation =>
  ({ text }) =>
    text.toLowerCase().includes(word) ? null : `The answer does not contain "${word}".`

const refused =
  (...reasons: ReadonlyArray<ModelErrorReason>): Expectation =>
  ({ error }) =>
    error !== null && reasons.includes(error) ? null : `Expected ${reasons.join(" or ")}, got ${error ?? "an answer"}.`

const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === "object"
  } catch {
    return false
  }
}

const callsTheTool: Expectation = ({ calls, finish }) => {
  const [call] = calls
  if (call?.name !== getTime.name) return "The model did not call the tool."
  if (!isJson(call.arguments)) return "The arguments of the call are no JSON."
  return finish === "tool_calls" ? null : `The answer ended with ${finish ?? "nothing"}, not with its calls.`
}

export const unknownModel = "no-such-model-1"

export const conversationChecks = ({ chat, id }: Provider, model: string): ReadonlyArray<LiveCheck> => {
  if (chat === undefined) return []
  const check = (name: string, given: Partial<ChatRequest>, expectation: Expectation): LiveCheck => ({
    group: "conversation",
    name,
    atMostUsd: 0.01,
    timeout: "90 seconds",
    run: Effect.gen(function* () {
      const named = given.model ?? model
      const heard = yield* hear(chat, {
        provider: id,
        model: named,
        info: describeModel({ name: named, provider: id, modelType: "llm" }),
        system: null,
        tools: [],
        toolChoice: "auto",
        messages: [says("Hello")],
        thinking: null,
        routing: null,
        jsonOutput: false,
        maxOutputTokens: null,
        apiKey: null,
        conversationId: "live",
        ...given
      })
      const problem = expectation(heard)
      return problem === null ? heard.usage : yield* new DoesNotHold({ reason: problem })
    })
  })
  return [
    check(
      "answers in words, with an end and usage",
      { system: "Answer with one word.", messages: [says("Which tower shows ships the way at night? One word.")] },
      both(answered, contains("lighthouse"))
    ),
    check(
      "sends its words while it writes",
      { messages: [says("Count from 1 to 30 in words.")] },
      (heard) => answered(heard) ?? (heard.deltas > 1 ? null : "The answer came in one piece.")
    ),
    check(
      "calls a tool with JSON arguments",
      { tools: [getTime], messages: [says("What time is it in UTC? Use the tool.")] },
      both(answered, callsTheTool)
    ),
    check(
      "reads the result of a tool",
      {
        tools: [getTime],
        messages: [
          says("What time is it in UTC?"),
          {
            role: "assistant",
            content: "",
            toolCalls: [{ id: "call_1", name: getTime.name, arguments: '{"zone":"UTC"}' }],
            providerData: null
          },
          { role: "tool", toolCallId: "call_1", toolName: getTime.name, output: "12:34" }
        ]
      },
      both(answered, contains("12:34"))
    ),
    check(
      "ends at the limit of its answer",
      { maxOutputTokens: 16, messages: [says("Tell a story of 500 words.")] },
      both(answered, ({ finish }) => (finish === "length" ? null : `The answer ended with ${finish ?? "nothing"}.`))
    ),
    check("refuses a wrong key", { apiKey: Redacted.make("wrong-key") }, refused("auth")),
    check("does not know a model", { model: unknownModel }, refused("model_not_found", "invalid_request"))
  ]
}
