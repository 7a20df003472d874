/**
 * *** Steps 5 to 8 of a turn: how an answer is made. *** Steps 1 to 4 are in `Turns`.
 *
 *     wait       until the thread is free                                  `awaitTurn`
 *     approved   run the calls that were approved before this leg          `AnswerCalls`
 *   5 recall     parts search what belongs to this content                 `Recall`
 *   6 assemble   make one request that fits the window                     `PromptAssembly`, `ContextWindow`
 *   7 converse   call model and hosted tools, or the part that answers     `ModelLoop`, `AnswerByPart`
 *     review     parts change or stop what nobody has read yet             `AnswerReview`, `ReviewedStep`
 *     speak      parts read the answer aloud                               `Speaking`
 *   8 settle     store log, message, run, charges, follow-ups together     `EndLeg`, `Settlement`
 *
 * All steps run in fibers of the kernel, so they go on when the client disconnects. `FollowUps` runs the follow-ups, in any process.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { genAi } from "../primitives/GenAi.ts"
import { traced } from "../primitives/Traced.ts"
import type { ChatDriver } from "../models/ChatDriver.ts"
import type { LiveRun } from "../runs/LiveRuns.ts"
import type { History } from "../threads/Message.ts"
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import { makeReview } from "./AnswerReview.ts"
import { AnswerCalls } from "./AnswerCalls.ts"
import { AnswerByPart } from "./AnswerByPart.ts"
import { EndLeg, type LeaseLost, type Withdrawn } from "./EndLeg.ts"
import { beginLeg, type Leg, type NewLeg } from "./Leg.ts"
import { LiveTurns } from "./LiveTurns.ts"
import { type LegError, LegOutcome, ModelLoop, type Reading } from "./ModelLoop.ts"
import { Recall } from "./Recall.ts"
import { LegFibers, RunningTurns, TurnLogs } from "./RunningTurns.ts"
import { Speaking } from "./Speaking.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { TurnSettings } from "./TurnSettings.ts"

type AwaitTurn = Effect.Effect<History, LeaseLost | Withdrawn, Principal>

export class RunLeg extends Context.Service<
  RunLeg,
  {
    /**
     * Starts a leg in a fiber of the kernel. `stored` is the number of events of its log that the store already has. `awaitTurn` returns the
     * history, at once or when the thread is free.
     */
    readonly start: (leg: NewLeg, stored: number, awaitTurn: AwaitTurn) => Effect.Effect<void, never, Principal>
  }
>()("@colloquy/core/turns/RunLeg") {
  static readonly layer: Layer.Layer<
    RunLeg,
    never,
    | LegFibers
    | RunningTurns
    | TurnLogs
    | RecalledTexts
    | Recall
    | AnswerCalls
    | ModelLoop
    | AnswerByPart
    | Speaking
    | LiveTurns
    | EndLeg
  > = Layer.effect(
    RunLeg,
    Effect.gen(function* () {
      const fibers = yield* LegFibers
      const running = yield* RunningTurns
      const logs = yield* TurnLogs
      const settings = yield* TurnSettings
      const texts = yield* RecalledTexts
      const liveTurns = yield* LiveTurns
      const { recall } = yield* Recall
      const { runApproved } = yield* AnswerCalls
      const { converse } = yield* ModelLoop
      const { answerByPart } = yield* AnswerByPart
      const { speakWhile } = yield* Speaking
      const { settle } = yield* EndLeg

      const read = Effect.fnUntracedEager(function* (leg: Leg, awaitTurn: AwaitTurn) {
        const found = yield* texts.history(yield* awaitTurn, leg.lease.runId)
        const findTurn = (part: string) => liveTurns.of(leg, part, found)
        const { history, open } = yield* runApproved(leg, findTurn, found)
        if (open.length > 0) return LegOutcome.ClientNeeded({ calls: open })
        const review = yield* makeReview(leg, findTurn)
        return { history, recalled: yield* recall(leg, history), review, findTurn }
      })

      const answer = (leg: Leg, awaitTurn: AwaitTurn) =>
        Effect.flatMapEager(read(leg, awaitTurn), (reading): Effect.Effect<LegOutcome, LegError, Principal> => {
          if ("_tag" in reading) return Effect.succeed(reading)
          const { chat } = leg.model
          const answered = chat === null ? answerByPart(leg, reading) : converseOn(leg, chat, reading)
          return speakWhile(leg, reading.findTurn, answered)
        })

      /** Each assistant to which the conversation is handed over goes on where the one before it stopped. */
      const converseOn = (
        leg: Leg,
        chat: ChatDriver,
        reading: Reading
      ): Effect.Effect<LegOutcome, LegError, Principal> =>
        Effect.flatMap(converse(leg, chat, reading), (outcome) => {
          if (outcome._tag !== "HandedOver" || leg.next === null) return Effect.succeed(outcome)
          const driver = leg.next.model.chat
          Object.assign(leg, leg.next, { next: null })
          if (driver === null) return Effect.succeed(outcome)
          // A part may review the next assistant by another plan (`handOver`).
          return Effect.flatMap(makeReview(leg, reading.findTurn), (review) =>
            converseOn(leg, driver, { ...reading, review })
          )
        })

      const start = Effect.fnUntraced(function* (newLeg: NewLeg, stored: number, awaitTurn: AwaitTurn) {
        const leg = beginLeg(newLeg, stored, settings)
        const run: LiveRun<TurnEvent> = { lease: leg.lease, log: leg.log, tail: leg.tail, stopped: null, fiber: null }
        running.add(run)
        logs.add(run)
        run.fiber = yield* Effect.interruptible(Effect.suspend(() => answer(leg, awaitTurn))).pipe(
          Effect.onExit((exit) => settle(run, leg, exit)),
          (settled) =>
            Effect.onExitPrimitive(settled, () => {
              running.remove(run)
              return undefined
            }),
          traced("invoke_agent", { attributes: legAttributes(leg) }),
          // Only the work can be interrupted. A fiber that could be stopped before its first step would end without settling anything.
          (work) => fibers.fork(work, { uninterruptible: true })
        )
        if (fibers.isClosed()) leg.log.close("lost")
      })

      return RunLeg.of({ start })
    })
  )
}

const legAttributes = ({ assistantId, lease, plan: { model, provider } }: Leg) => ({
  [genAi.operation]: "invoke_agent",
  [genAi.provider]: provider,
  [genAi.requestModel]: model,
  [genAi.conversation]: lease.threadId,
  [genAi.run]: lease.runId,
  [genAi.assistant]: assistantId
})
