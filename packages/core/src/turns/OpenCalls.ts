/**
 * The open calls of a run that waits, and what happens when they are answered: by outputs of the client (`ToolOutputs`) or by decisions about
 * approvals (`Decisions`). Answers are stored with the run; with the last one the next leg begins. Everything needed comes from the store (the
 * run's plan, its open calls, the history), so it works in any process and after a restart. The next leg enters the turn at step 5.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { admissionRequest } from "../metering/Budget.ts"
import { chatCredit, type InsufficientCredit, Metering } from "../metering/Metering.ts"
import { type OverLimit, overLimit, Quotas } from "../metering/Quota.ts"
import type { ProviderNotFound } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { type AssistantId, MessageId, newId, type RunId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import { promptOutput } from "../prompts/PromptMessages.ts"
import { type Run, RunNotFound } from "../runs/Run.ts"
import { RunLog } from "../runs/RunLog.ts"
import type { Repeated } from "../runs/Idempotency.ts"
import { type Continue, RunStore } from "../runs/RunStore.ts"
import type { AnsweringAssistant, Message } from "../threads/Message.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { HostedTools } from "../tools/HostedTool.ts"
import type { OpenCall, ToolResult } from "../tools/ToolCall.ts"
import { Followers } from "./Followers.ts"
import { checkOutputs, rewriteOutputs } from "./GivenResults.ts"
import { HandOvers } from "./HandOvers.ts"
import { endsInside, shareBelow } from "./ChildLegs.ts"
import { type NewLeg, type PlannedLeg, planLeg } from "./Leg.ts"
import { plannedParts } from "./PlannedParts.ts"
import type { PartError } from "./RegisteredPart.ts"
import { type RepeatError, Repeats } from "./Repeats.ts"
import { restedTurn } from "./PrunedLog.ts"
import { unanswered } from "../threads/InnerCalls.ts"
import { RunLeg } from "./RunLeg.ts"
import { missingGuard, refusedWithout, rewriteBy } from "./Rewriting.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import type { ThreadBusy, ToolNameTaken, TurnRefused } from "./TurnErrors.ts"
import { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import { TurnBudgets } from "./TurnBudget.ts"
import { fromLog, type TurnEvent } from "./TurnEvent.ts"
import { TurnModels } from "./TurnModels.ts"
import { TurnParts } from "./TurnParts.ts"
import { answeringAssistant, continuePlan, decodePlan } from "./TurnPlan.ts"
import type { ToolOutputsRequest } from "./TurnRequest.ts"
import { readWholeLog } from "./WholeLog.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** A run with its messages. `open` and `results` are empty when it does not wait. */
export interface AskedRun {
  readonly run: Run
  /** The assistant that made the calls: the conversation may have been handed over to it in this run. */
  readonly assistantId: AssistantId
  readonly messages: ReadonlyArray<Message>
  /** All calls for which the run waits, and their results so far. */
  readonly calls: ReadonlyArray<OpenCall>
  readonly results: ReadonlyArray<ToolResult>
  readonly open: ReadonlyArray<OpenCall>
}

type CallAnswerOptions = Pick<ToolOutputsRequest, "idempotency" | "stream" | "thinking" | "tools">

/** Another caller has answered a call of this run, or the run was cancelled, since this caller read it. */
export class AnsweredMeanwhile extends Schema.TaggedError<AnsweredMeanwhile>()("AnsweredMeanwhile", {}) {}

export type PlanError = ProviderNotFound | ToolNameTaken | TurnRefused | StoreUnavailable

export type CallAnswerError =
  | AnsweredMeanwhile
  | PartError
  | ContextTooLong
  | InsufficientCredit
  | OverLimit
  | Exclude<RepeatError, ThreadBusy>

export class OpenCalls extends Context.Service<
  OpenCalls,
  {
    /** The answer to the first request with this key. */
    readonly repeated: (
      key: CallAnswerOptions["idempotency"]
    ) => Effect.Effect<Option.Option<StartedTurn>, Exclude<RepeatError, ThreadBusy>, Principal>
    readonly find: (
      threadId: ThreadId,
      runId: RunId
    ) => Effect.Effect<AskedRun, RunNotFound | StoreUnavailable, Principal>
    /** The next leg as it would be. */
    readonly plan: (
      asked: Pick<AskedRun, "run" | "assistantId">,
      options: CallAnswerOptions
    ) => Effect.Effect<PlannedLeg, PlanError, Principal>
    /** Stores answers to open calls. The next leg begins when no call is open any more. */
    readonly answer: (
      asked: AskedRun,
      leg: PlannedLeg,
      given: ReadonlyArray<ToolResult>,
      options: CallAnswerOptions
    ) => Effect.Effect<StartedTurn, CallAnswerError, Principal>
    /** The run as it waits; the newest leg, if it has gone on meanwhile. */
    readonly waiting: (run: Run) => Effect.Effect<StartedTurn, StoreUnavailable, Principal>
    /** The newest leg of the run. */
    readonly newest: (run: Run) => Effect.Effect<StartedTurn, StoreUnavailable, Principal>
  }
>()("@colloquy/core/turns/OpenCalls") {
  static readonly layer: Layer.Layer<
    OpenCalls,
    never,
    | RunStore
    | ThreadStore
    | TurnModels
    | TurnParts
    | HandOvers
    | HostedTools
    | Repeats
    | Followers
    | RunLeg
    | TurnBudgets
  > = Layer.effect(
    OpenCalls,
    Effect.gen(function* () {
      const store = yield* RunStore
      const threads = yield* ThreadStore
      const models = yield* TurnModels
      const parts = yield* TurnParts
      const hosted = yield* HostedTools
      const repeats = yield* Repeats
      const followers = yield* Followers
      const legs = yield* RunLeg
      const handOvers = yield* HandOvers
      const keys = yield* ProviderKeys
      const metering = yield* Metering
      const counter = yield* TokenCounter
      const budgets = yield* TurnBudgets
      const findQuota = yield* Quotas
      const { assumedContextLimit, lease, maxToolResult, startTimeout } = yield* TurnSettings

      const find = Effect.fnUntraced(function* (threadId: ThreadId, runId: RunId) {
        const run = yield* store.get(runId)
        if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
        return askedRun(run.value, yield* store.messages(runId))
      })

      const readPlan = Effect.fnUntraced(function* ({ assistantId, run }: Pick<AskedRun, "run" | "assistantId">) {
        const stored = decodePlan(run.plan)
        if (assistantId === (stored.handedTo ?? run.assistantId)) return stored
        const own = yield* threads.get(run.threadId)
        const log = fromLog(yield* readWholeLog(store, run, startTimeout))
        const guards = log.flatMap((event) => (event._tag === "HandedOver" ? (event.guards ?? []) : []))
        const before = { ...stored, guards: [...(stored.guards ?? []), ...guards] }
        return yield* handOvers.plan(before, assistantId, Option.getOrNull(own)?.assistantId === assistantId).pipe(
          Effect.map(({ leg }) => leg.plan),
          Effect.catchTag("HandOverRefused", () => Effect.succeed(stored))
        )
      })

      const plan = Effect.fnUntraced(function* (
        asked: Pick<AskedRun, "run" | "assistantId">,
        options: CallAnswerOptions
      ) {
        const before = yield* readPlan(asked)
        const model = yield* models.resolve(before.provider, before.model)
        const next = yield* Effect.fromResult(continuePlan(before, options, model))
        const planned = yield* plannedParts(parts.all(), next.parts ?? {})
        const guard = missingGuard(next.guards, planned)
        if (guard !== undefined) return yield* refusedWithout(guard)
        return planLeg({ plan: next, model, parts: planned }, hosted.all(), { counter, assumedContextLimit })
      })

      const waiting = Effect.fnUntraced(function* (before: Run) {
        const run = Option.getOrElse(yield* store.get(before.id), () => before)
        return yield* run.status === "REQUIRES_ACTION" ? restedTurn(store, counter, run) : repeats.newest(run)
      })

      const joinRepeated = (repeated: Repeated, { idempotency }: CallAnswerOptions) =>
        Effect.catchTag(repeats.join(repeated, idempotency?.fingerprint ?? ""), "ThreadBusy", usedForMessage)

      const answer = Effect.fnUntraced(function* (
        asked: AskedRun,
        leg: PlannedLeg,
        given: ReadonlyArray<ToolResult>,
        options: CallAnswerOptions
      ): Effect.fn.Return<StartedTurn, CallAnswerError, Principal> {
        const { assistantId, calls, messages, run } = asked
        const source = { kind: "tool_output", threadId: run.threadId, assistantId } as const
        const rewritten = yield* rewriteOutputs(rewriteBy(leg.parts, source), given, maxToolResult)
        const tokens = rewritten.reduce((sum, result) => sum + counter.count(promptOutput(result)), 0)
        yield* Effect.fromResult(checkOutputs(leg, messages, tokens))
        const known = new Map([...asked.results, ...rewritten].map((result) => [result.toolCallId, result]))
        const answers = {
          runId: run.id,
          messageId: run.answerId,
          answered: asked.results.length,
          results: calls.flatMap(({ id }) => known.get(id) ?? []),
          tokens,
          plan: leg.plan,
          idempotency: options.idempotency ?? null
        }
        if (answers.results.length === calls.length) return yield* goOn(asked, leg, answers, options)
        const outcome = yield* repeatWhileUnavailable(store.answer(answers), startTimeout)
        if (outcome._tag === "Repeated") return yield* joinRepeated(outcome, options)
        if (outcome._tag === "NotOpen") return yield* new AnsweredMeanwhile()
        return yield* waiting(run)
      })

      const goOn = Effect.fnUntraced(function* (
        { assistantId, calls, messages, run }: AskedRun,
        leg: PlannedLeg,
        answers: Omit<Continue, "answerId" | "stream" | "events" | "lease" | "historyTokens" | "admission">,
        options: CallAnswerOptions
      ): Effect.fn.Return<StartedTurn, CallAnswerError, Principal> {
        const { model, plan: next } = leg
        const apiKey = yield* keys.find(next.provider)
        yield* metering.ensureCredit(chatCredit)
        const child = yield* shareBelow(store, run)
        const inside = yield* endsInside(
          store,
          messages.find(({ id }) => id === run.answerId)
        )
        const log = new RunLog<TurnEvent>(run.lastSequence + 1)
        const answerId = yield* newId(MessageId)
        const now = yield* Clock.currentTimeMillis
        const quota = findQuota((yield* Principal).ownerId, assistantId)
        const promptTokens = leg.preamble.systemTokens + leg.preamble.toolTokens + answers.tokens
        const first = log.push((sequence) => ({
          _tag: "RunContinuing",
          sequence,
          messageId: answerId,
          provider: next.provider,
          model: next.model,
          ...withAssistant(answeringAssistant(assistantId, next)),
          at: new Date(now).toISOString(),
          ...(next.ignored.length === 0 ? {} : { ignored: next.ignored })
        }))
        for (const event of inside) log.push(event)
        const stored = log.events.length
        const begun: Continue = {
          ...answers,
          answerId,
          stream: options.stream === true,
          events: [...log.events],
          lease: Duration.fromInputUnsafe(lease),
          historyTokens: leg.room.forPrompt,
          admission: admissionRequest(quota, { isNew: false, promptTokens, prices: model.info, assistantId }, now)
        }
        const { threadId } = run
        // If the caller could interrupt between these two steps, the run would be active without a process that works on it.
        const outcome = yield* Effect.uninterruptible(
          Effect.tap(repeatWhileUnavailable(store.continue(begun), startTimeout), (continued) => {
            if (continued._tag !== "Started") return Effect.void
            const { history, lease: held, reserved } = continued
            const ofLeg = { lease: held, assistantId, answerId, number: run.leg + 1, stream: options.stream === true }
            const budget = budgets.begin({
              assistantId,
              lease: held,
              reserved,
              before: run.usage,
              above: child?.budget ?? null
            })
            const answered = { calls, results: answers.results }
            const newLeg: NewLeg = { ...leg, ...ofLeg, apiKey, log, first, answered, budget, child }
            return legs.start(newLeg, stored, Effect.succeed(history))
          })
        )
        switch (outcome._tag) {
          case "Repeated":
            return yield* joinRepeated(outcome, options)
          case "OverLimit":
            return yield* overLimit(outcome.refusal, quota, now)
          case "NotOpen":
            return yield* new AnsweredMeanwhile()
          case "Started": {
            const principal = yield* Principal
            return startedTurn(
              { threadId, assistantId, runId: run.id, ignored: next.ignored },
              () => followers.follow(principal, run.id, log.first - 1, log),
              log
            )
          }
        }
      })

      return OpenCalls.of({
        repeated: (key) => Effect.catchTag(repeats.find(key), "ThreadBusy", usedForMessage),
        find,
        plan,
        answer,
        waiting,
        newest: repeats.newest
      })
    })
  )
}

const askedRun = (run: Run, messages: ReadonlyArray<Message>): AskedRun => {
  const waiting = run.status === "REQUIRES_ACTION" ? messages.find((message) => message.id === run.answerId) : undefined
  const { toolCalls: calls, toolResults: results } = waiting ?? { toolCalls: [], toolResults: [] }
  const assistantId = waiting?.assistant?.id ?? run.assistantId
  return { run, assistantId, messages, calls, results, open: waiting === undefined ? [] : unanswered(waiting) }
}

const withAssistant = (assistant: AnsweringAssistant | null) => (assistant === null ? {} : { assistant })

/** The key belongs to a run that waits in the queue. Such a run was begun by a message, not by answers. */
const usedForMessage = () => Effect.fail(new IdempotencyConflict())
