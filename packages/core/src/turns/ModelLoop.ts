/**
 * Step 7 of a turn: the model answers, hosted tools run, the model answers again, until the answer is complete or a call waits for the client
 * or for an approval. All events are pushed to the leg's log; nothing here writes to a store. An interruption (a cancel) takes effect at every wait.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { ChatDriver } from "../models/ChatDriver.ts"
import { converseWithin } from "../models/ChatModel.ts"
import type { ChatRequest } from "../models/ChatRequest.ts"
import { ModelError } from "../models/ModelError.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import { noUsage } from "../primitives/Usage.ts"
import type { History, RunFault } from "../threads/Message.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { AnswerCalls } from "./AnswerCalls.ts"
import type { AnswerReview } from "./AnswerReview.ts"
import { mostModelCalls, roundsLeft } from "./ChildRuns.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import { assemble } from "../prompts/PromptAssembly.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import type { Leg } from "./Leg.ts"
import type { Recalled } from "./Recall.ts"
import { outputLoop, type OutputUnusable } from "./OutputLoop.ts"
import { ReviewedStep } from "./ReviewedStep.ts"
import type { ReviewFailed, ReviewStopped } from "./ReviewVerdict.ts"
import { StepRecorder, type StepResult } from "./StepRecorder.ts"
import type { BudgetExceeded } from "./TurnBudget.ts"
import type { StepStarted } from "./TurnEvent.ts"
import { TurnParts } from "./TurnParts.ts"
import { estimatedUsage, recordLeg } from "./TurnRecorder.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** How a leg ends when nothing fails. */
export type LegOutcome = Data.TaggedEnum<{
  Answered: {}
  ClientNeeded: { readonly calls: ReadonlyArray<ToolCall> }
  /** Another assistant goes on with the leg. */
  HandedOver: {}
}>
export const LegOutcome = Data.taggedEnum<LegOutcome>()

/** The model needs more rounds than the host allows, for hosted tools or to continue its answer. */
export class TooManyRounds extends Schema.TaggedError<TooManyRounds>()("TooManyRounds", { rounds: Schema.Int }) {
  override get message() {
    return `The model was not done after ${this.rounds} rounds. Ask for less at once, or raise hostedRounds.`
  }
}

/** The model produced no text, only output that this kernel cannot keep. */
export class OutputNotSupported extends Schema.TaggedError<OutputNotSupported>()("OutputNotSupported", {
  kind: Schema.Literals(["media", "broken media", "sources"])
}) {
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

export type LegError =
  | OutputUnusable
  | ModelError
  | BudgetExceeded
  | ContextTooLong
  | TooManyRounds
  | OutputNotSupported
  | ReviewStopped
  | ReviewFailed

/** What a leg reads: the history, the recalled parts, and the view that parts and tools have of the leg. */
export interface Reading {
  readonly history: History
  readonly recalled: Recalled
  /** Null: nobody reviews the answer. */
  readonly review: AnswerReview | null
  readonly findTurn: (part: string) => LiveTurn
}

export class ModelLoop extends Context.Service<
  ModelLoop,
  {
    readonly converse: (leg: Leg, chat: ChatDriver, reading: Reading) => Effect.Effect<LegOutcome, LegError, Principal>
  }
>()("@colloquy/core/turns/ModelLoop") {
  static readonly layer: Layer.Layer<ModelLoop, never, TurnParts | AnswerCalls | Deadlines> = Layer.effect(
    ModelLoop,
    Effect.gen(function* () {
      const registered = yield* TurnParts
      const deadlines = yield* Deadlines
      const { answerCalls } = yield* AnswerCalls
      const counter = yield* TokenCounter
      const settings = yield* TurnSettings
      const { hostedRounds } = settings

      const converse = Effect.fnUntraced(function* (
        leg: Leg,
        chat: ChatDriver,
        { history, recalled, review, findTurn }: Reading
      ): Effect.fn.Return<LegOutcome, LegError, Principal> {
        const { hosted, model, plan, preamble } = leg
        const clientTools = new Set(plan.tools.map((tool) => tool.name))
        const ownTools = leg.parts.flatMap((part) => part.ownTools)
        const output = outputLoop(leg)
        const asking = output?.asking ?? ((request: ChatRequest) => request)
        const { maxOutputTokens = null, maxSteps, toolChoice = "auto", ...sampling } = plan.options ?? {}
        const isCounted = maxSteps !== undefined
        const rounds = isCounted
          ? Math.min(hostedRounds, roundsLeft(maxSteps, leg.lease.runId, history.messages))
          : hostedRounds
        /** An answer that is no JSON value of the wanted form is asked for once more, where model calls are not counted. */
        const mostRounds = output === null || isCounted ? rounds : rounds + 1
        const goesOn = leg.log.events.some(({ _tag }) => _tag === "HandedOver")
        const hasTools = preamble.tools.length + ownTools.length > 0

        /** Names of missing tools that the model has called before. The model was told that they do not exist. */
        const unknown = new Set<string>()
        let mayCall = true

        for (let round = 0; round <= mostRounds; round++) {
          if (leg.calls?.take() === false) {
            return yield* new TooManyRounds({ rounds: mostModelCalls })
          }
          const isSpent = leg.calls?.holds === false
          const isLast = round >= rounds || isSpent
          // The wanted call is made once: wanted again, it would never end. A model that is to call nothing is told so each time.
          const wanted = (round === 0 && leg.number === 0) || toolChoice === "none" ? toolChoice : "auto"
          const log = review === null ? leg.log.events : review.withKept(leg.log.events)
          const recorded = round === 0 && !goesOn ? null : recordLeg(log, counter)
          const prompt = yield* Effect.fromResult(
            assemble({
              preamble,
              room: leg.room,
              provider: model.provider,
              model: model.model,
              runId: leg.lease.runId,
              history,
              recalled: recalled.prompt,
              rendered: recalled.rendered,
              steps: recorded?.steps ?? [],
              asides: output?.asides ?? [],
              counter
            })
          )
          leg.explanation = withNotes(prompt.explanation, recalled.notes)
          leg.leavingSoon = prompt.leavingSoon
          if (leg.budget !== null) yield* leg.budget.begin(prompt.promptTokens, recorded ?? nothingUsed, model.info)
          const request = asking({
            provider: model.provider,
            model: model.model,
            info: model.info,
            system: preamble.system,
            tools: preamble.tools,
            ...(ownTools.length === 0 ? {} : { ownTools }),
            toolChoice: mayCall && !isLast ? wanted : "none",
            messages: prompt.messages,
            thinking: plan.thinking,
            routing: plan.routing,
            jsonOutput: plan.jsonOutput,
            maxOutputTokens,
            ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
            apiKey: leg.apiKey,
            conversationId: leg.lease.threadId
          })
          const begun = { promptTokens: prompt.promptTokens, ...(isLast && hasTools ? { isLast } : {}) }
          const isFinal = isLast && (isCounted || isSpent)
          const step: StepResult = yield* runStep(leg, chat, { begun, isFinal, review }, request)
          if (review !== null && !(yield* review.goesOn)) {
            if (output !== null) yield* output.takeReplaced(recordLeg(leg.log.events, counter), findTurn)
            return LegOutcome.Answered()
          }
          const notKept = step.media.length + step.sources.length === 0 ? null : yield* receive(leg, findTurn, step)
          if (step.calls.length === 0 && !step.spoke && notKept !== null) {
            return yield* new OutputNotSupported({ kind: notKept })
          }
          if (step.calls.length === 0 && step.reason === "filtered" && !step.spoke) return yield* refusal(leg)
          if (isFinal) yield* answerCalls(leg, findTurn, step.calls, { clientTools: noTools, mayRun: false })
          if (isFinal || (step.calls.length === 0 && step.reason !== "continue")) {
            const isTaken =
              output === null || (yield* output.take(recordLeg(leg.log.events, counter), findTurn, isFinal))
            if (isTaken) return LegOutcome.Answered()
          }
          if (!mayCall && step.calls.length > 0) return yield* new TooManyRounds({ rounds: round + 1 })
          const open = yield* answerCalls(leg, findTurn, step.calls, { clientTools, mayRun: !isLast })
          if (open.length > 0) return LegOutcome.ClientNeeded({ calls: open })
          if (leg.next !== null) return LegOutcome.HandedOver()
          // When the model calls a missing tool for the second time, it is asked for an answer in words, without tools.
          const missing = step.calls
            .map(({ name }) => name)
            .filter((name) => !clientTools.has(name) && !hosted.has(name))
          mayCall = !missing.some((name) => unknown.has(name))
          for (const name of missing) unknown.add(name)
        }
        return yield* new TooManyRounds({ rounds: hostedRounds })
      })

      /** One model call. A delta costs one push; followers are woken once for each array of events from the provider. */
      const runStep = Effect.fnUntraced(function* (
        leg: Leg,
        chat: ChatDriver,
        {
          begun,
          isFinal,
          review
        }: {
          readonly begun: BegunStep
          readonly isFinal: boolean
          readonly review: AnswerReview | null
        },
        request: ChatRequest
      ): Effect.fn.Return<StepResult, ModelError | BudgetExceeded> {
        const { provider } = request
        const now = yield* millisNow
        const recorder =
          review === null
            ? new StepRecorder(leg, provider, now)
            : new ReviewedStep(leg, now, review, {
                provider,
                mayGoOn: !isFinal,
                estimate: (written) => estimatedUsage(begun.promptTokens, written, counter)
              })
        const begin = (at: number): void => {
          leg.log.push((sequence) => ({ _tag: "StepStarted", sequence, ...begun, at }))
        }
        begin(now())
        // What was refused is a step of its own, which cost nothing: so it is also when the run ends in the pause after it.
        const { hear, hold, pause } = recorder
        const listener = { hear, hold, pause, refused: (at: number) => recorder.refused(at), again: begin }
        const call = converseWithin(deadlines, { chat, request, policy: settings.chat, listener })
        yield* recorder instanceof ReviewedStep
          ? Effect.onError(Effect.andThen(call, recorder.rest), () => Effect.sync(() => recorder.fail(now())))
          : call
        const step = recorder.end(now())
        if (step.hasCut)
          yield* Effect.logWarning(`${provider} reported names or figures beyond all bounds; they were cut`)
        if (leg.budget !== null) yield* leg.budget.end
        return step
      })

      /**
       * Gives the media and sources of a model's answer to the parts that accept them, in the order of their names. The media go to one part
       * only: the first that keeps any. Returns null if media were kept, and otherwise what the answer consists of besides words.
       */
      const receive = Effect.fnUntraced(function* (
        leg: Leg,
        findTurn: Reading["findTurn"],
        { media, sources }: StepResult
      ): Effect.fn.Return<OutputNotSupported["kind"] | null, never, Principal> {
        let left = media
        let hasTaker = false
        for (const part of registered.all()) {
          if (!part.has("receive")) continue
          const kept = yield* part.receive({ media: left, sources }, findTurn(part.name))
          if (left.length === 0 || kept === undefined) continue
          hasTaker = true
          if (kept) left = []
        }
        if (media.length === 0) return "sources"
        leg.tail.writeSoon()
        if (left.length === 0) return null
        return hasTaker ? "broken media" : "media"
      })

      return ModelLoop.of({ converse })
    })
  )
}

type BegunStep = Pick<StepStarted, "promptTokens" | "isLast">

const nothingUsed = { charges: [], ownUsage: noUsage, usage: noUsage }

/** Tells the time by the clock of the fiber. */
const millisNow = Effect.withFiberSucceed((fiber) => {
  const clock = fiber.getRef(Clock.Clock)
  return () => clock.currentTimeMillisUnsafe()
})

const noTools: ReadonlySet<string> = new Set()

const withNotes = (explanation: Explanation, notes: Recalled["notes"]): Explanation =>
  notes.length === 0 ? explanation : { ...explanation, leftOut: [...explanation.leftOut, ...notes] }

const refusal = (leg: Leg): Effect.Effect<never, ModelError> =>
  Effect.fail(new ModelError({ reason: "refused", provider: leg.model.provider, model: leg.model.model }))

/** The error of a run, as the client gets it. */
export const faultFromError = (error: LegError): RunFault => {
  switch (error._tag) {
    case "ModelError":
      return { code: error.reason, message: error.message, retryable: error.isRetryable }
    case "BudgetExceeded":
      return { code: "budget_exceeded", message: error.message, retryable: false }
    case "ContextTooLong":
      return { code: "context_too_long", message: error.message, retryable: false }
    case "OutputUnusable":
      return error.fault
    case "OutputNotSupported":
      return { code: "output_not_supported", message: error.message, retryable: false }
    case "ReviewStopped":
      return { code: "review_stopped", message: error.message, retryable: false }
    case "ReviewFailed":
      return { code: "review_failed", message: error.message, retryable: error.isLate }
    case "TooManyRounds":
      return { code: "too_many_tool_rounds", message: error.message, retryable: false }
  }
}
