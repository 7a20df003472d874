/**
 * Step 4 of a turn: the user's message and the run go into the store in one transaction, under the thread's busy policy, and the leg is
 * given to the kernel. A message that has to wait is stored too; the caller is told when its turn has come, or that it never did.
 */
import * as Clock from "effect/Clock"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { LiveRun } from "../runs/LiveRuns.ts"
import { LogTail } from "../runs/LogTail.ts"
import { RunLog } from "../runs/RunLog.ts"
import type { ActivateOutcome, Begin, BeginOutcome, Lease } from "../runs/RunStore.ts"
import { withValues } from "../threads/Supplement.ts"
import type { NewMessage } from "../threads/Message.ts"
import { ThreadInSession, ThreadNotFound } from "../threads/Thread.ts"
import { cancelRun } from "./Cancellation.ts"
import type { Decided } from "./Decide.ts"
import type { Draft } from "./Draft.ts"
import { LeaseLost, Withdrawn } from "./EndLeg.ts"
import { type Leg, makeLeg } from "./Leg.ts"
import { followUpsOfSaved } from "./PartFollowUps.ts"
import type { Place } from "./Place.ts"
import { startLeg } from "./RunLeg.ts"
import { roomFor } from "../prompts/PromptAssembly.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { type IdempotencyConflict, ThreadBusy } from "./TurnErrors.ts"
import { repeatWhileAway } from "./StoreRetry.ts"
import { isKept, type TurnEvent } from "./TurnEvent.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import type { Workshop } from "./Workshop.ts"

export interface TurnToWrite extends Decided {
  readonly request: TurnRequest
  readonly place: Place
  readonly draft: Draft
}

type WriteError = ThreadBusy | ThreadInSession | ThreadNotFound | IdempotencyConflict | StoreUnavailable

/** `Effect.uninterruptibleMask`'s way back to what the caller allows. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Runs in a region that cannot be interrupted, but for the waits: a caller who goes away must not leave a run behind that is stored and
 * that nobody works on.
 */
export const writeTurn = Effect.fnUntraced(function* (
  workshop: Workshop,
  turn: TurnToWrite,
  restore: Restore
): Effect.fn.Return<StartedTurn, WriteError, Principal> {
  const { request, place } = turn
  const { log } = turn.draft
  const begin = yield* beginOf(workshop, turn)
  const policy = request.busy ?? workshop.settings.busy
  const outcome = yield* beginUnderPolicy(workshop, begin, policy, restore)
  const events = yield* workshop.eventsOf(begin.run.id, 0, log)
  const started = startedTurn(
    { threadId: place.thread.id, assistantId: place.assistant.id, runId: begin.run.id },
    events,
    log
  )
  switch (outcome._tag) {
    case "Repeated":
      return yield* restore(workshop.repeat(outcome, begin.idempotency?.fingerprint ?? ""))
    case "ThreadMissing":
      return yield* new ThreadNotFound({ threadId: place.thread.id })
    case "InSession":
      return yield* new ThreadInSession({ threadId: place.thread.id })
    case "Busy":
      return yield* new ThreadBusy({
        threadId: place.thread.id,
        runId: outcome.runId,
        ...(policy === "reject" ? {} : { full: begin.maxQueued })
      })
    case "Saved":
      if (begin.followUps.length > 0) workshop.followUps.wake()
      log.close("ended")
      return started
    case "Started": {
      const leg = firstLeg(workshop, turn, outcome.lease, log.events.length)
      yield* startLeg(workshop, leg, Effect.succeed(outcome.history))
      return started
    }
    case "Queued":
      yield* restore(
        begin.saves
          ? yield* queueSave(workshop, outcome.lease, log, begin.followUps)
          : yield* queue(workshop, turn, outcome.lease, log, begin.historyTokens)
      )
      return started
  }
})

/** Asks the store to begin, and deals with what is in the way: a dead run is ended, one to be interrupted is cancelled. */
const beginUnderPolicy = Effect.fnUntraced(function* (
  workshop: Workshop,
  begin: Begin,
  policy: NonNullable<TurnRequest["busy"]>,
  restore: Restore
): Effect.fn.Return<BeginOutcome, StoreUnavailable, Principal> {
  const mode = policy === "interrupt" ? "reject" : policy
  const outcome = yield* repeatWhileAway(workshop.store.begin({ ...begin, mode }), workshop.settings.startTimeout)
  if (outcome._tag !== "Busy") return outcome
  if (outcome.expired && (yield* workshop.recovery.endExpired(outcome.runId))) {
    return yield* beginUnderPolicy(workshop, begin, policy, restore)
  }
  if (policy !== "interrupt") return outcome
  yield* restore(cancelRun(workshop, outcome.runId))
  // From here on in the order of arrival: a second interrupter waits for the first one's successor to be cancelled.
  return yield* beginUnderPolicy(workshop, begin, "enqueue", restore)
})

const beginOf = Effect.fnUntraced(function* (workshop: Workshop, turn: TurnToWrite) {
  const { content, parts, request, place, plan } = turn
  const { answerId, log, messageId, runId } = turn.draft
  const createdAt = new Date(yield* Clock.currentTimeMillis)
  const at = createdAt.toISOString()
  const isSaved = request.sendToModel === false
  const kept = withValues(parts.supplements)
  log.push((sequence) => ({ _tag: "UserMessage", sequence, messageId, content, ...kept }))
  log.push((sequence) =>
    isSaved
      ? { _tag: "MessageSaved", sequence, messageId, at, ...kept }
      : { _tag: "RunStarted", sequence, messageId: answerId, provider: plan.provider, model: plan.model, at }
  )
  const message: NewMessage = {
    id: messageId,
    threadId: place.thread.id,
    runId,
    role: "user",
    content,
    status: "COMPLETED",
    toolCalls: [],
    toolResults: [],
    steps: [],
    supplements: parts.supplements,
    provider: null,
    model: null,
    usage: null,
    metadata: messageMetadata(request),
    tokens: turn.messageTokens,
    createdAt
  }
  const begin: Begin = {
    run: {
      id: runId,
      threadId: place.thread.id,
      answerId,
      stream: request.stream === true,
      provider: plan.provider,
      model: plan.model,
      plan,
      createdAt
    },
    message,
    events: log.events.filter(isKept),
    mode: "enqueue",
    saves: isSaved,
    maxQueued: workshop.settings.maxQueued,
    lease: Duration.fromInputUnsafe(workshop.settings.lease),
    historyTokens: roomFor(turn.model.info, workshop.settings.assumedContextLimit).forPrompt,
    idempotency: request.idempotency ?? null,
    followUps: isSaved
      ? yield* followUpsOfSaved(parts.planned, { message, assistantId: place.assistant.id, runId })
      : []
  }
  return begin
})

const messageMetadata = (request: TurnRequest) =>
  request.customTimestamp === undefined
    ? (request.metadata ?? null)
    : { ...request.metadata, custom_timestamp: request.customTimestamp }

const firstLeg = (
  workshop: Workshop,
  { request, place, plan, model, apiKey, draft }: TurnToWrite,
  lease: Lease,
  stored: number
): Leg => {
  const leg = {
    lease,
    assistantId: place.assistant.id,
    answerId: draft.answerId,
    plan,
    model,
    apiKey,
    number: 0,
    stream: request.stream === true,
    log: draft.log
  }
  return makeLeg(workshop, leg, stored)
}

const queueSeconds = Metric.histogram("colloquy.turn.queue_time", {
  description: "Seconds that a message waited for its thread",
  boundaries: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30]
})

/** The run waits inside the kernel, whatever becomes of its caller. Gives what the caller awaits: that it began, or that it was too late. */
const queue = Effect.fnUntraced(function* (
  workshop: Workshop,
  turn: TurnToWrite,
  lease: Lease,
  log: RunLog<TurnEvent>,
  historyTokens: number
): Effect.fn.Return<Effect.Effect<void, ThreadBusy | StoreUnavailable>, never, Principal> {
  const begun = yield* Deferred.make<void, ThreadBusy | StoreUnavailable>()
  const waiting = log.events.length
  const activate = workshop.store.activate(lease, Duration.fromInputUnsafe(workshop.settings.lease), historyTokens)
  const history = awaitTurn(workshop, lease, activate).pipe(
    Effect.flatMap((outcome) => (outcome._tag === "Started" ? Effect.succeed(outcome.history) : new LeaseLost())),
    Effect.tap(() => Deferred.succeed(begun, undefined)),
    Effect.tapError((error) => (error._tag === "LeaseLost" ? Effect.void : Deferred.fail(begun, error))),
    Effect.catchTag("ThreadBusy", () => Effect.fail(new Withdrawn())),
    // What became of the run is not known: the next holder of its lease finds out.
    Effect.catchTag("StoreUnavailable", () => Effect.fail(new LeaseLost()))
  )
  yield* startLeg(workshop, firstLeg(workshop, turn, lease, 0), history)
  // A run that is cancelled while it waits ends without beginning: its log says so.
  return Effect.raceFirst(Deferred.await(begun), log.above(waiting))
})

/** A message that is only saved takes its turn as well. Nobody works on it: what ends it before its turn leaves nothing of it. */
const queueSave = Effect.fnUntraced(function* (
  workshop: Workshop,
  lease: Lease,
  log: RunLog<TurnEvent>,
  followUps: Begin["followUps"]
): Effect.fn.Return<Effect.Effect<void, ThreadBusy | StoreUnavailable>, never, Principal> {
  const saved = yield* Deferred.make<void, ThreadBusy | StoreUnavailable>()
  // The log says already that the message was saved: followers of the run read the store meanwhile.
  const unsaved = new RunLog<TurnEvent>(1)
  const tail = new LogTail(unsaved, 0, workshop.settings.unwatchedLog, isKept)
  const run: LiveRun<TurnEvent> = { lease, log: unsaved, tail, stopped: null, fiber: null }
  const busy = new ThreadBusy({ threadId: lease.threadId, runId: lease.runId })
  workshop.live.add(run)
  const duration = Duration.fromInputUnsafe(workshop.settings.lease)
  const wait = awaitTurn(workshop, lease, workshop.store.activate(lease, duration, 0, { followUps }))
  run.fiber = yield* Effect.interruptible(wait).pipe(
    Effect.onExit((exit) => {
      if (Exit.isSuccess(exit)) return Effect.sync(() => followUps.length > 0 && workshop.followUps.wake())
      return Effect.gen(function* () {
        const error = Option.getOrElse(Cause.findErrorOption(exit.cause), () => busy)
        if (error._tag === "ThreadBusy") yield* unlessAway(workshop.store.withdraw(lease))
        yield* Deferred.fail(saved, error._tag === "LeaseLost" ? busy : error)
      })
    }),
    Effect.ensuring(
      Effect.sync(() => {
        workshop.live.remove(run)
        unsaved.close("lost")
        log.close("ended")
        Deferred.doneUnsafe(saved, Effect.void)
      })
    ),
    Effect.forkIn(workshop.scope, { uninterruptible: true })
  )
  return Deferred.await(saved)
})

/** Waits until nothing is in the way of a queued run, for as long as the host allows. */
const awaitTurn = Effect.fnUntraced(function* (
  workshop: Workshop,
  lease: Lease,
  activate: Effect.Effect<ActivateOutcome, StoreUnavailable, Principal>
): Effect.fn.Return<
  Exclude<ActivateOutcome, { readonly _tag: "Waiting" | "Lost" }>,
  ThreadBusy | LeaseLost | StoreUnavailable,
  Principal | Scope.Scope
> {
  const { settings, recovery } = workshop
  const changed = yield* workshop.signals.listen(lease.threadId)
  const since = yield* Clock.currentTimeMillis
  const deadline = since + Duration.toMillis(settings.queueTimeout)
  let inTheWay = lease.runId
  while (true) {
    // Not to be interrupted: a run that became active must be known to this process.
    const outcome = yield* Effect.uninterruptible(unlessAway(activate))
    const now = yield* Clock.currentTimeMillis
    if (outcome?._tag === "Started" || outcome?._tag === "Saved") {
      yield* Metric.update(queueSeconds, (now - since) / 1000)
      return outcome
    }
    if (outcome?._tag === "Lost") return yield* new LeaseLost()
    if (outcome?._tag === "Waiting") {
      inTheWay = outcome.runId
      if (outcome.expired && (yield* unlessAway(recovery.endExpired(outcome.runId))) === true) continue
    }
    if (now >= deadline) {
      const gone = yield* Effect.uninterruptible(withdraw(workshop, lease))
      if (gone) return yield* new ThreadBusy({ threadId: lease.threadId, runId: inTheWay })
      // It began meanwhile, or it was taken over: the next activation tells.
      continue
    }
    yield* Effect.raceFirst(changed, Effect.sleep(deadline - now))
  }
}, Effect.scoped)

/**
 * Whether nothing of the run is left. Asked again while the store is away: a caller who is told that his message was not taken must not
 * find it in the thread later. A withdrawal that was stored and whose answer was lost answers false to the next one, and the run is gone.
 */
const withdraw = Effect.fnUntraced(function* ({ settings, store }: Workshop, lease: Lease) {
  const withdrawn = yield* repeatWhileAway(store.withdraw(lease), settings.settleTimeout)
  return withdrawn || Option.isNone(yield* repeatWhileAway(store.get(lease.runId), settings.settleTimeout))
})

/** A store that is away does not end the waiting. */
const unlessAway = <A>(
  effect: Effect.Effect<A, StoreUnavailable, Principal>
): Effect.Effect<A | null, never, Principal> => Effect.catchTag(effect, "StoreUnavailable", () => Effect.succeed(null))
