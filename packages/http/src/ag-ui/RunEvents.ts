/**
 * The events of a leg as events of AG-UI 1.0. Each leg of a run is a run of AG-UI: one that needs an approval ends with an interrupt, and the
 * run that answers it is the next leg. Pure: the same log gives the same events, live or again.
 */
import { isTerminal, type TurnEvent } from "@colloquy/core"
import { totalTokens } from "@colloquy/core/adapters"
import type { Event, Interrupt, Message, RunFinishedEvent } from "@ag-ui/core"
import type * as Schema from "effect/Schema"
import type { Shown } from "../streams/Sse.ts"
import { compact } from "../wire/Fields.ts"
import { isRecord } from "../wire/Json.ts"
import { withoutLineEnds } from "../streams/LineEnds.ts"
import { assistantMessage, partId, resultId } from "./Messages.ts"
import { ownKey } from "./RunInput.ts"

/** The constants of the official package are an enumeration; on the wire they are texts. */
type OnTheWire<E> = E extends { readonly type: infer Type extends string }
  ? Omit<E, "type"> & { readonly type: `${Type}` }
  : never
export type AgUiEvent =
  | Exclude<OnTheWire<Event>, { readonly type: "MESSAGES_SNAPSHOT" }>
  /** Messages of the client go back as they came. */
  | { readonly type: "MESSAGES_SNAPSHOT"; readonly messages: ReadonlyArray<unknown> }

type Outcome = NonNullable<RunFinishedEvent["outcome"]>
type End = Extract<TurnEvent, { readonly _tag: "RunEnded" | "ToolSubmitRequired" | "RunFailed" | "RunCancelled" }>

/** An element of the stream: its head, an event of the leg, or an event of AG-UI that no leg tells. */
export type Told = TurnEvent | { readonly _tag: "Begun" } | { readonly _tag: "AgUiEvent"; readonly event: AgUiEvent }

export interface Beginning {
  readonly threadId: string
  readonly runId: string
  readonly isOldClient: boolean
  /** The conversation before the events. */
  readonly base: ReadonlyArray<unknown>
  /**
   * The time at which the conversation is sent to the client: at once, when the answer begins (the client's messages may hold a piece of
   * the answer), or only after a correction.
   */
  readonly snapshot: "first" | "answer" | "none"
  /** A client keeps its messages in the order that it knows. If `base` has them in another order, the client must forget them first. */
  readonly isReordered: boolean
  /** Null: the application's state has no place for ours. */
  readonly state: Schema.JsonObject | null
  readonly own: Schema.JsonObject
  readonly results: ReadonlyArray<{ readonly toolCallId: string; readonly content: string }>
}

interface LiveAnswer {
  readonly id: string
  text: string
  /** The text as the log has it, with the separator from the text before. */
  logged: string
  readonly calls: Array<{ readonly id: string; readonly name: string; readonly arguments: string }>
}

const separator = "\n\n"

const protocolVersion = "1.0"

const statuses = {
  ToolSubmitRequired: "requires_action",
  RunEnded: "completed",
  RunFailed: "failed",
  RunCancelled: "cancelled"
}

export const eventText = (event: AgUiEvent): string => `data: ${withoutLineEnds(JSON.stringify(event))}\n\n`

export class RunEvents {
  private readonly beginning: Beginning
  private readonly shown: Shown
  private base: ReadonlyArray<unknown>
  private messageId = ""
  /** The messages of this leg, in order. */
  private said: Array<LiveAnswer | Message> = []
  private answers = 0
  private open: { readonly kind: "text" | "reasoning"; readonly id: string } | null = null
  private readonly openCalls = new Set<string>()
  private readonly children = new Set<string>()
  private steps = 0
  private hasOpenStep = false
  private thoughts = 0
  private isCorrected = false

  constructor(beginning: Beginning, shown: Shown) {
    this.beginning = beginning
    this.base = beginning.base
    this.shown = shown
  }

  readonly encode = (batch: ReadonlyArray<Told>): string =>
    batch.map((each) => this.take(each).map(this.known).map(eventText).join("")).join("")

  /** Clients before 1.0 know two outcomes, and refuse an outcome with a field that they do not know. */
  private readonly known = (event: AgUiEvent): AgUiEvent =>
    event.type !== "RUN_FINISHED" || !this.beginning.isOldClient || event.outcome?.type === "interrupt"
      ? event
      : { ...event, outcome: { type: "success" } }

  private take(event: Told): ReadonlyArray<AgUiEvent> {
    switch (event._tag) {
      case "Begun":
        return this.begun()
      case "AgUiEvent":
        return [event.event]
      case "RunStarted":
      case "RunContinuing":
        this.messageId = event.messageId
        return this.beginning.snapshot === "answer" ? this.baseBefore(event.messageId) : []
      case "StepStarted":
        this.hasOpenStep = true
        return [{ type: "STEP_STARTED", stepName: `model call ${++this.steps}` }]
      case "StepEnded":
        return [...this.close(), ...this.endStep()]
      case "ReasoningDelta":
        return [...this.begin("reasoning"), this.delta("REASONING_MESSAGE_CONTENT", event.text)]
      case "ReasoningEnded":
        return this.close()
      case "TextDelta":
        return this.text(event.text)
      case "ToolCallStart":
        return [...this.close(), ...this.startCall(event.toolCallId, event.name)]
      case "ToolCallReady":
        return this.call(event.call)
      case "HostedResult":
        return [...this.close(), ...this.result(event.toolCallId, event.output)]
      case "AnswerWithdrawn":
        return this.withdraw()
      case "PartTold":
        return this.told(this.shown.event(event))
      case "ChildBegan": {
        const { name, runId: subagentRunId, toolCallId: parentToolCallId } = event.child
        this.children.add(subagentRunId)
        return [{ type: "SUBAGENT_STARTED", subagentRunId, name, parentToolCallId }]
      }
      case "ChildEnded":
        return this.endChild(event.runId, event.end.status === "COMPLETED" ? null : `It ended as ${event.end.status}.`)
      case "ToolSubmitRequired":
      case "RunEnded":
      case "RunFailed":
      case "RunCancelled":
        return this.end(event)
      default:
        return isTerminal(event) ? [this.finished({ type: "success" })] : []
    }
  }

  private begun(): ReadonlyArray<AgUiEvent> {
    const { own, results, runId, snapshot, state, threadId } = this.beginning
    return [
      { type: "RUN_STARTED", threadId, runId, protocolVersion },
      ...(snapshot === "first" ? this.conversation() : []),
      ...(state === null
        ? []
        : [{ type: "STATE_SNAPSHOT", snapshot: Object.assign({}, state, { [ownKey]: own }) } as const]),
      ...results.flatMap(({ content, toolCallId }) => this.result(toolCallId, content))
    ]
  }

  /** The client may have a piece of this answer already, so the answer is sent from its beginning. */
  private baseBefore(messageId: string): ReadonlyArray<AgUiEvent> {
    const from = this.base.findIndex((message) => isRecord(message) && message["id"] === messageId)
    this.base = this.base.slice(0, from === -1 ? undefined : from)
    return this.conversation()
  }

  private conversation(): ReadonlyArray<AgUiEvent> {
    const forget = { type: "MESSAGES_SNAPSHOT", messages: [] } as const
    return this.beginning.isReordered ? [forget, this.snapshot()] : [this.snapshot()]
  }

  private snapshot(): AgUiEvent {
    const said = this.said
      .filter((each) => "role" in each || each.text !== "" || each.calls.length > 0)
      .map((each) => ("role" in each ? each : assistantMessage(each.id, each.text, each.calls)))
    return { type: "MESSAGES_SNAPSHOT", messages: [...this.base, ...said] }
  }

  private delta(type: "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT", delta: string): AgUiEvent {
    return { type, messageId: this.open?.id ?? "", delta }
  }

  private begin(kind: "text" | "reasoning"): ReadonlyArray<AgUiEvent> {
    if (this.open?.kind === kind) return []
    const closed = this.close()
    if (kind === "text") {
      const { id } = this.answer()
      this.open = { kind, id }
      return [...closed, { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" }]
    }
    const id = `${this.messageId}-reasoning-${this.thoughts++}`
    this.open = { kind, id }
    return [
      ...closed,
      { type: "REASONING_START", messageId: id },
      { type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning" }
    ]
  }

  private close(): ReadonlyArray<AgUiEvent> {
    if (this.open === null) return []
    const { id: messageId, kind } = this.open
    this.open = null
    if (kind === "text") return [{ type: "TEXT_MESSAGE_END", messageId }]
    const ends = ["REASONING_MESSAGE_END", "REASONING_END"] as const
    return ends.map((type) => ({ type, messageId }))
  }

  /** The message that is being written. */
  private answer(): LiveAnswer {
    const last = this.said.at(-1)
    if (last !== undefined && !("role" in last)) return last
    const made: LiveAnswer = { id: partId(this.messageId, this.answers++), text: "", logged: "", calls: [] }
    this.said.push(made)
    return made
  }

  /** The kernel puts a separator between the texts before and after a call. Here the text after the call is a message of its own. */
  private text(text: string): ReadonlyArray<AgUiEvent> {
    const begun = this.begin("text")
    const answer = this.answer()
    const isFirst = answer.text === "" && this.answers > 1
    const words = isFirst && text.startsWith(separator) ? text.slice(separator.length) : text
    answer.text += words
    answer.logged += text
    return [...begun, this.delta("TEXT_MESSAGE_CONTENT", words)]
  }

  private startCall(toolCallId: string, toolCallName: string): ReadonlyArray<AgUiEvent> {
    if (this.openCalls.has(toolCallId)) return []
    this.openCalls.add(toolCallId)
    return [{ type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId: this.answer().id }]
  }

  private call(call: LiveAnswer["calls"][number]): ReadonlyArray<AgUiEvent> {
    const begun = [...this.close(), ...this.startCall(call.id, call.name)]
    this.openCalls.delete(call.id)
    this.answer().calls.push(call)
    return [
      ...begun,
      { type: "TOOL_CALL_ARGS", toolCallId: call.id, delta: call.arguments },
      { type: "TOOL_CALL_END", toolCallId: call.id }
    ]
  }

  private result(toolCallId: string, content: string): ReadonlyArray<AgUiEvent> {
    const messageId = resultId(toolCallId)
    // The client already has this result: it is in the conversation that was sent.
    if (this.base.some((message) => isRecord(message) && message["id"] === messageId)) return []
    this.said.push({ id: messageId, role: "tool", toolCallId, content })
    return [{ type: "TOOL_CALL_RESULT", messageId, toolCallId, content, role: "tool" }]
  }

  /** Text since the last result is no part of the answer. The client learns this from the conversation that is sent at the end. */
  private withdraw(): ReadonlyArray<AgUiEvent> {
    const closed = this.close()
    const last = this.said.at(-1)
    if (last !== undefined && !("role" in last) && last.calls.length === 0) this.said.pop()
    this.isCorrected = true
    return closed
  }

  private told(event: Schema.JsonObject | null): ReadonlyArray<AgUiEvent> {
    if (event === null) return []
    const { type = "", ...value } = event
    if (type === "output_streaming") return this.changed({ output: value["partial"] ?? null })
    return [{ type: "CUSTOM", name: typeof type === "string" ? type : "", value }]
  }

  private changed(fields: Schema.JsonObject): ReadonlyArray<AgUiEvent> {
    if (this.beginning.state === null) return []
    const delta = Object.entries(fields).map(([name, value]) => ({
      op: "add" as const,
      path: `/${ownKey}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      value
    }))
    return [{ type: "STATE_DELTA", delta }]
  }

  private endStep(): ReadonlyArray<AgUiEvent> {
    if (!this.hasOpenStep) return []
    this.hasOpenStep = false
    return [{ type: "STEP_FINISHED", stepName: `model call ${this.steps}` }]
  }

  private endChild(subagentRunId: string, fault: string | null): ReadonlyArray<AgUiEvent> {
    if (!this.children.delete(subagentRunId)) return []
    if (fault !== null) return [{ type: "SUBAGENT_ERROR", subagentRunId, message: fault }]
    return [{ type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "success" } }]
  }

  private end(event: End): ReadonlyArray<AgUiEvent> {
    const closed = [
      ...this.close(),
      ...[...this.openCalls].map((toolCallId) => ({ type: "TOOL_CALL_END", toolCallId }) as const),
      ...[...this.children].flatMap((id) => this.endChild(id, "The run ended before it did.")),
      ...this.endStep()
    ]
    // A client shows a call from its start on. A call whose arguments were never complete is no part of the conversation.
    this.isCorrected ||= this.openCalls.size > 0
    this.openCalls.clear()
    this.correct(event.content)
    const outcome: Outcome =
      event._tag === "ToolSubmitRequired"
        ? outcomeOfCalls(event.toolCalls)
        : { type: event._tag === "RunCancelled" ? "cancelled" : "success" }
    const corrected = this.isCorrected || outcome.type === "interrupt" ? [this.snapshot()] : []
    return [...closed, ...corrected, ...this.changed(this.fields(event)), this.last(event, outcome)]
  }

  private last(event: End, outcome: Outcome): AgUiEvent {
    const usage = [toUsage(event)]
    if (event._tag === "RunFailed") return { type: "RUN_ERROR", message: event.error, code: event.code, usage }
    const result = this.keptFields(event)["output"]
    return { ...this.finished(outcome), usage, ...(result === undefined ? {} : { result }) }
  }

  private finished(outcome: Outcome) {
    const { runId, threadId } = this.beginning
    return { type: "RUN_FINISHED", threadId, runId, outcome } as const
  }

  private keptFields({ supplements = {} }: End): Schema.JsonObject {
    const { added = {}, ...fields } = this.shown.fields(supplements, {}, null)
    return { ...added, ...JSON.parse(JSON.stringify(fields)) }
  }

  private fields(event: End): Schema.JsonObject {
    const spent = compact({ cost_usd: event.usage.costUsd ?? undefined, stop_reason: event.stopReason ?? undefined })
    const own = { status: statuses[event._tag], message_id: event.messageId, ...spent }
    return Object.assign(own, this.keptFields(event))
  }

  /** The text of the end event is the valid one: markers that name nothing are removed from it. */
  private correct(content: string): void {
    const texts = this.said.flatMap((each) => ("role" in each || each.text === "" ? [] : [each]))
    if (texts.map(({ logged }) => logged).join("") === content) return
    let rest = content
    for (const [index, answer] of texts.entries()) {
      const text = rest.startsWith(answer.text) && index < texts.length - 1 ? answer.text : rest
      answer.text = text
      rest = rest.slice(text.length)
      if (rest.startsWith(separator)) rest = rest.slice(separator.length)
    }
    if (texts.length === 0 && content !== "") this.answer().text = content
    this.isCorrected = true
  }
}

type OpenCalls = Extract<TurnEvent, { readonly _tag: "ToolSubmitRequired" }>["toolCalls"]

/** The calls for which a leg waits: decisions of people are interrupts, results of the client's tools are pending results. */
export const outcomeOfCalls = (calls: OpenCalls): Outcome => {
  const interrupts = calls.flatMap(({ approval, id, name }): ReadonlyArray<Interrupt> => {
    if (approval === undefined) return []
    const { expiresAt, question } = approval
    const asked =
      question === undefined
        ? { reason: "tool_call", message: `May the tool ${name} run with these arguments?`, responseSchema }
        : { reason: "input_required", message: question.message, responseSchema: answerSchema(question.schema) }
    return [{ id, toolCallId: id, ...asked, ...(expiresAt === null ? {} : { expiresAt }) }]
  })
  return interrupts.length > 0
    ? { type: "interrupt", interrupts }
    : { type: "success", pendingToolCallIds: calls.map(({ id }) => id) }
}

const responseSchema = {
  type: "object",
  properties: {
    approved: { type: "boolean" },
    editedArgs: { type: "object", description: "All arguments with which the tool runs instead." },
    reason: { type: "string", description: "Why the call is rejected. The model reads it." }
  },
  required: ["approved"]
}

/** For a tool that asks in the middle of its call: its form stands where an approval has changed arguments. */
const answerSchema = (form: Schema.JsonObject) => ({
  ...responseSchema,
  properties: { ...responseSchema.properties, editedArgs: form }
})

const toUsage = ({ model, provider, usage }: End) => {
  const { cacheWriteTokens, cachedInputTokens, inputTokens, outputTokens, reasoningTokens } = usage
  const counts = { inputTokens, outputTokens, totalTokens: totalTokens(usage), reasoningTokens, cachedInputTokens }
  return { provider, model, ...counts, cacheWriteInputTokens: cacheWriteTokens }
}
