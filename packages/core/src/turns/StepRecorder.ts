/** Records the events of one model call in the leg's log. `ModelLoop` makes a recorder for each call. */
import type * as Effect from "effect/Effect"
import type { ChatEvent, FinishReason } from "../models/ChatEvent.ts"
import type { Listener } from "../models/ChatModel.ts"
import type { ProviderData } from "../models/ChatRequest.ts"
import { cutTo, longestId, longestName, usageWithinBounds } from "../models/ReportedFigures.ts"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { Leg } from "./Leg.ts"
import type { ModelMedia, ModelSource } from "./TurnPart.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { stepSeparator } from "./TurnRecorder.ts"

export interface StepResult {
  readonly calls: ReadonlyArray<ToolCall>
  readonly reason: FinishReason
  readonly spoke: boolean
  readonly media: ReadonlyArray<ModelMedia>
  readonly sources: ReadonlyArray<ModelSource>
  /** The provider reported names or figures beyond all bounds. */
  readonly hasCut: boolean
}

/** The maximum for one step. Further sources are dropped. */
const maximumSources = 200

export class StepRecorder implements Listener {
  private readonly leg: Leg
  private readonly provider: string
  private readonly calls: Array<ToolCall> = []
  private usage: Usage | null = null
  private reason: FinishReason = "stop"
  private model: string | null = null
  private providerData: ProviderData | null = null
  private spoke = false
  private readonly media: Array<ModelMedia> = []
  private readonly sources: Array<ModelSource> = []
  private reasoning = false
  private separator: string
  /** The text that has no event yet. In a leg that is not streamed, text that arrives together becomes one event. */
  private unloggedText = ""
  /** The ids of all calls of this leg, and the id that each id of the driver currently stands for. */
  private readonly callIds: Set<string>
  private readonly renamed = new Map<string, string>()
  /** The last number that was appended to an id. */
  private readonly numbers = new Map<string, number>()
  private hasCut = false
  private firstAt: number | null = null
  private readonly now: () => number

  constructor(leg: Leg, provider: string, now: () => number) {
    this.now = now
    this.leg = leg
    this.provider = provider
    // The texts before and after a call are one text for the reader, so a blank line separates them. An answer that the provider
    // interrupted continues without a separator.
    this.separator = followsCall(leg.log.events) ? stepSeparator : ""
    this.callIds = new Set(
      leg.log.events.flatMap((event) =>
        event._tag === "ToolCallStart" ? [event.toolCallId] : event._tag === "ToolCallReady" ? [event.call.id] : []
      )
    )
  }

  /** Whether the rest of the answer is in the budget. */
  readonly hold = (): Effect.Effect<boolean> | null => this.leg.budget?.hold() ?? null

  readonly hear = (event: ChatEvent): void => {
    const { budget, log } = this.leg
    if (this.reasoning && event._tag !== "ReasoningDelta") this.endReasoning()
    if (event._tag !== "TextDelta") this.logText()
    switch (event._tag) {
      case "TextDelta":
        if (event.text === "") return
        this.firstAt ??= this.now()
        budget?.hear(event.text)
        this.unloggedText += this.separator + event.text
        this.separator = ""
        this.spoke = true
        if (this.leg.stream) this.logText()
        return
      case "ReasoningDelta":
        budget?.hear(event.text)
        if (event.text === "" || this.leg.plan.thinking?.excludeReasoning === true) return
        this.reasoning = true
        log.push((sequence) => ({ _tag: "ReasoningDelta", sequence, text: event.text }))
        return
      case "ToolCallStart": {
        this.firstAt ??= this.now()
        const toolCallId = this.newCallId(event.id)
        const name = this.cut(event.name)
        log.push((sequence) => ({ _tag: "ToolCallStart", sequence, toolCallId, name }))
        return
      }
      case "ToolCallReady": {
        const name = this.cut(event.call.name)
        const call = { ...event.call, name, id: this.renamed.get(event.call.id) ?? this.newCallId(event.call.id) }
        this.renamed.delete(event.call.id)
        this.calls.push(call)
        log.push((sequence) => ({ _tag: "ToolCallReady", sequence, call }))
        this.separator = followsCall(log.events) ? stepSeparator : ""
        return
      }
      case "Usage":
        this.usage = usageWithinBounds(event.usage)
        this.hasCut ||= this.usage !== event.usage
        return
      case "Finished":
        this.reason = event.reason
        this.model = event.model === null ? null : this.cut(event.model)
        this.providerData = event.providerData === null ? null : { provider: this.provider, data: event.providerData }
        return
      case "Media":
        this.media.push(event)
        return
      case "Source":
        if (this.sources.length < maximumSources) this.sources.push(event)
        return
      case "ToolCallDelta":
        // A call is recorded as a whole, when it is ready.
        budget?.hear(event.arguments)
        return
      case "KeepAlive":
        return
      default:
        event satisfies never
    }
  }

  /** Called after each array of events. */
  readonly pause = (): void => {
    this.logText()
    this.leg.log.wake()
  }

  /** Cuts a name to the length that records allow. */
  private cut(name: string): string {
    const short = cutTo(name, longestName)
    this.hasCut ||= short !== name
    return short
  }

  /** Gives every call of a leg an id of its own. Some models start their ids again in each step, or use one id twice in a step. */
  private newCallId(id: string): string {
    const short = cutTo(id, longestId)
    let number = this.numbers.get(short) ?? 1
    let unique = short
    while (this.callIds.has(unique)) unique = `${cutTo(short, longestId - 8)}_${++number}`
    this.numbers.set(short, number)
    this.callIds.add(unique)
    this.renamed.set(id, unique)
    return unique
  }

  private logText(): void {
    const text = this.unloggedText
    if (text === "") return
    this.unloggedText = ""
    this.leg.log.push((sequence) => ({ _tag: "TextDelta", sequence, text }))
  }

  private endReasoning(): void {
    this.reasoning = false
    this.leg.log.push((sequence) => ({ _tag: "ReasoningEnded", sequence }))
  }

  /** The provider refused the request before anything of an answer came: it costs nothing. */
  refused(at: number): void {
    this.leg.log.push((sequence) => ({
      _tag: "StepEnded",
      sequence,
      usage: noUsage,
      model: null,
      providerData: null,
      at
    }))
  }

  end(at: number): StepResult {
    this.leg.log.push((sequence) => ({
      _tag: "StepEnded",
      sequence,
      usage: this.usage,
      model: this.model,
      providerData: this.providerData,
      reason: this.reason,
      ...(this.firstAt === null ? {} : { firstAt: this.firstAt }),
      at
    }))
    if (this.calls.length > 0) this.leg.tail.writeSoon()
    this.leg.log.wake()
    const { calls, hasCut, media, reason, sources, spoke } = this
    return { calls, reason, spoke, media, sources, hasCut }
  }
}

/** Whether the next text is the first one after a call, and there was text before that call. */
const followsCall = (events: ReadonlyArray<TurnEvent>): boolean => {
  const before = events.findLast(
    ({ _tag }) => _tag === "ToolCallReady" || _tag === "StepStarted" || _tag === "AnswerWithdrawn"
  )
  if (before?._tag !== "ToolCallReady" && before?._tag !== "AnswerWithdrawn") return false
  const call = events.findLastIndex(({ _tag }) => _tag === "ToolCallReady")
  return events.some(({ _tag }, index) => _tag === "TextDelta" && index < call)
}
