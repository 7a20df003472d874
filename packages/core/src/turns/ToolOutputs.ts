/** Outputs of the client's tools, for a run that waits for them. What follows is in `OpenCalls`. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { ThreadId } from "../primitives/Ids.ts"
import type { RunNotFound } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { isOfClient, matchToolOutputs, ToolOutputsRejected } from "../tools/ToolRoundTrip.ts"
import { type AnsweredMeanwhile, type CallAnswerError, type AskedRun, OpenCalls, type PlanError } from "./OpenCalls.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import { NothingPending, type ShuttingDown } from "./TurnErrors.ts"
import type { ToolOutputsRequest } from "./TurnRequest.ts"

/** Everything with which submitted outputs can fail. */
export type SubmitError =
  | Exclude<CallAnswerError, AnsweredMeanwhile>
  | PlanError
  | RunNotFound
  | NothingPending
  | ToolOutputsRejected
  | ShuttingDown

export class ToolOutputs extends Context.Service<
  ToolOutputs,
  {
    readonly submit: (
      request: ToolOutputsRequest
    ) => Effect.Effect<StartedTurn, Exclude<SubmitError, ShuttingDown>, Principal>
  }
>()("@colloquy/core/turns/ToolOutputs") {
  static readonly layer: Layer.Layer<ToolOutputs, never, RunStore | OpenCalls> = Layer.effect(
    ToolOutputs,
    Effect.gen(function* () {
      const store = yield* RunStore
      const calls = yield* OpenCalls

      const waitingOn = Effect.fnUntraced(function* (threadId: ThreadId) {
        const waiting = yield* store.waitingOn(threadId)
        return Option.isSome(waiting) ? waiting.value.id : yield* new NothingPending({ threadId })
      })

      const submit = Effect.fnUntraced(function* (
        request: ToolOutputsRequest
      ): Effect.fn.Return<StartedTurn, Exclude<SubmitError, ShuttingDown>, Principal> {
        const repeated = yield* calls.repeated(request.idempotency)
        if (Option.isSome(repeated)) return repeated.value
        const { threadId } = request
        const asked = yield* calls.find(threadId, request.runId ?? (yield* waitingOn(threadId)))
        const answered = answeredCalls(asked)
        const isAsked = asked.open.some(isOfClient)
        const isAnswer = answered.size + asked.open.length > 0 && (isAsked || request.outputs.length > 0)
        if (!isAnswer) return yield* new NothingPending({ threadId })
        const results = yield* Effect.fromResult(matchToolOutputs(asked.open, answered, request.outputs))
        if (!isAsked) return yield* new NothingPending({ threadId })
        const leg = yield* calls.plan(asked, request)
        return yield* Effect.catchTag(calls.answer(asked, leg, results, request), "AnsweredMeanwhile", () =>
          tooLate(request)
        )
      })

      return ToolOutputs.of({ submit })
    })
  )
}

/** The ids of the run's calls that are no longer open. */
const answeredCalls = ({ messages, open }: AskedRun): ReadonlySet<string> => {
  const all = messages.flatMap((message) => [...message.toolCalls, ...message.steps.flatMap((step) => step.toolCalls)])
  const openIds = new Set(open.map((call) => call.id))
  return new Set(all.map((call) => call.id).filter((id) => !openIds.has(id)))
}

/** The outputs of another call were stored first, or the run was cancelled at the same moment. */
const tooLate = (request: ToolOutputsRequest) =>
  Effect.fail(
    new ToolOutputsRejected({
      problems: request.outputs.map(({ toolCallId }, index) => ({ toolCallId, index, problem: "already_answered" }))
    })
  )
