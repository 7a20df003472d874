/**
 * Step 4 of a turn: stores the user's message and the run in one transaction, under the thread's busy policy, and starts the leg. A message
 * that has to wait is stored too; the caller learns that its turn has come, or that it waited too long.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { callerNow, type Principal } from "../access/Principal.ts"
import { admissionRequest, type Amount } from "../metering/Budget.ts"
import { type OverLimit, overLimit, Quotas } from "../metering/Quota.ts"
import type { OwnerId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { noUsage } from "../primitives/Usage.ts"
import type { TakeBack } from "../runs/Branches.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { Lease } from "../runs/LogRecords.ts"
import { type Begin, type BeginOutcome, RunStore } from "../runs/RunStore.ts"
import type { NewMessage } from "../threads/Message.ts"
import { withValues } from "../threads/Supplement.ts"
import { ThreadInSession, ThreadNotFound } from "../threads/Thread.ts"
import { Cancellation } from "./Cancellation.ts"
import type { Decided } from "./Decide.ts"
import type { Draft } from "./Draft.ts"
import { Followers } from "./Followers.ts"
import { type NewLeg, pushFirst } from "./Leg.ts"
import { followUpsOfSaved } from "./PartFollowUps.ts"
import { type Place, PlaceOutdated } from "./Place.ts"
import type { Restore } from "./Places.ts"
import { QueueTurn } from "./QueueTurn.ts"
import { Recovery } from "./Recovery.ts"
import { Repeats } from "./Repeats.ts"
import { RunLeg } from "./RunLeg.ts"
import { LegFibers } from "./RunningTurns.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { type FirstAnswerGone, ThreadBusy, ThreadChanged } from "./TurnErrors.ts"
import type { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import { isKept, type TurnEvent } from "./TurnEvent.ts"
import { type TurnBudget, TurnBudgets } from "./TurnBudget.ts"
import type { SavedMessage } from "./TurnPart.ts"
import { awaitsBeginning, type TurnRequest } from "./TurnRequest.ts"
import { TurnSettings } from "./TurnSettings.ts"
import { openLog } from "./WholeLog.ts"

export interface TurnToWrite extends Decided {
  readonly request: TurnRequest
  readonly place: Place
  readonly draft: Draft
  /** What the turn stands instead of; null: it is added to the thread. */
  readonly takesBack: TakeBack | null
}

type WriteError =
  | OverLimit
  | ThreadBusy
  | ThreadInSession
  | ThreadNotFound
  | PlaceOutdated
  | ThreadChanged
  | FirstAnswerGone
  | IdempotencyConflict
  | StoreUnavailable

export class WriteTurn extends Context.Service<
  WriteTurn,
  {
    /** Only its waits can be interrupted. Otherwise a caller that goes away could leave a stored run that no process works on. */
    readonly write: (turn: TurnToWrite, restore: Restore) => Effect.Effect<StartedTurn, WriteError, Principal>
  }
>()("@colloquy/core/turns/WriteTurn") {
  static readonly layer: Layer.Layer<
    WriteTurn,
    never,
    RunStore | FollowUps | Repeats | Recovery | Cancellation | Followers | LegFibers | RunLeg | QueueTurn | TurnBudgets
  > = Layer.effect(
    WriteTurn,
    Effect.gen(function* () {
      const store = yield* RunStore
      const followUps = yield* FollowUps
      const repeats = yield* Repeats
      const recovery = yield* Recovery
      const cancellation = yield* Cancellation
      const followers = yield* Followers
      const legs = yield* RunLeg
      const { queue, queueSave } = yield* QueueTurn
      const settings = yield* TurnSettings
      const { fork } = yield* LegFibers
      const budgets = yield* TurnBudgets
      const findQuota = yield* Quotas

      const makeBudget = ({ place, request }: TurnToWrite, lease: Lease, reserved: Amount | null) =>
        budgets.begin({
          assistantId: place.assistant.id,
          lease,
          reserved,
          before: noUsage,
          above: request.child?.budget ?? null
        })

      const write = Effect.fnUntraced(function* (
        turn: TurnToWrite,
        restore: Restore
      ): Effect.fn.Return<StartedTurn, WriteError, Principal> {
        const { request, place } = turn
        const { log } = turn.draft
        const { now, principal } = yield* callerNow
        const ordersOfSaved =
          request.sendToModel === false ? yield* followUpsOfSaved(turn.parts.planned, savedMessage(turn)) : []
        const { begin, first } = beginRun(turn, principal.ownerId, new Date(now), ordersOfSaved)
        const policy = turn.takesBack === null ? (request.busy ?? settings.busy) : "reject"
        const outcome = yield* Effect.tapErrorTag(beginUnderPolicy(begin, policy, restore), "StoreUnavailable", () => {
          turn.draft.isChargedLater = true
          // The log of the draft ends with what the caller is told.
          const own = openLog(log.events, 1)
          return fork(goOnLater({ ...turn, draft: { ...turn.draft, log: own } }, begin, first))
        })
        const started = startedTurn(
          {
            threadId: place.thread.id,
            assistantId: place.assistant.id,
            runId: begin.run.id,
            ignored: turn.leg.plan.ignored
          },
          () => followers.follow(principal, begin.run.id, 0, log),
          log
        )
        switch (outcome._tag) {
          case "Repeated":
            return yield* restore(repeats.join(outcome, begin.idempotency?.fingerprint ?? "", request))
          case "ThreadMissing":
            return yield* new ThreadNotFound({ threadId: place.thread.id })
          case "Outdated":
            return yield* new PlaceOutdated()
          case "Changed":
            return yield* new ThreadChanged({ threadId: place.thread.id })
          case "OverLimit": {
            const quota = findQuota(principal.ownerId, place.assistant.id)
            return yield* overLimit(outcome.refusal, quota, yield* Clock.currentTimeMillis)
          }
          case "InSession":
            return yield* new ThreadInSession({ threadId: place.thread.id })
          case "Busy":
            return yield* new ThreadBusy({
              threadId: place.thread.id,
              runId: outcome.runId,
              ...(policy === "reject" ? {} : { full: begin.maxQueued })
            })
          case "Saved":
            if (begin.followUps.length > 0) followUps.wake()
            log.push(() => first)
            log.close("ended")
            return started
          case "Started":
            yield* startFirst(turn, outcome, first)
            return started
          case "Queued": {
            const { lease, reserved } = outcome
            turn.draft.isChargedLater = true
            const begun = begin.saves
              ? yield* queueSave({ lease, draft: turn.draft, saved: first }, begin.followUps)
              : yield* queue(firstLeg(turn, first, lease, makeBudget(turn, lease, reserved)), turn.draft.chargeUnkept)
            if (awaitsBeginning(request)) yield* restore(begun)
            return started
          }
        }
      })

      const startFirst = (
        turn: TurnToWrite,
        { history, lease, reserved }: Extract<BeginOutcome, { _tag: "Started" }>,
        first: TurnEvent
      ) => {
        const { log } = turn.draft
        const leg = firstLeg(turn, first, lease, makeBudget(turn, lease, reserved))
        pushFirst(leg)
        return legs.start(leg, log.events.length, Effect.succeed(history))
      }

      /**
       * The caller was told that the store is away, but the run may have been begun. Then this process goes on with it, because the thread
       * would be blocked until its lease expires. A run that the store does not have is not begun any more.
       */
      const goOnLater = Effect.fnUntraced(
        function* (turn: TurnToWrite, begin: Begin, first: TurnEvent) {
          const found = yield* repeatWhileUnavailable(store.get(begin.run.id), settings.lease)
          if (Option.isNone(found)) return yield* turn.draft.chargeUnkept
          if (found.value.status !== "IN_PROGRESS") return
          yield* Effect.uninterruptible(
            Effect.flatMap(store.begin({ ...begin, mode: "reject" }), (outcome) =>
              outcome._tag === "Started" ? startFirst(turn, outcome, first) : Effect.void
            )
          )
        },
        Effect.catchCause((cause) => Effect.logWarning("Whether a run was begun could not be found out", cause))
      )

      /**
       * Asks the store to begin, and removes what blocks the thread: a run whose process died is ended, a run that the policy interrupts is
       * cancelled.
       */
      const beginUnderPolicy = Effect.fnUntraced(function* (
        begin: Begin,
        policy: NonNullable<TurnRequest["busy"]>,
        restore: Restore
      ): Effect.fn.Return<BeginOutcome, StoreUnavailable, Principal> {
        const mode = policy === "interrupt" ? "reject" : policy
        const outcome = yield* repeatWhileUnavailable(store.begin({ ...begin, mode }), settings.startTimeout)
        if (outcome._tag !== "Busy") return outcome
        if (outcome.expired && (yield* recovery.endExpired(outcome.runId))) {
          return yield* beginUnderPolicy(begin, policy, restore)
        }
        if (policy !== "interrupt") return outcome
        yield* restore(cancellation.cancel(outcome.runId))
        // From here on the order of arrival decides: a second interrupting message waits until the run of the first one was cancelled.
        return yield* beginUnderPolicy(begin, "enqueue", restore)
      })

      const beginRun = (turn: TurnToWrite, ownerId: OwnerId, createdAt: Date, orders: Begin["followUps"]) => {
        const { content, leg, parts, request, place } = turn
        const { plan, preamble, room } = leg
        const { answerId, log, messageId, runId } = turn.draft
        const at = createdAt.toISOString()
        const isSaved = request.sendToModel === false
        const kept = withValues(parts.supplements)
        log.push((sequence) => ({ _tag: "UserMessage", sequence, messageId, content, ...kept }))
        const ignored = plan.ignored.length === 0 ? {} : { ignored: plan.ignored }
        const keptAs = turn.takesBack?.keptAs ?? null
        const instead = keptAs === null ? {} : { keptAs }
        const sequence = log.nextSequence
        const first: TurnEvent = isSaved
          ? { _tag: "MessageSaved", sequence, messageId, at, ...ignored, ...kept, ...instead }
          : {
              _tag: "RunStarted",
              sequence,
              messageId: answerId,
              provider: plan.provider,
              model: plan.model,
              assistant: { id: place.assistant.id, version: place.assistant.version },
              at,
              ...ignored,
              ...instead
            }
        const message: NewMessage = {
          id: messageId,
          threadId: place.thread.id,
          runId,
          role: "user",
          content,
          status: "COMPLETED",
          fault: null,
          stopReason: null,
          toolCalls: [],
          toolResults: [],
          steps: [],
          supplements: parts.supplements,
          provider: null,
          model: null,
          assistant: null,
          usage: null,
          metadata: messageMetadata(request),
          tokens: turn.messageTokens,
          createdAt
        }
        const promptTokens = preamble.systemTokens + preamble.toolTokens + turn.messageTokens
        const assistantId = place.assistant.id
        const admitted = { isNew: true, promptTokens, prices: leg.model.info, assistantId }
        const begin: Begin = {
          run: {
            id: runId,
            threadId: place.thread.id,
            answerId,
            stream: request.stream === true,
            provider: plan.provider,
            model: plan.model,
            plan,
            assistantVersion: plan.assistantVersion ?? null,
            scheduleId: request.scheduleId ?? null,
            parentRunId: request.child?.parent ?? null,
            createdAt
          },
          message,
          events: [...log.events, first].filter(isKept),
          mode: "enqueue",
          saves: isSaved,
          maxQueued: settings.maxQueued,
          lease: Duration.fromInputUnsafe(settings.lease),
          historyTokens: room.forPrompt,
          idempotency: request.idempotency ?? null,
          decidedOn: place.decidedOn,
          followUps: orders,
          admission: isSaved ? null : admissionRequest(findQuota(ownerId, assistantId), admitted, createdAt.getTime()),
          ...(turn.takesBack === null ? {} : { takesBack: turn.takesBack })
        }
        return { begin, first }
      }

      return WriteTurn.of({ write })
    })
  )
}

const messageMetadata = (request: TurnRequest) =>
  request.customTimestamp === undefined
    ? (request.metadata ?? null)
    : { ...request.metadata, custom_timestamp: request.customTimestamp }

const savedMessage = ({ content, draft, place }: TurnToWrite): SavedMessage => ({
  status: "SAVED",
  message: { id: draft.messageId, content },
  threadId: place.thread.id,
  assistantId: place.assistant.id,
  runId: draft.runId
})

const firstLeg = (
  { request, place, leg, apiKey, draft }: TurnToWrite,
  first: TurnEvent,
  lease: Lease,
  budget: TurnBudget | null
): NewLeg => ({
  ...leg,
  lease,
  assistantId: place.assistant.id,
  answerId: draft.answerId,
  apiKey,
  number: 0,
  stream: request.stream === true,
  log: draft.log,
  first,
  budget,
  child: request.child
})
