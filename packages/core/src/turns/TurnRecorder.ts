/**
 * Step 8 of a turn, pure: the fold of a leg's events into the records that are stored. The settling process applies it to the log in
 * memory; after a crash, another process applies it to the log in the store. Both store the same for the same events.
 */
import { type Charge, totalCost } from "../metering/Charge.ts"
import { unknownCharge } from "../metering/PaidCall.ts"
import type { FinishReason } from "../models/ChatEvent.ts"
import type { ProviderData } from "../models/ChatRequest.ts"
import { chargeWithinBounds, cutTo, longestName, usageWithinBounds } from "../models/ReportedFigures.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import { MessageId, type ThreadId } from "../primitives/Ids.ts"
import { addUsage, noUsage, totalTokens, type Usage } from "../primitives/Usage.ts"
import type { AnsweringAssistant, Step, StopReason, Supplements } from "../threads/Message.ts"
import { type Supplement, makeSupplements } from "../threads/Supplement.ts"
import type { OpenCall, Question, ToolCall, ToolResult } from "../tools/ToolCall.ts"
import { childrenKey, type ChildRun, withChildren } from "./ChildRuns.ts"
import type { RunStarted, TurnEvent } from "./TurnEvent.ts"

/** A leg, computed from its events. Names and figures are within bounds: the log of an older version may contain others. */
export interface RecordedLeg {
  readonly messageId: MessageId
  readonly provider: string
  readonly model: string
  /** Null: the log tells none. */
  readonly assistant: AnsweringAssistant | null
  readonly at: string
  /** All text of the leg: the texts of its steps, with a blank line where calls separate two of them. */
  readonly content: string
  readonly steps: ReadonlyArray<Step>
  /** Calls without a result. */
  readonly openCalls: ReadonlyArray<OpenCall>
  /** The outputs of calls that were approved before the leg. */
  readonly approvedResults: ReadonlyArray<ToolResult>
  /** The usage of the leg itself. */
  readonly ownUsage: Usage
  /** With the usage of the runs that its tools began. */
  readonly usage: Usage
  /** The number of model calls. */
  readonly modelCalls: number
  /** When the model wrote its first text or call; null: it wrote none, or its first call did not end. */
  readonly firstTokenAt: Date | null
  /** All costs, those of the conversation's model first. */
  readonly charges: ReadonlyArray<Charge>
  /** Why the model ended its last call; null: there was none, or it did not end. */
  readonly stopReason: Exclude<StopReason, "tools"> | null
  /** What parts keep with the answer. */
  readonly supplements: Supplements | null
  readonly keptAs: ThreadId | undefined
}

interface OpenStep {
  text: string
  /** Reasoning is not stored, but its tokens are paid for. */
  reasoning: string
  calls: Array<ToolCall>
  results: Array<ToolResult>
  providerData: ProviderData | null
  promptTokens: number
  usage: Usage | null
  ended: boolean
  /** Its text is no part of the answer. It is paid for all the same. */
  withdrawn: boolean
  isLast: boolean
  reason: FinishReason
}

type Begun = Pick<RunStarted, "messageId" | "provider" | "model" | "assistant" | "at" | "keptAs">

export const recordLeg = (events: ReadonlyArray<TurnEvent>, counter: TokenCounterPort): RecordedLeg => {
  let leg: Begun = { messageId: noMessage, provider: "", model: "", at: "" }
  let answeredBy: string | null = null
  let firstAt: number | undefined
  const charges: Array<Charge> = []
  const begun = new Map<number, Charge>()
  const kept = new Map<string, Supplement>()
  const children = new Map<string, ChildRun>()
  const segments: Array<Segment> = []
  let content = ""
  /** Characters of the content since the last call. */
  let sinceCall = 0
  const steps: Array<OpenStep> = []
  const marks = new Map<string, Omit<OpenCall, keyof ToolCall>>()
  const approvedResults: Array<ToolResult> = []
  for (const event of events) {
    const step = steps.at(-1)
    switch (event._tag) {
      case "RunStarted":
      case "RunContinuing":
        leg = event
        break
      case "StepStarted":
        steps.push(openStep(event.promptTokens, event.isLast === true))
        break
      case "TextDelta":
        if (step !== undefined)
          step.text +=
            step.text === "" && content !== "" && followsCalls(steps) ? withoutSeparator(event.text) : event.text
        content += event.text
        sinceCall += event.text.length
        break
      case "ReasoningDelta":
        if (step !== undefined) step.reasoning += event.text
        break
      case "ToolCallReady":
        step?.calls.push(event.call)
        sinceCall = 0
        break
      case "AnswerWithdrawn":
        for (const each of stepsSinceCall(steps)) each.withdrawn = true
        content = content.slice(0, content.length - sinceCall)
        sinceCall = 0
        break
      case "StepEnded":
        answeredBy = event.model ?? answeredBy
        firstAt ??= event.firstAt
        if (step !== undefined)
          Object.assign(step, {
            usage: event.usage,
            providerData: event.providerData,
            reason: event.reason ?? "stop",
            ended: true
          })
        break
      case "HostedResult":
        // Before its first model call, a leg runs what was approved.
        ;(step?.results ?? approvedResults).push({ ...toolResult(event), hosted: true })
        break
      case "ApprovalRequired":
        if (event.of === undefined)
          marks.set(event.call.id, { approval: { expiresAt: event.expiresAt, ...asking(event.question) } })
        break
      case "Charged":
        charges.push(event.charge)
        break
      case "PaidCallBegan":
        begun.set(event.sequence, unknownCharge(event.payee))
        break
      case "PaidCallEnded":
        begun.delete(event.began)
        break
      case "HandedOver":
        segments.push({ model: answeredBy ?? leg.model, provider: leg.provider, end: steps.length })
        answeredBy = null
        leg = { ...leg, assistant: event.assistant, provider: event.provider, model: event.model }
        break
      case "ChildBegan":
        children.set(event.child.runId, { ...event.child, status: null, usage: null, modelCalls: 0 })
        break
      case "ChildEnded": {
        const child = children.get(event.runId)
        if (child === undefined) break
        children.set(event.runId, { ...child, ...event.end })
        const { runId, threadId, toolCallId } = child
        if (event.calls !== undefined) marks.set(toolCallId, { waitsFor: { threadId, runId, calls: event.calls } })
        break
      }
      case "PartKept":
        kept.set(event.part, { ...kept.get(event.part), value: event.value })
        break
      case "PartRecalled":
        kept.set(event.part, { value: null, ...kept.get(event.part), prompt: event.prompt })
        break
    }
  }
  charges.push(...begun.values())
  const provider = cutTo(leg.provider, longestName)
  const model = cutTo(answeredBy ?? leg.model, longestName)
  const spoken = sumUsage(steps, counter)
  const chat =
    segments.length === 0
      ? steps.length === 0
        ? []
        : [{ provider, model, purpose: "chat", usage: spoken }]
      : toCharges(steps, [...segments, { provider, model, end: steps.length }], counter)
  const all = [...chat, ...charges.map(chargeWithinBounds)]
  const ownUsage = charges.length === 0 ? spoken : usageWithinBounds({ ...spoken, costUsd: totalCost(all) })
  if (children.size > 0) kept.set(childrenKey, { value: [...children.values()] })
  return {
    messageId: leg.messageId,
    provider,
    model,
    assistant: leg.assistant ?? null,
    at: leg.at,
    content,
    steps: steps.filter(saysSomething).map(closeStep),
    openCalls: steps.flatMap((step) => unansweredCalls(step, marks)),
    approvedResults,
    ownUsage,
    usage: children.size === 0 ? ownUsage : usageWithinBounds(withChildren(ownUsage, [...children.values()])),
    modelCalls: steps.length,
    firstTokenAt: firstAt === undefined ? null : new Date(firstAt),
    charges: all,
    stopReason: lastStopReason(steps.at(-1)),
    supplements: makeSupplements(kept),
    keptAs: leg.keptAs
  }
}

/** The steps of a leg that one assistant made, up to the step `end`. */
interface Segment {
  readonly provider: string
  readonly model: string
  readonly end: number
}

const sumUsage = (steps: ReadonlyArray<OpenStep>, counter: TokenCounterPort): Usage =>
  withoutUnknownCost(usageWithinBounds(steps.map((step) => stepUsage(step, counter)).reduce(addUsage, noUsage)))

/** One charge for each model that answered in a row. */
const toCharges = (
  steps: ReadonlyArray<OpenStep>,
  segments: ReadonlyArray<Segment>,
  counter: TokenCounterPort
): ReadonlyArray<Charge> =>
  segments.flatMap(({ end, model, provider }, index) => {
    const own = steps.slice(segments[index - 1]?.end ?? 0, end)
    const named = { provider: cutTo(provider, longestName), model: cutTo(model, longestName) }
    return own.length === 0 ? [] : [{ ...named, purpose: "chat", usage: sumUsage(own, counter) }]
  })

const lastStopReason = (last: OpenStep | undefined): RecordedLeg["stopReason"] => {
  if (last?.ended !== true) return null
  if (last.reason === "length" || last.reason === "filtered") return last.reason
  return last.isLast ? "steps" : "stop"
}

/** Where the model read and wrote nothing, because the provider refused the request, the cost is not unknown but zero. */
const withoutUnknownCost = (usage: Usage): Usage =>
  totalTokens(usage) === 0 && !usage.estimated && usage.costUsd === null ? { ...usage, costUsd: 0 } : usage

/** Whether the text of the last step is the first one after calls. */
const followsCalls = (steps: ReadonlyArray<OpenStep>): boolean =>
  (steps.findLast((step, index) => index < steps.length - 1 && saysSomething(step))?.calls.length ?? 0) > 0

const stepsSinceCall = (steps: ReadonlyArray<OpenStep>): ReadonlyArray<OpenStep> =>
  steps.slice(steps.findLastIndex(({ calls }) => calls.length > 0) + 1)

/** What the model wrote after its last call. */
export const lastAnswer = ({ steps }: RecordedLeg): string =>
  steps
    .slice(steps.findLastIndex(({ toolCalls }) => toolCalls.length > 0) + 1)
    .map(({ text }) => text)
    .join("")

/**
 * Separates the text before a call from the text after it, in `content` and in the deltas. The model does not see this separator in its own
 * earlier text.
 */
export const stepSeparator = "\n\n"

const withoutSeparator = (text: string): string =>
  text.startsWith(stepSeparator) ? text.slice(stepSeparator.length) : text

/** The id of a leg whose first event is missing, because nothing was written to its log. */
const noMessage = MessageId.make("none")

const openStep = (promptTokens: number, isLast: boolean): OpenStep => ({
  text: "",
  reasoning: "",
  calls: [],
  results: [],
  providerData: null,
  promptTokens,
  usage: null,
  ended: false,
  withdrawn: false,
  isLast,
  reason: "stop"
})

const toolResult = (event: { readonly toolCallId: string; readonly toolName: string; readonly output: string }) => ({
  toolCallId: event.toolCallId,
  toolName: event.toolName,
  output: event.output
})

const asking = (question: Question | undefined) => (question === undefined ? {} : { question })

const saysSomething = (step: OpenStep): boolean =>
  !step.withdrawn && (step.text !== "" || step.calls.length > 0 || step.providerData !== null)

const unansweredCalls = (
  step: OpenStep,
  marks: ReadonlyMap<string, Omit<OpenCall, keyof ToolCall>>
): ReadonlyArray<OpenCall> =>
  step.calls
    .filter((call) => !step.results.some((result) => result.toolCallId === call.id))
    .map((call) => ({ ...call, ...marks.get(call.id) }))

const closeStep = (step: OpenStep): Step => ({
  text: step.text,
  toolCalls: step.calls,
  hostedResults: step.results,
  providerData: step.providerData
})

/** The usage that the provider reported; without a report, the kernel's own count. */
const stepUsage = (step: OpenStep, counter: TokenCounterPort): Usage => {
  if (step.usage !== null) return step.usage
  const written = step.reasoning + step.text + step.calls.map((call) => call.name + call.arguments).join("")
  return estimatedUsage(step.promptTokens, written, counter)
}

export const estimatedUsage = (promptTokens: number, written: string, counter: TokenCounterPort): Usage => ({
  ...noUsage,
  inputTokens: promptTokens,
  outputTokens: counter.count(written),
  estimated: true
})
