/**
 * Decisions of people about calls that wait for an approval. What follows is in `OpenCalls`. Calls that nobody decides in time are rejected
 * here too, by a follow-up in whatever process.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AuditLog } from "../access/AuditLog.ts"
import { Principal } from "../access/Principal.ts"
import { typedWorker } from "../runs/FollowUpWorker.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run, RunNotFound } from "../runs/Run.ts"
import type { RunIds, ToolResult } from "../tools/ToolCall.ts"
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
import { ChildAnswers, goesOn } from "./ChildAnswers.ts"
import { parentField } from "./ChildRuns.ts"
import { expiryKind, ExpiryPayload } from "./Expiry.ts"
import type { PlannedLeg } from "./Leg.ts"
import { type AnsweredMeanwhile, type CallAnswerError, type AskedRun, OpenCalls, type PlanError } from "./OpenCalls.ts"
import { rewriteBy } from "./Rewriting.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import type { ShuttingDown } from "./TurnErrors.ts"
import { decodePlan } from "./TurnPlan.ts"
import type { Rewrite } from "./Rewrite.ts"
import type { DecisionsRequest } from "./TurnRequest.ts"

type Failed = Exclude<CallAnswerError, AnsweredMeanwhile> | PlanError | RunNotFound | DecisionsRejected | AlreadyDecided

export type DecideError = Failed | ShuttingDown

export class Decisions extends Context.Service<
  Decisions,
  { readonly decide: (request: DecisionsRequest) => Effect.Effect<StartedTurn, Failed, Principal> }
>()("@colloquy/core/turns/Decisions") {
  static readonly layer: Layer.Layer<Decisions, never, OpenCalls | ChildAnswers | FollowUps | Admissions> =
    Layer.effect(
      Decisions,
      Effect.gen(function* () {
        const calls = yield* OpenCalls
        const answers = yield* ChildAnswers
        const followUps = yield* FollowUps
        const admissions = yield* Admissions
        const audit = yield* AuditLog.make

        const decideNow: (request: DecisionsRequest) => Effect.Effect<StartedTurn, Failed, Principal> =
          Effect.fnUntraced(function* (request) {
            const asked = yield* calls.find(request.threadId, request.runId)
            const runs = [asked, ...(yield* runsInside(asked))]
            const groups = yield* Effect.fromResult(byRun(runs, request.decisions))
            const checked = yield* Effect.forEach(groups, (group) => check(group, request))
            const [own] = checked
            if (own !== undefined && checked.length === 1 && own.asked === asked) return yield* apply(own, request)
            // What belongs to a repeated key is found by the decisions themselves: the same once more change nothing.
            const { idempotency: _, ...inside } = request
            const turns = yield* Effect.forEach(checked, (each) => apply(each, each.asked === asked ? request : inside))
            if (runs.some((each) => isOpenAfter(each, groups))) return yield* calls.waiting(asked.run)
            return yield* goingUp(
              asked,
              checked.map(({ asked: { run } }, index) => ({ run, turn: turns[index] }))
            )
          })

        /** The runs of helpers for which the run waits, or has waited. */
        const runsInside: (asked: AskedRun) => Effect.Effect<ReadonlyArray<AskedRun>, StoreUnavailable, Principal> =
          Effect.fnUntraced(function* (asked) {
            const waiting = asked.messages.flatMap(({ toolCalls }) =>
              toolCalls.flatMap(({ waitsFor }) => waitsFor ?? [])
            )
            const found = yield* Effect.forEach(waiting, findInside)
            const runs = found.flat()
            const deeper = yield* Effect.forEach(runs, (run) => runsInside(run))
            return [...runs, ...deeper.flat()]
          })

        const findInside = ({ runId, threadId }: RunIds) =>
          calls.find(threadId, runId).pipe(
            Effect.map((asked): ReadonlyArray<AskedRun> => [asked]),
            Effect.catchTag("RunNotFound", () => Effect.succeed([]))
          )

        /** Texts of a person are rewritten like messages. */
        const rewritten = Effect.fnUntraced(function* (
          leg: PlannedLeg,
          { assistantId, run }: AskedRun,
          decisions: ReadonlyArray<CallDecision>
        ) {
          const rewrite = rewriteBy(leg.parts, { kind: "message", threadId: run.threadId, assistantId })
          if (rewrite === null) return decisions
          return yield* Effect.forEach(decisions, ({ arguments: args, reason, ...decision }) =>
            Effect.map(
              Effect.all([
                args === undefined ? Effect.succeed(undefined) : rewriteArguments(rewrite, args),
                reason === undefined ? Effect.succeed(undefined) : rewrite(reason)
              ]),
              ([own, why]): CallDecision => ({
                ...decision,
                ...(own === undefined ? {} : { arguments: own }),
                ...(why === undefined ? {} : { reason: why })
              })
            )
          )
        })

        const check = Effect.fnUntraced(function* (
          { asked, decisions: given, indexes }: Group,
          request: DecisionsRequest
        ) {
          const saysMore = given.some(({ arguments: args, reason }) => (args ?? reason) !== undefined)
          const options = asked.run.id === request.runId ? request : {}
          const planned = saysMore ? yield* calls.plan(asked, options) : null
          const decisions = planned === null ? given : yield* rewritten(planned, asked, given)
          const now = new Date(yield* Clock.currentTimeMillis)
          const rejected = ({ problems }: DecisionsRejected) =>
            new DecisionsRejected({
              problems: problems.map((each) => ({ ...each, index: indexes[each.index] ?? each.index }))
            })
          const matched = Result.mapError(matchDecisions(askedCalls(asked), decisions, now), (error) =>
            error._tag === "DecisionsRejected" ? rejected(error) : error
          )
          const results = yield* Effect.fromResult(matched)
          if (results.length === 0) return { asked, decisions: given, results, leg: null }
          const leg = planned ?? (yield* calls.plan(asked, options))
          const problems = yield* argumentProblems(leg, asked, decisions)
          if (problems.length > 0) return yield* rejected(new DecisionsRejected({ problems }))
          return { asked, decisions: given, results, leg }
        })

        /** Reads the run again when another caller was faster, so that this caller learns what the first decision was. */
        const apply = Effect.fnUntraced(function* (
          { asked, decisions, leg, results }: Checked,
          request: DecisionsRequest
        ): Effect.fn.Return<StartedTurn, Failed, Principal> {
          const { id: runId, threadId } = asked.run
          if (leg === null) return yield* standing(asked, decisions)
          for (const result of results) yield* note(asked, result)
          return yield* Effect.catchTag(calls.answer(asked, leg, results, request), "AnsweredMeanwhile", () =>
            decideNow({ ...request, decisions, threadId, runId })
          )
        })

        /** The run goes on when those inside have ended, which the caller may wait for. Otherwise a follow-up lets it go on. */
        const goingUp = Effect.fnUntraced(function* (
          { run }: AskedRun,
          decided: ReadonlyArray<{ readonly run: Run; readonly turn: StartedTurn | undefined }>
        ) {
          const resting = yield* calls.waiting(run)
          const principal = yield* Principal
          const climb = (turn: StartedTurn, below: Run): Effect.Effect<StartedTurn, StoreUnavailable, Principal> =>
            Effect.gen(function* () {
              const above = parentField(decodePlan(below.plan))
              if (below.id === run.id || above === null) return turn
              yield* turn.reply
              const next = yield* Effect.catch(answers.goOn(above), (error) =>
                error._tag === "StoreUnavailable" ? Effect.fail(error) : calls.waiting(run)
              )
              if (above.runId === run.id) return next
              return yield* Effect.flatMap(calls.find(above.threadId, above.runId), (asked) =>
                climb(next, asked.run)
              ).pipe(Effect.catchTag("RunNotFound", () => Effect.succeed(next)))
            })
          const turn = Effect.forEach(decided, ({ run: below, turn: begun = resting }) => climb(begun, below)).pipe(
            Effect.map((turns) => turns.at(-1) ?? resting),
            Effect.provideService(Principal, principal)
          )
          const { open: _, ...rest } = resting
          return {
            ...rest,
            events: Stream.unwrap(Effect.map(turn, ({ events }) => events)),
            reply: Effect.flatMap(turn, ({ reply }) => reply)
          }
        })

        /** Everything was decided so before. */
        const standing = (asked: AskedRun, decisions: ReadonlyArray<CallDecision>) =>
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
              goesOn(
                admissions.admit(() => rejectExpired(payload)),
                "to go on after a rejected call"
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

type Rewritten<A> = Effect.Effect<A, Effect.Error<ReturnType<Rewrite>>, Principal>

/** Each string in the arguments is a text of its own; names and other values stay. */
const rewriteArguments = (rewrite: Rewrite, args: Schema.JsonObject): Rewritten<Schema.JsonObject> =>
  Effect.map(
    Effect.forEach(Object.entries(args), ([name, value]) =>
      Effect.map(rewriteValue(rewrite, value), (own): [string, Schema.Json] => [name, own])
    ),
    (entries) => Object.fromEntries(entries)
  )

const rewriteValue = (rewrite: Rewrite, value: Schema.Json): Rewritten<Schema.Json> => {
  if (typeof value === "string") return rewrite(value)
  if (isList(value)) return Effect.forEach(value, (each) => rewriteValue(rewrite, each))
  return typeof value === "object" && value !== null ? rewriteArguments(rewrite, value) : Effect.succeed(value)
}

const isList = (value: Schema.Json): value is Schema.JsonArray => Array.isArray(value)

/** Whether a call of this run stays open after these decisions, which a client or a person has to answer. */
const isOpenAfter = ({ open, run }: AskedRun, groups: ReadonlyArray<Group>): boolean => {
  const decided = groups.find(({ asked }) => asked.run.id === run.id)?.decisions ?? []
  return open.some(({ id, waitsFor }) => waitsFor === undefined && decided.every(({ toolCallId }) => toolCallId !== id))
}

/** Decisions about calls of one run, each with its index in the list of all. */
interface Group {
  readonly asked: AskedRun
  readonly decisions: ReadonlyArray<CallDecision>
  readonly indexes: ReadonlyArray<number>
}

interface Checked extends Omit<Group, "indexes"> {
  readonly results: ReadonlyArray<ToolResult>
  /** Null: everything was decided so before. */
  readonly leg: PlannedLeg | null
}

/**
 * The first run is the one that was named. Its own calls come first, and it gets what no run knows. A call of several of the other runs is
 * decided at one of them.
 */
const byRun = (
  runs: ReadonlyArray<AskedRun>,
  decisions: ReadonlyArray<CallDecision>
): Result.Result<ReadonlyArray<Group>, DecisionsRejected> => {
  const problems: Array<DecisionProblem> = []
  const groups = new Map<AskedRun | undefined, { decisions: Array<CallDecision>; indexes: Array<number> }>()
  decisions.forEach((decision, index) => {
    const { toolCallId } = decision
    const isForRun = ({ messages }: AskedRun) =>
      messages.some(({ toolCalls }) =>
        toolCalls.some(({ approval, id }) => id === toolCallId && approval !== undefined)
      )
    const [named, ...inside] = runs
    const knowing = named !== undefined && isForRun(named) ? [named] : inside.filter(isForRun)
    if (knowing.length > 1) return void problems.push({ toolCallId, index, problem: "ambiguous" })
    const run = knowing[0] ?? named
    const group = groups.get(run) ?? { decisions: [], indexes: [] }
    group.decisions.push(decision)
    group.indexes.push(index)
    groups.set(run, group)
  })
  if (problems.length > 0) return Result.fail(new DecisionsRejected({ problems }))
  return Result.succeed([...groups].flatMap(([asked, group]) => (asked === undefined ? [] : [{ asked, ...group }])))
}

/** The messages of the run that have asked for something, the oldest first. */
const askedCalls = ({ messages, run }: AskedRun): ReadonlyArray<AskedCalls> =>
  messages
    .filter(({ toolCalls }) => toolCalls.length > 0)
    .map(({ id, toolCalls, toolResults }) => ({
      calls: toolCalls,
      results: toolResults,
      isOpen: run.status === "REQUIRES_ACTION" && run.answerId === id
    }))

/** The problems of changed arguments, or of the answer to a question. If the tool is gone, the model is told so when the call runs. */
const argumentProblems = (
  { hosted }: PlannedLeg,
  { calls }: AskedRun,
  decisions: ReadonlyArray<CallDecision>
): Effect.Effect<ReadonlyArray<DecisionProblem>> =>
  Effect.map(
    Effect.forEach(decisions, ({ arguments: given, decision, toolCallId }, index) => {
      const call = calls.find(({ id }) => id === toolCallId)
      const question = call?.approval?.question
      const tool = hosted.get(call?.name ?? "")?.tool
      const args = question !== undefined && decision === "approve" ? (given ?? {}) : given
      if (args === undefined) return Effect.succeed([])
      const checked = question === undefined ? tool?.check?.(args) : tool?.checkAnswer?.(question.schema, args)
      return Effect.map(checked ?? Effect.succeed([]), (problems) =>
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
