/**
 * Resumes a run that waits for the client. Everything needed comes from the store (the run's plan, its open calls, the history), so it
 * works in any process and after a restart. The next leg enters the turn at step 5.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { admissionRequest } from "../metering/Budget.ts"
import { chatCredit, type InsufficientCredit, Metering } from "../metering/Metering.ts"
import { type OverLimit, overLimit, Quotas } from "../metering/Quota.ts"
import type { ProviderNotFound } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { MessageId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { ContextTooLong } from "../prompts/ContextTooLong.ts"
import { sizeOf, tokensPerMessage } from "../prompts/ContextWindow.ts"
import { checkRoom } from "../prompts/PromptAssembly.ts"
import { type Run, RunNotFound } from "../runs/Run.ts"
import { RunLog } from "../runs/RunLog.ts"
import { type Continue, RunStore } from "../runs/RunStore.ts"
import type { Message } from "../threads/Message.ts"
import { HostedTools } from "../tools/HostedTool.ts"
import type { ToolResult } from "../tools/ToolCall.ts"
import { matchToolOutputs, ToolOutputsRejected } from "../tools/ToolRoundTrip.ts"
import { Followers } from "./Followers.ts"
import { type PlannedLeg, planLeg } from "./Leg.ts"
import { plannedParts } from "./PartDecisions.ts"
import type { PartError } from "./RegisteredPart.ts"
import { Repeats } from "./Repeats.ts"
import { RunLeg } from "./RunLeg.ts"
import { missingGuard, refusedWithout, rewriteBy } from "./Rewriting.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import {
  IdempotencyConflict,
  NothingPending,
  type ShuttingDown,
  type ToolNameTaken,
  type TurnRefused
} from "./TurnErrors.ts"
import { turnBudget } from "./TurnBudget.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import type { Rewrite } from "./TurnPart.ts"
import { TurnModels } from "./TurnModels.ts"
import { TurnParts } from "./TurnParts.ts"
import { continuePlan, decodePlan } from "./TurnPlan.ts"
import type { ToolOutputsRequest } from "./TurnRequest.ts"
import { TurnSettings } from "./TurnSettings.ts"

export type SubmitError =
  | RunNotFound
  | NothingPending
  | ToolOutputsRejected
  | ToolNameTaken
  | ProviderNotFound
  | TurnRefused
  | ContextTooLong
  | InsufficientCredit
  | OverLimit
  | IdempotencyConflict
  | ShuttingDown
  | StoreUnavailable

export class ToolOutputs extends Context.Service<
  ToolOutputs,
  {
    readonly submit: (
      request: ToolOutputsRequest
    ) => Effect.Effect<StartedTurn, Exclude<SubmitError, ShuttingDown>, Principal>
  }
>()("@colloquy/core/turns/ToolOutputs") {
  static readonly layer: Layer.Layer<
    ToolOutputs,
    never,
    RunStore | TurnModels | TurnParts | HostedTools | Repeats | Followers | RunLeg
  > = Layer.effect(
    ToolOutputs,
    Effect.gen(function* () {
      const store = yield* RunStore
      const models = yield* TurnModels
      const parts = yield* TurnParts
      const hosted = yield* HostedTools
      const repeats = yield* Repeats
      const followers = yield* Followers
      const legs = yield* RunLeg
      const keys = yield* ProviderKeys
      const metering = yield* Metering
      const counter = yield* TokenCounter
      const quotaOf = yield* Quotas
      const { assumedContextLimit, lease, startTimeout } = yield* TurnSettings

      const findRun = Effect.fnUntraced(function* ({ threadId, runId }: ToolOutputsRequest) {
        if (runId === undefined) {
          const waiting = yield* store.waitingOn(threadId)
          return Option.isSome(waiting) ? waiting.value : yield* new NothingPending({ threadId })
        }
        const run = yield* store.get(runId)
        if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
        return run.value
      })

      const submit = Effect.fnUntraced(function* (
        request: ToolOutputsRequest
      ): Effect.fn.Return<StartedTurn, Exclude<SubmitError, ShuttingDown>, Principal> {
        const repeated = yield* Effect.catchTag(repeats.find(request.idempotency), "ThreadBusy", usedForMessage)
        if (Option.isSome(repeated)) return repeated.value

        const run = yield* findRun(request)
        const messages = yield* store.messages(run.id)
        const { open, answered } = callsOf(run, messages)
        const pending = open.length > 0
        if (!pending && answered.size === 0) return yield* new NothingPending({ threadId: run.threadId })
        const given = yield* Effect.fromResult(matchToolOutputs(open, answered, request.outputs))
        if (!pending) return yield* new NothingPending({ threadId: run.threadId })

        const before = decodePlan(run.plan)
        const model = yield* models.resolve(before.provider, before.model)
        const plan = yield* Effect.fromResult(continuePlan(before, request, model))
        const planned = yield* plannedParts(parts.all(), plan.parts ?? {})
        const guard = missingGuard(plan.guards, planned)
        if (guard !== undefined) return yield* refusedWithout(guard)
        const source = { kind: "tool_output", threadId: run.threadId, assistantId: run.assistantId } as const
        const results = yield* rewriteOutputs(rewriteBy(planned, source), given)
        const leg = planLeg({ plan, model, parts: planned }, hosted.all(), { counter, assumedContextLimit })
        const tokens = results.reduce((sum, result) => sum + counter.count(result.output), 0)
        yield* Effect.fromResult(checkOutputs(leg, messages, tokens))
        const apiKey = yield* keys.find(plan.provider)
        yield* metering.ensureCredit(chatCredit)

        const log = new RunLog<TurnEvent>(run.lastSequence + 1)
        const answerId = yield* newId(MessageId)
        const now = yield* Clock.currentTimeMillis
        const quota = quotaOf((yield* Principal).ownerId)
        const promptTokens = leg.preamble.systemTokens + leg.preamble.toolTokens + tokens
        const at = new Date(now).toISOString()
        const first = log.push((sequence) => ({
          _tag: "RunContinuing",
          sequence,
          messageId: answerId,
          provider: plan.provider,
          model: plan.model,
          at,
          ...(plan.ignored.length === 0 ? {} : { ignored: plan.ignored })
        }))
        const next: Continue = {
          runId: run.id,
          messageId: run.answerId,
          results,
          tokens,
          answerId,
          stream: request.stream === true,
          plan,
          events: [...log.events],
          lease: Duration.fromInputUnsafe(lease),
          historyTokens: leg.room.forPrompt,
          idempotency: request.idempotency ?? null,
          admission: admissionRequest(quota, { isNew: false, promptTokens, prices: model.info }, now)
        }
        const { assistantId, threadId } = run
        // If the caller could interrupt between these two steps, the run would be active without a process that works on it.
        const outcome = yield* Effect.uninterruptible(
          Effect.tap(repeatWhileUnavailable(store.continue(next), startTimeout), (continued) => {
            if (continued._tag !== "Started") return Effect.void
            const place = { lease: continued.lease, assistantId, answerId, number: run.leg + 1 }
            const { reserved } = continued
            const spent = { info: model.info, counter, store, lease: place.lease, reserved, before: run.usage }
            const budget = turnBudget(quotaOf, spent)
            const nextLeg = { ...leg, ...place, apiKey, stream: next.stream, log, first, budget }
            return legs.start(nextLeg, next.events.length, Effect.succeed(continued.history))
          })
        )
        switch (outcome._tag) {
          case "Repeated":
            return yield* Effect.catchTag(
              repeats.join(outcome, request.idempotency?.fingerprint ?? ""),
              "ThreadBusy",
              usedForMessage
            )
          case "OverLimit":
            return yield* overLimit(outcome.refusal, quota, now)
          case "NotOpen":
            return yield* tooLate(request)
          case "Started":
            return startedTurn(
              { threadId, assistantId, runId: run.id, ignored: plan.ignored },
              yield* followers.events(run.id, log.first - 1, log),
              log
            )
        }
      })

      return ToolOutputs.of({ submit })
    })
  )
}

const rewriteOutputs = (
  rewrite: Rewrite | null,
  results: ReadonlyArray<ToolResult>
): Effect.Effect<ReadonlyArray<ToolResult>, PartError, Principal> =>
  rewrite === null
    ? Effect.succeed(results)
    : Effect.forEach(results, (result) => Effect.map(rewrite(result.output), (output) => ({ ...result, output })))

/** The key belongs to a run that waits in the queue. Such a run was begun by a message, not by tool outputs. */
const usedForMessage = () => Effect.fail(new IdempotencyConflict())

/** The open calls of the run, and the ids of its calls that are no longer open. */
const callsOf = (run: Run, messages: ReadonlyArray<Message>) => {
  const waiting = run.status === "REQUIRES_ACTION" ? messages.find((message) => message.id === run.answerId) : undefined
  const open = waiting?.toolCalls ?? []
  const all = messages.flatMap((message) => [...message.toolCalls, ...message.steps.flatMap((step) => step.toolCalls)])
  const openIds = new Set(open.map((call) => call.id))
  return { open, answered: new Set(all.map((call) => call.id).filter((id) => !openIds.has(id))) }
}

/**
 * Checks the messages of the run, which the next prompt must contain. Outputs that make them too large for the model are refused, and the
 * run keeps waiting.
 */
const checkOutputs = (
  { model, preamble, room }: PlannedLeg,
  messages: ReadonlyArray<Message>,
  outputTokens: number
) => {
  const turnTokens = messages.reduce((sum, message) => sum + sizeOf(message), outputTokens)
  return Result.mapError(
    checkRoom(preamble, turnTokens - tokensPerMessage, room, model.model),
    ({ available, model: name, needed }) => new ContextTooLong({ available, model: name, needed, ofOutputs: true })
  )
}

/** The outputs of another call were stored first, or the run was cancelled at the same moment. */
const tooLate = (request: ToolOutputsRequest) =>
  Effect.fail(
    new ToolOutputsRejected({
      problems: request.outputs.map(({ toolCallId }, index) => ({ toolCallId, index, problem: "already_answered" }))
    })
  )
