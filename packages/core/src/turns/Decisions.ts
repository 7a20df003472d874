/**
 * Decisions of people about calls that wait for an approval. What follows is in `OpenCalls`. Calls that nobody decides in time are rejected
 * here too, by a follow-up in whatever process.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { AuditLog } from "../access/AuditLog.ts"
import type { Principal } from "../access/Principal.ts"
import { FollowUpFailed, typedWorker, withoutCredit } from "../runs/FollowUpWorker.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { RunNotFound } from "../runs/Run.ts"
import type { ToolResult } from "../tools/ToolCall.ts"
import {
  type AlreadyDecided,
  type AskedCalls,
  type CallDecision,
  type DecisionProblem,
  DecisionsRejected,
  expiredCalls,
  matchDecisions
} from "../tools/ToolRoundTrip.ts"
import { Admissions } from "./Admissions.ts"
import { expiryKind, ExpiryPayload } from "./Expiry.ts"
import type { PlannedLeg } from "./Leg.ts"
import { type AnsweredMeanwhile, type AnswerError, type AskedRun, OpenCalls, type PlanError } from "./OpenCalls.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import type { ShuttingDown } from "./TurnErrors.ts"
import type { DecisionsRequest } from "./TurnRequest.ts"

type Failed = Exclude<AnswerError, AnsweredMeanwhile> | PlanError | RunNotFound | DecisionsRejected | AlreadyDecided

export type DecideError = Failed | ShuttingDown

export class Decisions extends Context.Service<
  Decisions,
  { readonly decide: (request: DecisionsRequest) => Effect.Effect<StartedTurn, Failed, Principal> }
>()("@colloquy/core/turns/Decisions") {
  static readonly layer: Layer.Layer<Decisions, never, OpenCalls | FollowUps | Admissions> = Layer.effect(
    Decisions,
    Effect.gen(function* () {
      const calls = yield* OpenCalls
      const followUps = yield* FollowUps
      const admissions = yield* Admissions
      const audit = yield* AuditLog.make

      /** Reads the run again when another caller was faster, so that this caller learns what the first decision was. */
      const decideNow = (request: DecisionsRequest): Effect.Effect<StartedTurn, Failed, Principal> =>
        Effect.gen(function* () {
          const asked = yield* calls.find(request.threadId, request.runId)
          const now = new Date(yield* Clock.currentTimeMillis)
          const results = yield* Effect.fromResult(matchDecisions(askedCalls(asked), request.decisions, now))
          if (results.length === 0) return yield* standing(asked, request)
          const leg = yield* calls.plan(asked, request)
          const problems = yield* argumentProblems(leg, asked, request.decisions)
          if (problems.length > 0) return yield* new DecisionsRejected({ problems })
          for (const result of results) yield* note(asked, result)
          return yield* Effect.catchTag(calls.answer(asked, leg, results, request), "AnsweredMeanwhile", () =>
            decideNow(request)
          )
        })

      /** Everything was decided so before. */
      const standing = (asked: AskedRun, { decisions }: DecisionsRequest) =>
        asked.calls.some(({ id }) => decisions.some(({ toolCallId }) => toolCallId === id))
          ? calls.waiting(asked.run)
          : calls.newest(asked.run)

      const note = ({ run }: AskedRun, { decided, toolCallId }: ToolResult) =>
        audit.record(
          decided?.decision === "approve" ? "call_approved" : "call_rejected",
          `${run.id}/${toolCallId}`,
          (["arguments", "reason"] as const).filter((field) => decided?.[field] !== undefined)
        )

      const rejectExpired = Effect.fnUntraced(function* ({ messageId, runId, threadId }: typeof ExpiryPayload.Type) {
        const asked = yield* calls.find(threadId, runId)
        if (asked.open.length === 0 || asked.run.answerId !== messageId) return
        const results = expiredCalls({ ...asked, isOpen: true }, new Date(yield* Clock.currentTimeMillis))
        if (results.length === 0) return
        yield* calls.answer(asked, yield* calls.plan(asked, {}), results, {})
      })

      yield* followUps.register(
        typedWorker({
          kind: expiryKind,
          payload: ExpiryPayload,
          // No record waits: the follow-up is stored in the transaction in which the run begins to wait.
          run: (payload) =>
            admissions.admit(rejectExpired(payload)).pipe(
              // Nothing waits any more: the thread is gone.
              Effect.catchTag("RunNotFound", () => Effect.void),
              Effect.catchTag("InsufficientCredit", withoutCredit("to go on after a rejected call")),
              Effect.catchTags({
                AnsweredMeanwhile: () => Effect.fail(again("A call was answered at the same moment.")),
                ShuttingDown: () => Effect.fail(again("The process is shutting down.")),
                StoreUnavailable: (error) => Effect.fail(error)
              }),
              Effect.mapError((error) =>
                error._tag === "StoreUnavailable" || error._tag === "FollowUpFailed" ? error : stays(error)
              )
            )
        })
      )

      return Decisions.of({
        decide: Effect.fnUntraced(function* (request) {
          const repeated = yield* calls.repeated(request.idempotency)
          return Option.isSome(repeated) ? repeated.value : yield* decideNow(request)
        })
      })
    })
  )
}

const again = (message: string) => new FollowUpFailed({ message, isRetryable: true, isOutage: true })

const stays = ({ _tag }: { readonly _tag: string }) =>
  new FollowUpFailed({ message: `The run cannot go on after its call has expired: ${_tag}.`, isRetryable: true })

/** The messages of the run that have asked for something, the oldest first. */
const askedCalls = ({ messages, run }: AskedRun): ReadonlyArray<AskedCalls> =>
  messages
    .filter(({ toolCalls }) => toolCalls.length > 0)
    .map(({ id, toolCalls, toolResults }) => ({
      calls: toolCalls,
      results: toolResults,
      isOpen: run.status === "REQUIRES_ACTION" && run.answerId === id
    }))

/** What is wrong with changed arguments. A tool that is gone says it to the model. */
const argumentProblems = (
  { hosted }: PlannedLeg,
  { calls }: AskedRun,
  decisions: ReadonlyArray<CallDecision>
): Effect.Effect<ReadonlyArray<DecisionProblem>> =>
  Effect.map(
    Effect.forEach(decisions, ({ arguments: args, toolCallId }, index) => {
      const check = hosted.get(calls.find(({ id }) => id === toolCallId)?.name ?? "")?.tool.check
      if (args === undefined || check === undefined) return Effect.succeed([])
      return Effect.map(check(args), (problems) =>
        problems.map(({ message, path }): DecisionProblem => ({
          toolCallId,
          index,
          problem: "invalid_arguments",
          path,
          detail: message
        }))
      )
    }),
    (found) => found.flat()
  )
