/**
 * A call of a helper whose run had to wait is answered when that run has ended, by a follow-up that is stored with its end, in whatever
 * process. With the last answer the upper run goes on. What follows is in `OpenCalls`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { FollowUpFailed, typedWorker, withoutCredit } from "../runs/FollowUpWorker.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { isAtRest, isEnded, type Run, type RunNotFound } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { type OpenCall, RunIds, type ToolResult } from "../tools/ToolCall.ts"
import { Admissions } from "./Admissions.ts"
import { childEndKind } from "./ChildEnd.ts"
import { childAnswer } from "./ChildRuns.ts"
import { type AnsweredMeanwhile, type CallAnswerError, type AskedRun, OpenCalls, type PlanError } from "./OpenCalls.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import type { ShuttingDown } from "./TurnErrors.ts"

type GoOnError = Exclude<CallAnswerError, AnsweredMeanwhile> | PlanError | RunNotFound

export class ChildAnswers extends Context.Service<
  ChildAnswers,
  {
    /** Answers the calls of helpers whose runs have ended. Returns the turn as it is then. */
    readonly goOn: (run: RunIds) => Effect.Effect<StartedTurn, GoOnError | ShuttingDown, Principal>
  }
>()("@colloquy/core/turns/ChildAnswers") {
  static readonly layer: Layer.Layer<ChildAnswers, never, RunStore | OpenCalls | FollowUps | Admissions> = Layer.effect(
    ChildAnswers,
    Effect.gen(function* () {
      const store = yield* RunStore
      const calls = yield* OpenCalls
      const followUps = yield* FollowUps
      const admissions = yield* Admissions

      const answerNow: (run: RunIds) => Effect.Effect<StartedTurn, GoOnError, Principal> = Effect.fnUntraced(
        function* ({ runId, threadId }) {
          const asked = yield* calls.find(threadId, runId)
          const results = (yield* Effect.forEach(asked.open, readResult)).flat()
          if (results.length === 0) return yield* calls.waiting(asked.run)
          return yield* Effect.catchTag(answer(asked, results), "AnsweredMeanwhile", () =>
            answerNow({ runId, threadId })
          )
        }
      )

      const answer = Effect.fnUntraced(function* (asked: AskedRun, results: ReadonlyArray<ToolResult>) {
        const leg = yield* calls.plan(asked, {})
        return yield* Effect.catchTag(calls.answer(asked, leg, results, {}), "ContextTooLong", () =>
          calls.answer(asked, leg, results.map(withoutText), {})
        )
      })

      const readResult = Effect.fnUntraced(function* ({ id, name, waitsFor }: OpenCall) {
        if (waitsFor === undefined) return []
        const run = yield* store.get(waitsFor.runId)
        if (Option.isSome(run) && !isEnded(run.value.status)) return []
        const said = Option.isSome(run)
          ? childAnswer(name, { ...run.value, content: yield* lastWords(run.value) })
          : { failure: `${name} did not answer. Its conversation was deleted.` }
        const output = typeof said === "string" ? said : `Error: ${said.failure}`
        return [{ toolCallId: id, toolName: name, output, hosted: true }]
      })

      const lastWords = ({ answerId, id }: Run) =>
        Effect.map(store.messages(id), (messages) => messages.find((each) => each.id === answerId)?.content ?? "")

      const afterEnd = Effect.fnUntraced(function* (run: RunIds) {
        const above = yield* store.get(run.runId)
        if (Option.isNone(above)) return
        // It waits for other tools of the same step.
        if (!isAtRest(above.value.status)) return yield* again("The run above is still at work.")
        if (above.value.status === "REQUIRES_ACTION") yield* admissions.admit(() => answerNow(run))
      })

      yield* followUps.register(
        typedWorker({
          kind: childEndKind,
          payload: RunIds,
          // No record waits: the follow-up is stored in the transaction in which the helper's run ends, or before it is cancelled.
          run: (run) => goesOn(afterEnd(run), "to go on after its helper")
        })
      )

      return ChildAnswers.of({ goOn: (run) => admissions.admit(() => answerNow(run)) })
    })
  )
}

const again = (message: string) => Effect.fail(new FollowUpFailed({ message, isRetryable: true, isOutage: true }))

type Failure = GoOnError | AnsweredMeanwhile | ShuttingDown | FollowUpFailed

/** A follow-up that lets a waiting run go on. The run waits as long as it cannot. */
export const goesOn = <A>(
  work: Effect.Effect<A, Failure, Principal>,
  what: string
): Effect.Effect<A | void, FollowUpFailed | StoreUnavailable, Principal> =>
  work.pipe(
    // Nothing waits any more: the thread is gone.
    Effect.catchTag("RunNotFound", () => Effect.void),
    Effect.catchTag("InsufficientCredit", (error: InsufficientCredit) => withoutCredit(what)(error)),
    Effect.catchTag("AnsweredMeanwhile", () => again("A call was answered at the same moment.")),
    Effect.catchTag("ShuttingDown", () => again("The process is shutting down.")),
    Effect.mapError((error) =>
      error._tag === "StoreUnavailable" || error._tag === "FollowUpFailed" ? error : stays(error, what)
    )
  )

const stays = ({ _tag }: { readonly _tag: string }, what: string) =>
  new FollowUpFailed({ message: `The run is not able ${what}: ${_tag}.`, isRetryable: true })

const withoutText = (result: ToolResult): ToolResult => ({
  ...result,
  output: "Error: the answer is too long for this conversation."
})
