/**
 * Shows what happened inside a run: its steps with their times, and the prompt of each model call, part by part, as the model read it. Both are computed
 * from what is stored anyway (the log and the messages), so nothing extra is stored and any process can answer. Pure.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Charge } from "../metering/Charge.ts"
import type { ChatMessage } from "../models/ChatRequest.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import { type Explanation, historyLeftOut, summaryName } from "../prompts/Explanation.ts"
import { addMessage, messageText } from "../prompts/PromptMessages.ts"
import { fitPart, PromptPart } from "../prompts/PromptPart.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import type { Run } from "../runs/Run.ts"
import type { Message } from "../threads/Message.ts"
import { readSupplement } from "../threads/Supplement.ts"
import { ThreadSummary } from "../threads/ThreadSummary.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import type { ModelFailed, TurnEvent } from "../turns/TurnEvent.ts"
import type { TurnPlan } from "../turns/TurnPlan.ts"

/**
 * A stretch of a run. Times are milliseconds since 1970. A time is null when an older version wrote the log, or while the step is under
 * way.
 */
export interface RunStep {
  /**
   * `queue`: the message waited for its thread; `listen`: speech became text; `recall`: parts searched and the prompt was assembled;
   * `model`: one model call; `tool`: one call of a hosted tool; `client`: the run waited for the client's tool outputs; `settle`: the rest
   * of the answer was spoken and the leg was stored.
   */
  readonly kind: "queue" | "listen" | "recall" | "model" | "tool" | "client" | "settle"
  /** The name of the model or of the tool. */
  readonly name: string | null
  readonly toolCallId: string | null
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** The usage of a model call; null if the provider reported none. */
  readonly usage: Usage | null
}

/** One message of a prompt as the model read it. */
export interface ReadMessage {
  readonly role: "system" | ChatMessage["role"]
  readonly text: string
}

/** One part of a prompt, under the name that the explanation uses. */
export interface ReadPart {
  readonly part: string
  /** By the kernel's own counter. */
  readonly estimatedTokens: number
  readonly messages: ReadonlyArray<ReadMessage>
}

/** What one model call read. */
export interface ReadPrompt {
  /** By the kernel's own counter, before the call. */
  readonly estimatedTokens: number
  /** As the provider counted; null if it reported none. */
  readonly inputTokens: number | null
  readonly parts: ReadonlyArray<ReadPart>
}

export interface InspectedChild {
  readonly toolCallId: string
  readonly name: string
  readonly threadId: ThreadId
  readonly runId: RunId
  /** Null: the run never began, or its thread was deleted. */
  readonly inspection: Inspection | null
}

export interface Inspection {
  readonly steps: ReadonlyArray<RunStep>
  /** Why model calls failed, in the provider's own words; for operators. */
  readonly failures: ReadonlyArray<Omit<ModelFailed, "_tag" | "sequence">>
  /** Costs besides the calls of the conversation's model. */
  readonly charges: ReadonlyArray<Charge>
  /** The runs that tools of this one began, each with its own inside; in the order in which they began. */
  readonly children: ReadonlyArray<InspectedChild>
  /** One for each model call, in order. Empty until the leg is settled, and when no model was called. */
  readonly prompts: ReadonlyArray<ReadPrompt>
  /** The summary of the thread's oldest messages with which the run began, with the messages that it covers; null: there was none. */
  readonly summary: ThreadSummary | null
}

const step = (kind: RunStep["kind"], startedAt: number | null, rest: Partial<RunStep> = {}): RunStep => ({
  kind,
  name: null,
  toolCallId: null,
  startedAt,
  endedAt: null,
  usage: null,
  ...rest
})

const millisOrNull = (date: Date | null): number | null => date?.getTime() ?? null

export const inspectSteps = (run: Run, events: ReadonlyArray<TurnEvent>): ReadonlyArray<RunStep> => {
  const steps: Array<RunStep> = [...heardIn(events), ...queuedBefore(run)]
  /** The end of the step before the current event. */
  let since = millisOrNull(run.startedAt)
  let model = run.model
  let isFirst = true
  const close = (at: number | undefined, rest: Partial<RunStep> = {}) => {
    const open = steps.findLastIndex(({ kind }) => kind === "model")
    const found = steps[open]
    if (found !== undefined) steps[open] = { ...found, endedAt: at ?? null, ...rest }
  }
  for (const event of events) {
    switch (event._tag) {
      case "RunStarted":
        model = event.model
        break
      case "RunContinuing": {
        const at = Date.parse(event.at)
        model = event.model
        steps.push(step("client", since, { endedAt: at }))
        since = at
        break
      }
      case "StepStarted":
        if (isFirst) steps.push(step("recall", since, { endedAt: event.at ?? null }))
        isFirst = false
        steps.push(step("model", event.at ?? null, { name: model }))
        break
      case "StepEnded":
        close(event.at, { usage: event.usage, name: event.model ?? model })
        since = event.at ?? since
        break
      case "HostedResult":
        steps.push(
          step("tool", event.startedAt ?? null, {
            name: event.toolName,
            toolCallId: event.toolCallId,
            endedAt: event.at ?? null
          })
        )
        since = Math.max(since ?? 0, event.at ?? 0) || null
        break
    }
  }
  if (run.endedAt === null) return steps
  // A model call that failed or was cancelled has no end of its own in the log; it ended with the run.
  const last = steps.at(-1)
  if (last?.kind === "model" && (run.status === "FAILED" || (last.endedAt === null && last.usage === null))) {
    if (last.endedAt === null) close(run.endedAt.getTime())
    return steps
  }
  return [...steps, step("settle", since, { endedAt: run.endedAt.getTime() })]
}

const heardIn = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<RunStep> => {
  const times = events.flatMap((event) => (event._tag === "PartTold" && event.at !== undefined ? [event.at] : []))
  const [first] = times
  return first === undefined ? [] : [step("listen", first, { endedAt: times.at(-1) ?? null })]
}

/** Milliseconds. A run whose thread was free also begins a little later than it was created, because of one write to the store. */
const leastWait = 100

const queuedBefore = ({ createdAt, startedAt }: Run): ReadonlyArray<RunStep> =>
  startedAt === null || startedAt.getTime() - createdAt.getTime() > leastWait
    ? [step("queue", createdAt.getTime(), { endedAt: millisOrNull(startedAt) })]
    : []

export const chargesIn = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<Charge> =>
  events.flatMap((event) => (event._tag === "Charged" ? [event.charge] : []))

export const failuresIn = (events: ReadonlyArray<TurnEvent>): Inspection["failures"] =>
  events.flatMap((event) => {
    if (event._tag !== "ModelFailed") return []
    const { _tag, sequence: _sequence, ...failure } = event
    return [failure]
  })

const decodeSummary = Schema.decodeUnknownOption(Schema.Struct({ summary: ThreadSummary }))

/** The summary in the plan of a run. */
export const summaryIn = ({ parts = {} }: Pick<TurnPlan, "parts">): ThreadSummary | null =>
  Option.match(decodeSummary(parts[summaryName]), { onNone: () => null, onSome: ({ summary }) => summary })

export interface PromptSources {
  readonly run: Run
  readonly explanation: Explanation
  readonly system: string | null
  readonly tools: ReadonlyArray<ToolDefinition>
  /** All messages of the thread, in order. */
  readonly messages: ReadonlyArray<Message>
  readonly counter: TokenCounterPort
  readonly events: ReadonlyArray<TurnEvent>
}

/** The model calls of a run, each with the number of its leg and its index in the leg. */
const callsIn = (events: ReadonlyArray<TurnEvent>) => {
  const calls: Array<{ leg: number; index: number; promptTokens: number; inputTokens: number | null }> = []
  let leg = -1
  let index = 0
  for (const event of events) {
    if (event._tag === "RunStarted" || event._tag === "RunContinuing") {
      leg++
      index = 0
    } else if (event._tag === "StepStarted") {
      calls.push({ leg: Math.max(0, leg), index, promptTokens: event.promptTokens, inputTokens: null })
      index++
    } else if (event._tag === "StepEnded") {
      const call = calls.at(-1)
      if (call !== undefined) call.inputTokens = event.usage?.inputTokens ?? null
    }
  }
  return calls
}

/** What the run had written before a model call: the answers of the legs before, and the steps of this leg before the call. */
const writtenBefore = (
  own: ReadonlyArray<Message>,
  { leg, index }: { readonly leg: number; readonly index: number }
): ReadonlyArray<Message> => {
  const answers = own.filter(({ role }) => role === "assistant")
  const current = answers[leg]
  const steps = current?.steps.slice(0, index) ?? []
  return [
    ...own.filter(({ role }) => role === "user"),
    ...answers.slice(0, leg),
    ...(current === undefined || steps.length === 0
      ? []
      : [{ ...current, content: steps.map(({ text }) => text).join(""), toolCalls: [], toolResults: [], steps }])
  ]
}

/** The last model call of a run whose log was deleted by age. */
const lastCall = (own: ReadonlyArray<Message>, { usedTokens }: Explanation) => {
  const answers = own.filter(({ role }) => role === "assistant")
  const steps = answers.at(-1)?.steps.length ?? 0
  return {
    leg: Math.max(0, answers.length - 1),
    index: Math.max(0, steps - 1),
    promptTokens: usedTokens,
    inputTokens: null
  }
}

/** What each model call read. The explanation is that of the last one; the calls before it differ from it in the part `turn`. */
export const readPrompts = (sources: PromptSources): ReadonlyArray<ReadPrompt> => {
  const own = sources.messages.filter(({ runId }) => runId === sources.run.id)
  const others = sources.explanation.parts.reduce((sum, { part, tokens }) => sum + (part === "turn" ? 0 : tokens), 0)
  const logged = callsIn(sources.events)
  const calls = logged.length > 0 ? logged : [lastCall(own, sources.explanation)]
  return calls.map((call) => ({
    estimatedTokens: call.promptTokens,
    inputTokens: call.inputTokens,
    parts: readPrompt(sources, writtenBefore(own, call), Math.max(0, call.promptTokens - others))
  }))
}

/** The same texts, from the same records, that the turn's own prompt assembly used, each under its part. */
const readPrompt = (
  sources: PromptSources,
  written: ReadonlyArray<Message>,
  turnTokens: number
): ReadonlyArray<ReadPart> => {
  const { explanation, messages, run } = sources
  const own = messages.filter(({ runId }) => runId === run.id)
  const first = own[0]?.sequence ?? 0
  const earlier = messages.filter(({ runId, sequence }) => runId !== run.id && sequence < first)
  const recalled = new Map(own.flatMap(recalledWith).map((part) => [part.name, part]))
  const partTexts = (part: string, tokens: number): ReadonlyArray<ReadMessage> => {
    switch (part) {
      case "system":
        return sources.system === null ? [] : [{ role: "system", text: sources.system }]
      case "tools":
        return sources.tools.map((tool) => ({ role: "system", text: JSON.stringify(tool) }))
      case "history":
        return read(earlier.slice(historyLeftOut(explanation)), run.provider)
      case "turn":
        return read(written, run.provider)
      default: {
        const found = recalled.get(part)
        const text = found === undefined ? "" : fitPart(found, tokens, sources.counter).text
        return text === "" ? [] : [{ role: "user", text }]
      }
    }
  }
  return explanation.parts.map(({ part, tokens }) => ({
    part,
    estimatedTokens: part === "turn" ? turnTokens : tokens,
    messages: partTexts(part, tokens)
  }))
}

const decodeParts = Schema.decodeUnknownOption(Schema.Array(PromptPart))

/** The recalled prompt parts of a run are stored with its answers. */
const recalledWith = (message: Message): ReadonlyArray<PromptPart> =>
  message.role === "user"
    ? []
    : Object.keys(message.supplements ?? {}).flatMap((name) =>
        Option.getOrElse(decodeParts(readSupplement(message, name)?.prompt), () => [])
      )

/**
 * Leaves out what parts add before and after a user's message (for example pictures, or an earlier conversation): that is shown with the
 * message itself.
 */
const read = (messages: ReadonlyArray<Message>, provider: string): ReadonlyArray<ReadMessage> => {
  const into: Array<ChatMessage> = []
  for (const message of messages) addMessage(into, message, provider, () => undefined, [])
  return into.map((message) => ({ role: message.role, text: messageText(message) }))
}
