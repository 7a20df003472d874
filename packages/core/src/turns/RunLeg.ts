/**
 * *** Steps 5 to 8 of a turn: how an answer comes about. *** Steps 1 to 4 are in `Turns`.
 *
 *     wait       until the thread is free                                  `awaitTurn`
 *   5 recall     what the parts of the turn bring for this content         `Recall`
 *   6 assemble   one request that fits the window                          `PromptAssembly`, `ContextWindow`
 *   7 converse   model and hosted tools, or the part that answers          `ModelLoop`
 *     speak      parts that read the answer aloud                          `Speaking`
 *   8 settle     log, message, run, charges, follow-ups: one transaction   `EndLeg`, `Settlement`
 *
 * All of it runs in the kernel's scope: a client that goes away changes nothing. What follows up is done by `FollowUps`, in any process.
 */
import * as Effect from "effect/Effect"
import { traced } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import type { LiveRun } from "../runs/LiveRuns.ts"
import type { History } from "../threads/Message.ts"
import { answerByPart } from "./AnswerByPart.ts"
import { endLeg, type LeaseLost, type LegRunner, type Withdrawn } from "./EndLeg.ts"
import type { Leg } from "./Leg.ts"
import { type LegError, type LegOutcome, runLoop } from "./ModelLoop.ts"
import { recall, type Recalled } from "./Recall.ts"
import { startSpeaking } from "./Speaking.ts"
import type { TurnEvent } from "./TurnEvent.ts"

/** Gives a leg to the kernel. `awaitTurn` gives the history, at once or when the thread is free. */
export const startLeg = (
  runner: LegRunner,
  leg: Leg,
  awaitTurn: Effect.Effect<History, LeaseLost | Withdrawn, Principal>
): Effect.Effect<LiveRun<TurnEvent>, never, Principal> =>
  Effect.gen(function* () {
    const run: LiveRun<TurnEvent> = { lease: leg.lease, log: leg.log, tail: leg.tail, stopped: null, fiber: null }
    runner.live.add(run)
    runner.writer.add(run)
    run.fiber = yield* Effect.interruptible(runLeg(leg, awaitTurn)).pipe(
      Effect.onExit((exit) => endLeg(runner, run, leg, exit)),
      Effect.ensuring(Effect.sync(() => runner.live.remove(run))),
      traced("Turns.leg", { attributes: { "gen_ai.conversation.id": leg.lease.threadId } }),
      // Only the work can be interrupted: a fiber that is stopped before its first step would end without settling anything.
      Effect.forkIn(runner.scope, { uninterruptible: true })
    )
    if (runner.scope.state._tag === "Closed") leg.log.close("lost")
    return run
  })

const runLeg = (leg: Leg, awaitTurn: Effect.Effect<History, LeaseLost | Withdrawn, Principal>) =>
  Effect.gen(function* () {
    const history = yield* awaitTurn
    const recalled = yield* recall(leg, history)
    if (leg.parts.length === 0) return yield* converse(leg, history, recalled)
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const speaking = yield* startSpeaking(leg, history)
        const outcome = yield* converse(leg, history, recalled)
        yield* speaking.lastWord
        return outcome
      })
    )
  })

const converse = (leg: Leg, history: History, recalled: Recalled): Effect.Effect<LegOutcome, LegError, Principal> =>
  leg.model.chat === null ? answerByPart(leg, history) : runLoop(leg, leg.model.chat, history, recalled)
