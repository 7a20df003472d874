/**
 * Goes on with a run that waits for the client. Everything needed comes from the store: the run's plan, its open calls, the history; so
 * it works in any process, and after a restart. The next leg enters the turn at step 6.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { chatCredit, type InsufficientCredit } from "../metering/Metering.ts"
import type { ProviderNotFound, ResolvedModel } from "../models/Provider.ts"
import { MessageId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type Run, RunNotFound } from "../runs/Run.ts"
import { RunLog } from "../runs/RunLog.ts"
import type { Continue } from "../runs/RunStore.ts"
import type { Message } from "../threads/Message.ts"
import { matchToolOutputs, ToolOutputsRejected } from "../tools/ToolRoundTrip.ts"
import { makeLeg } from "./Leg.ts"
import { plannedParts } from "./PartDecisions.ts"
import { startLeg } from "./RunLeg.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import { sizeOf, tokensPerMessage } from "../prompts/ContextWindow.ts"
import { checkRoom, preambleOf, roomFor } from "../prompts/PromptAssembly.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { repeatWhileAway } from "./StoreRetry.ts"
import { IdempotencyConflict, NothingPending, type ShuttingDown, type ToolNameTaken } from "./TurnErrors.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { continuePlan, decodePlan, type TurnPlan } from "./TurnPlan.ts"
import type { ToolOutputsRequest } from "./TurnRequest.ts"
import type { Workshop } from "./Workshop.ts"

export type SubmitError =
  | RunNotFound
  | NothingPending
  | ToolOutputsRejected
  | ToolNameTaken
  | ProviderNotFound
  | ContextTooLong
  | InsufficientCredit
  | IdempotencyConflict
  | ShuttingDown
  | StoreUnavailable

export const submitToolOutputs = Effect.fnUntraced(function* (
  workshop: Workshop,
  request: ToolOutputsRequest
): Effect.fn.Return<StartedTurn, Exclude<SubmitError, ShuttingDown>, Principal> {
  const { store, settings } = workshop
  const repeated = yield* Effect.catchTag(workshop.findRepeated(request.idempotency), "ThreadBusy", usedForMessage)
  if (Option.isSome(repeated)) return repeated.value

  const run = yield* findRun(workshop, request)
  const messages = yield* store.messages(run.id)
  const { open, answered } = callsOf(run, messages)
  const pending = open.length > 0
  if (!pending && answered.size === 0) return yield* new NothingPending({ threadId: run.threadId })
  const results = yield* Effect.fromResult(matchToolOutputs(open, answered, request.outputs))
  if (!pending) return yield* new NothingPending({ threadId: run.threadId })

  const before = decodePlan(run.plan)
  const model = yield* workshop.providers.resolve(before.provider, before.model)
  const plan = yield* Effect.fromResult(continuePlan(before, request, model))
  const tokens = results.reduce((sum, result) => sum + workshop.counter.count(result.output), 0)
  yield* Effect.fromResult(checkOutputs(workshop, plan, model, messages, tokens))
  const apiKey = yield* workshop.providerKeys.find(plan.provider)
  yield* workshop.metering.ensureCredit(chatCredit)

  const log = new RunLog<TurnEvent>(run.lastSequence + 1)
  const answerId = yield* newId(MessageId)
  const at = new Date(yield* Clock.currentTimeMillis).toISOString()
  log.push((sequence) => ({
    _tag: "RunContinuing",
    sequence,
    messageId: answerId,
    provider: plan.provider,
    model: plan.model,
    at
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
    lease: Duration.fromInputUnsafe(settings.lease),
    historyTokens: roomFor(model.info, settings.assumedContextLimit).forPrompt,
    idempotency: request.idempotency ?? null
  }
  // A caller who goes away between the two would leave a run that nobody works on.
  const outcome = yield* Effect.uninterruptible(
    Effect.tap(repeatWhileAway(store.continue(next), settings.startTimeout), (continued) => {
      if (continued._tag !== "Started") return Effect.void
      const leg = {
        lease: continued.lease,
        assistantId: run.assistantId,
        answerId,
        plan,
        model,
        apiKey,
        number: run.leg + 1,
        log
      }
      return startLeg(
        workshop,
        makeLeg(workshop, { ...leg, stream: next.stream }, next.events.length),
        Effect.succeed(continued.history)
      )
    })
  )
  switch (outcome._tag) {
    case "Repeated":
      return yield* Effect.catchTag(
        workshop.repeat(outcome, request.idempotency?.fingerprint ?? ""),
        "ThreadBusy",
        usedForMessage
      )
    case "NotOpen":
      return yield* tooLate(request)
    case "Started": {
      const { threadId, assistantId, id: runId } = run
      return startedTurn({ threadId, assistantId, runId }, yield* workshop.eventsOf(runId, log.first - 1, log), log)
    }
  }
})

/** A run that waited in the queue was begun by a message, not by tool outputs. */
const usedForMessage = () => Effect.fail(new IdempotencyConflict())

const findRun = Effect.fnUntraced(function* ({ store }: Workshop, { threadId, runId }: ToolOutputsRequest) {
  if (runId === undefined) {
    const waiting = yield* store.waitingOn(threadId)
    return Option.isSome(waiting) ? waiting.value : yield* new NothingPending({ threadId })
  }
  const run = yield* store.get(runId)
  if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
  return run.value
})

/** Calls of the run that are open now, and the ids of all that are not any more. */
const callsOf = (run: Run, messages: ReadonlyArray<Message>) => {
  const waiting = run.status === "REQUIRES_ACTION" ? messages.find((message) => message.id === run.answerId) : undefined
  const open = waiting?.toolCalls ?? []
  const all = messages.flatMap((message) => [...message.toolCalls, ...message.steps.flatMap((step) => step.toolCalls)])
  const openIds = new Set(open.map((call) => call.id))
  return { open, answered: new Set(all.map((call) => call.id).filter((id) => !openIds.has(id))) }
}

/** What can never be left out of the next prompt. Outputs that make it too large are refused, and the run waits for others. */
const checkOutputs = (
  { counter, hosted, parts, settings }: Workshop,
  plan: TurnPlan,
  { info, model }: ResolvedModel,
  messages: ReadonlyArray<Message>,
  outputTokens: number
) => {
  const ofParts = plannedParts(parts(), plan.parts ?? {}).flatMap(({ tools }) => tools)
  const offered = [...ofParts, ...hosted()]
    .map((tool) => tool.definition)
    .filter((tool) => plan.hosted.includes(tool.name))
  const preamble = preambleOf(plan.system, [...offered, ...plan.tools], counter)
  const turnTokens = messages.reduce((sum, message) => sum + sizeOf(message), outputTokens)
  return checkRoom(preamble, turnTokens - tokensPerMessage, roomFor(info, settings.assumedContextLimit), model)
}

/** The outputs of another call won, or the run was cancelled in the same moment. */
const tooLate = (request: ToolOutputsRequest) =>
  Effect.fail(
    new ToolOutputsRejected({
      problems: request.outputs.map(({ toolCallId }, index) => ({ toolCallId, index, problem: "already_answered" }))
    })
  )
