/**
 * Step 7 of a turn: the model speaks, hosted tools run, the model speaks again, until it is done or needs the client. Everything that
 * happens is pushed to the leg's log; nothing here writes to a store. Interruption (a cancel) takes effect at every wait.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { ChatDriver } from "../models/ChatDriver.ts"
import type { ChatEvent, FinishReason } from "../models/ChatEvent.ts"
import { converseWithin, type Listener } from "../models/ChatModel.ts"
import type { ChatRequest, ProviderData } from "../models/ChatRequest.ts"
import { ModelError } from "../models/ModelError.ts"
import { cutTo, longestId, longestName, usageWithinBounds } from "../models/ReportedFigures.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { RunFault } from "../runs/Run.ts"
import type { History } from "../threads/Message.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { answererOf, runHosted } from "./HostedCalls.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import { assemble, preambleOf, roomFor } from "../prompts/PromptAssembly.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import type { Leg } from "./Leg.ts"
import { liveTurn } from "./LegTurn.ts"
import type { ModelMedia, ModelSource } from "./TurnPart.ts"
import type { Recalled } from "./Recall.ts"
import { recordLeg, stepSeparator } from "./TurnRecorder.ts"

/** How a leg ends when nothing goes wrong. */
export type LegOutcome = Data.TaggedEnum<{
  Answered: {}
  ClientNeeded: { readonly calls: ReadonlyArray<ToolCall> }
}>
export const LegOutcome = Data.taggedEnum<LegOutcome>()

/** The model wants more rounds, of hosted tools or to go on with its answer, than the host allows. */
export class TooManyRounds extends Data.TaggedError("TooManyRounds")<{ readonly rounds: number }> {
  override get message() {
    return `The model was not done after ${this.rounds} rounds. Ask for less at once, or raise hostedRounds.`
  }
}

/** The model answered with nothing but what this kernel cannot keep. */
export class OutputNotSupported extends Data.TaggedError("OutputNotSupported")<{
  readonly kind: "media" | "broken media" | "sources"
}> {
  override get message() {
    return outputProblems[this.kind]
  }
}

const outputProblems: { readonly [kind in OutputNotSupported["kind"]]: string } = {
  media:
    "The model answered with media (an image, audio or video) and without words. This server keeps answers in words only; choose a model that writes.",
  "broken media":
    "The model answered with media (an image, audio or video) that could not be kept: too large, or of no known type. Ask again, or choose another model.",
  sources: "The model answered with sources alone and without words. Ask again, or choose another model."
}

export type LegError = ModelError | ContextTooLong | TooManyRounds | OutputNotSupported

export const runLoop = Effect.fnUntraced(function* (
  leg: Leg,
  chat: ChatDriver,
  history: History,
  recalled: Recalled
): Effect.fn.Return<LegOutcome, LegError, Principal> {
  const tools = [...leg.hosted.values()].map(({ tool }) => tool.definition).concat(leg.plan.tools)
  const preamble = preambleOf(leg.plan.system, tools, leg.counter)
  const room = roomFor(leg.model.info, leg.settings.assumedContextLimit)
  const clientTools = new Set(leg.plan.tools.map((tool) => tool.name))
  const ownTools = leg.parts.flatMap((part) => part.ownTools)

  /** Names of tools that there are not, and that the model was told of. */
  const unknown = new Set<string>()
  let mayCall = true

  for (let round = 0; round <= leg.settings.hostedRounds; round++) {
    const prompt = yield* Effect.fromResult(
      assemble({
        preamble,
        room,
        provider: leg.model.provider,
        model: leg.model.model,
        runId: leg.lease.runId,
        history,
        recalled: recalled.prompt,
        rendered: recalled.rendered,
        steps: round === 0 ? [] : recordLeg(leg.log.events, leg.counter).steps,
        counter: leg.counter
      })
    )
    leg.explanation = withNotes(prompt.explanation, recalled.notes)
    const step: StepResult = yield* runStep(leg, chat, prompt.promptTokens, {
      provider: leg.model.provider,
      model: leg.model.model,
      info: leg.model.info,
      system: preamble.system,
      tools: preamble.tools,
      ...(ownTools.length === 0 ? {} : { ownTools }),
      toolChoice: mayCall && round < leg.settings.hostedRounds ? "auto" : "none",
      messages: prompt.messages,
      thinking: leg.plan.thinking,
      routing: leg.plan.routing,
      jsonOutput: leg.plan.jsonOutput,
      maxOutputTokens: null,
      apiKey: leg.apiKey,
      conversationId: leg.lease.threadId
    })
    const notKept = yield* receive(leg, history, step)
    if (step.calls.length === 0 && !step.spoke && notKept !== null) {
      return yield* new OutputNotSupported({ kind: notKept })
    }
    if (step.calls.length === 0 && step.reason === "filtered" && !step.spoke) return yield* refusal(leg)
    if (step.calls.length === 0 && step.reason !== "continue") return LegOutcome.Answered()
    if (!mayCall && step.calls.length > 0) return yield* new TooManyRounds({ rounds: round + 1 })
    const mayRun = round < leg.settings.hostedRounds
    const open = yield* answerCalls(leg, history, step.calls, clientTools, mayRun)
    if (open.length > 0) return LegOutcome.ClientNeeded({ calls: open })
    // A model that calls once more what it was told does not exist has to answer in words.
    const missing = step.calls.map(({ name }) => name).filter((name) => !clientTools.has(name) && !leg.hosted.has(name))
    mayCall = !missing.some((name) => unknown.has(name))
    for (const name of missing) unknown.add(name)
  }
  return yield* new TooManyRounds({ rounds: leg.settings.hostedRounds })
})

const withNotes = (explanation: Explanation, notes: Recalled["notes"]): Explanation =>
  notes.length === 0 ? explanation : { ...explanation, leftOut: [...explanation.leftOut, ...notes] }

interface StepResult {
  readonly calls: ReadonlyArray<ToolCall>
  readonly reason: FinishReason
  readonly spoke: boolean
  readonly media: ReadonlyArray<ModelMedia>
  readonly sources: ReadonlyArray<ModelSource>
  /** The provider reported names or figures beyond all bounds. */
  readonly hasCut: boolean
}

/** What a model gives besides words goes to the parts that take it. Null: all is well; otherwise what of it nobody has kept. */
const receive = Effect.fnUntraced(function* (
  leg: Leg,
  history: History,
  { media, sources }: StepResult
): Effect.fn.Return<OutputNotSupported["kind"] | null, never, Principal> {
  for (const { name, receiveSources } of sources.length === 0 ? [] : leg.registered) {
    receiveSources?.(sources, liveTurn(leg, name, history))
  }
  if (media.length === 0) return sources.length === 0 ? null : "sources"
  const keeper = leg.registered.find(({ receiveMedia }) => receiveMedia !== undefined)
  if (keeper?.receiveMedia === undefined) return "media"
  const hasKept = yield* keeper.receiveMedia(media, liveTurn(leg, keeper.name, history))
  leg.tail.urge()
  return hasKept ? null : "broken media"
})

/** Of one step: what comes after them is more than anybody reads. */
const maximumSources = 200

/** One model call. A delta costs one push; followers are woken once for each array of events that the provider gave. */
const runStep = Effect.fnUntraced(function* (
  leg: Leg,
  chat: ChatDriver,
  promptTokens: number,
  request: ChatRequest
): Effect.fn.Return<StepResult, ModelError> {
  const recorder = new StepRecorder(leg, request.provider)
  const at = yield* Clock.currentTimeMillis
  leg.log.push((sequence) => ({ _tag: "StepStarted", sequence, promptTokens, at }))
  yield* converseWithin(leg.deadlines, { chat, request, policy: leg.settings.chat, listener: recorder })
  const step = recorder.end(yield* Clock.currentTimeMillis)
  if (step.hasCut)
    yield* Effect.logWarning(`${request.provider} reported names or figures beyond all bounds; they were cut`)
  return step
})

/** Turns what the model says into events of the log. */
class StepRecorder implements Listener {
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
  /** The ids of this leg's calls, and what each of the driver's ids stands for at the moment. */
  private readonly callIds: Set<string>
  private readonly renamed = new Map<string, string>()
  /** The last number that was put behind an id. */
  private readonly numbers = new Map<string, number>()
  private hasCut = false

  constructor(leg: Leg, provider: string) {
    this.leg = leg
    this.provider = provider
    // What was said before a call and after it is one text for the reader: a blank line keeps the two apart. An answer that the provider
    // only broke off goes on where it stopped.
    const before = leg.log.events.findLast((event) => event._tag === "ToolCallReady" || event._tag === "StepStarted")
    const hasSpoken = leg.log.events.some((event) => event._tag === "TextDelta")
    this.separator = hasSpoken && before?._tag === "ToolCallReady" ? stepSeparator : ""
    this.callIds = new Set(
      leg.log.events.flatMap((event) =>
        event._tag === "ToolCallStart" ? [event.toolCallId] : event._tag === "ToolCallReady" ? [event.call.id] : []
      )
    )
  }

  readonly hear = (event: ChatEvent): void => {
    const log = this.leg.log
    if (this.reasoning && event._tag !== "ReasoningDelta") this.endReasoning()
    switch (event._tag) {
      case "TextDelta": {
        if (event.text === "") return
        const text = this.separator + event.text
        this.separator = ""
        this.spoke = true
        log.push((sequence) => ({ _tag: "TextDelta", sequence, text }))
        return
      }
      case "ReasoningDelta":
        if (event.text === "" || this.leg.plan.thinking?.excludeReasoning === true) return
        this.reasoning = true
        log.push((sequence) => ({ _tag: "ReasoningDelta", sequence, text: event.text }))
        return
      case "ToolCallStart": {
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
      case "KeepAlive":
      case "ToolCallDelta":
        // A call is kept whole, when it is ready.
        return
      default:
        event satisfies never
    }
  }

  /** Called after each array of events. */
  readonly pause = (): void => this.leg.log.wake()

  /** A name that goes into records. */
  private cut(name: string): string {
    const short = cutTo(name, longestName)
    this.hasCut ||= short !== name
    return short
  }

  /** Some models number their calls anew in each step, or twice alike in one: inside a leg every call has an id of its own. */
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

  private endReasoning(): void {
    this.reasoning = false
    this.leg.log.push((sequence) => ({ _tag: "ReasoningEnded", sequence }))
  }

  end(at: number): StepResult {
    this.leg.log.push((sequence) => ({
      _tag: "StepEnded",
      sequence,
      usage: this.usage,
      model: this.model,
      providerData: this.providerData,
      at
    }))
    if (this.calls.length > 0) this.leg.tail.urge()
    this.leg.log.wake()
    const { calls, hasCut, media, reason, sources, spoke } = this
    return { calls, reason, spoke, media, sources, hasCut }
  }
}

/** Answers what the kernel can answer, side by side, and gives the calls that are left for the client. */
const answerCalls = Effect.fnUntraced(function* (
  leg: Leg,
  history: History,
  calls: ReadonlyArray<ToolCall>,
  clientTools: ReadonlySet<string>,
  mayRun: boolean
): Effect.fn.Return<ReadonlyArray<ToolCall>, never, Principal> {
  const answerers = calls.map((call) => ({ call, by: answererOf(call, clientTools, leg.hosted, mayRun) }))
  yield* Effect.forEach(
    answerers,
    ({ call, by }) => {
      if (by._tag === "Client") return Effect.void
      const output =
        by._tag === "Refused"
          ? Effect.succeed(by.output)
          : runHosted(by.tool, by.args, { toolCallId: call.id, ...liveTurn(leg, by.part, history) }, leg)
      return Effect.gen(function* () {
        const startedAt = yield* Clock.currentTimeMillis
        const text = yield* output
        const at = yield* Clock.currentTimeMillis
        leg.log.push((sequence) => ({
          _tag: "HostedResult",
          sequence,
          toolCallId: call.id,
          toolName: call.name,
          output: text,
          startedAt,
          at
        }))
        leg.tail.urge()
        leg.log.wake()
      })
    },
    { concurrency: leg.settings.hostedConcurrency, discard: true }
  )
  return answerers.filter(({ by }) => by._tag === "Client").map(({ call }) => call)
})

const refusal = (leg: Leg): Effect.Effect<never, ModelError> =>
  Effect.fail(new ModelError({ reason: "refused", provider: leg.model.provider, model: leg.model.model }))

/** What went wrong, as the client may read it. */
export const faultOf = (error: LegError): RunFault => {
  switch (error._tag) {
    case "ModelError":
      return { code: error.reason, message: error.message, retryable: error.isRetryable }
    case "ContextTooLong":
      return { code: "context_too_long", message: error.message, retryable: false }
    case "OutputNotSupported":
      return { code: "output_not_supported", message: error.message, retryable: false }
    case "TooManyRounds":
      return { code: "too_many_tool_rounds", message: error.message, retryable: false }
  }
}
