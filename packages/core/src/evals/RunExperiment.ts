/**
 * One attempt of an experiment, as a follow-up: a turn on a scratch thread, its scores, its result. The result is stored in one step with the
 * follow-up of the next attempt, so that as many chains of attempts go on as the experiment has attempts at once, in whatever process. A
 * process that dies in an attempt is followed by another one, which makes the attempt again on a new thread, or scores the answer if there is
 * one.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { documentsPartName } from "../documents/DocumentWork.ts"
import type { SpentFor } from "../metering/ChargeOutside.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { type AssistantId, ExperimentId, ThreadId } from "../primitives/Ids.ts"
import { keyedId } from "../primitives/KeyedId.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type FollowUp, newFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import { RunStore } from "../runs/RunStore.ts"
import { Threads } from "../threads/Threads.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { readImport } from "../turns/Import.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import { type StartError, Turns } from "../turns/TurnUseCases.ts"
import type { EvalCase } from "./Case.ts"
import { type Attempt, failedResult, scoredResult } from "./CaseResult.ts"
import { EvalSettings } from "./EvalSettings.ts"
import { EvalStore } from "./EvalStore.ts"
import { attemptAt, attemptsIn, type Experiment, type ExperimentResult, type ExperimentVariant } from "./Experiment.ts"
import { shorten } from "./Expectation.ts"
import type { JudgedTurn } from "./JudgedTurn.ts"
import { makePaidScoring } from "./PaidScoring.ts"
import { recordedOutputs } from "./Recorded.ts"
import { recordedPartName } from "./RecordedPart.ts"
import { makeTurnReader } from "./StoredTurn.ts"

const attemptKind = "evals.attempt"
const Payload = Schema.Struct({
  experimentId: ExperimentId,
  number: Schema.Int,
  /** Set when the experiment was resumed: attempts of before that have not ended yet are others. */
  mark: Schema.optionalKey(Schema.String)
})
const readPayload = Schema.decodeUnknownOption(Payload)

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

/** The work of one attempt; null: the experiment has no such attempt. */
export const attemptWork = Effect.fnUntraced(function* (experiment: Experiment, number: number, mark?: string) {
  if (number >= attemptsIn(experiment)) return null
  const payload = { experimentId: experiment.id, number, ...(mark === undefined ? {} : { mark }) }
  const key = [experiment.id, number, ...(mark === undefined ? [] : [mark])].join(":")
  return yield* newFollowUp({ kind: attemptKind, key, payload })
})

/** A case was checked when it was made. Limits of the host may be lower since. */
const noLimits = { messages: Infinity, characters: Infinity, charactersOfOne: Infinity, problems: 1 }

/** What an attempt came to. */
type Came = Omit<ExperimentResult, "number" | "endedAt">

/** An attempt that could not be made. */
const failedAttempt = (attempt: Attempt, error: string): Came => ({
  ...failedResult(attempt, error),
  judgesCostUsd: 0,
  toolCalls: []
})

export const registerAttempts = Effect.gen(function* () {
  const store = yield* EvalStore
  const followUps = yield* FollowUps
  const settings = yield* EvalSettings
  const turns = yield* Turns
  const runs = yield* RunStore
  const threads = yield* Threads
  const threadStore = yield* ThreadStore
  const readTurn = yield* makeTurnReader
  const scorePaid = yield* makePaidScoring
  const counter = yield* TokenCounter

  const scratchId = Effect.fnUntraced(function* ({ experimentId, mark, number }: typeof Payload.Type, attempt: number) {
    const { ownerId } = yield* Principal
    const markParts = mark === undefined ? [] : [mark]
    return yield* keyedId(ThreadId, ["experiment", ownerId, experimentId, number, attempt, ...markParts])
  })

  /** The threads of this attempt and of those before it that ended with their process. */
  const removeScratch = (payload: typeof Payload.Type, { attempts }: FollowUp) =>
    Effect.forEach(
      Array.from({ length: attempts }, (_, index) => index + 1),
      (attempt) =>
        Effect.flatMap(scratchId(payload, attempt), (id) =>
          Effect.catchTag(threads.remove(id), ["ThreadNotFound", "ThreadInSession"], () => Effect.void)
        ),
      { discard: true }
    )

  /** Stores the result with the work of the next attempt of this chain. */
  const record = Effect.fnUntraced(function* (
    experiment: Experiment,
    came: Came,
    { mark, number }: typeof Payload.Type
  ) {
    const next = yield* attemptWork(experiment, number + experiment.concurrency, mark)
    const result = { ...came, number, endedAt: yield* now }
    if (yield* store.recordResult(experiment.id, result, next)) followUps.wake()
    // The experiment has ended meanwhile, or another attempt gave the result. This one is paid all the same.
    else yield* store.addCost(experiment.id, (came.costUsd ?? 0) + (came.judgesCostUsd ?? 0))
  })

  const openScratch = Effect.fnUntraced(function* (
    threadId: ThreadId,
    assistantId: AssistantId,
    { messages }: EvalCase
  ) {
    if (Option.isSome(yield* threadStore.get(threadId))) return true
    const at = yield* now
    const importing = { threadId, at, counter, limits: noLimits }
    const imported = yield* Effect.orDie(readImport(messages, importing))
    const thread = { id: threadId, assistantId, metadata: null, assistantVersion: null, scratch: true as const }
    const outcome = yield* runs.importThread({
      thread: { ...thread, createdAt: at, updatedAt: at },
      messages: imported,
      once: null
    })
    return outcome._tag === "Done"
  })

  /** Null: the experiment was cancelled or deleted meanwhile. */
  const unlessEnded = <A, E>(id: ExperimentId, work: Effect.Effect<A, E, Principal>) =>
    Effect.raceFirst(
      work,
      store.getExperiment(id).pipe(
        Effect.catchTag("StoreUnavailable", () => Effect.succeed(null)),
        Effect.delay(settings.poll),
        Effect.repeat({ while: (found) => found === null || Option.getOrNull(found)?.status === "running" }),
        Effect.as(null)
      )
    )

  const lastReply = Effect.fnUntraced(function* (started: StartedTurn, { tools }: EvalCase) {
    const answers = recordedOutputs(tools)
    const { runId, threadId } = started
    let reply = yield* started.reply
    for (let outputs = answers(reply); outputs !== null; outputs = answers(reply)) {
      const next = yield* turns
        .submitToolOutputs({ threadId, runId, outputs })
        .pipe(Effect.catch((error) => (error._tag === "StoreUnavailable" ? Effect.fail(error) : Effect.succeed(null))))
      if (next === null) break
      reply = yield* next.reply
    }
    return reply
  })

  const tryAgain = ({ id }: Experiment, costUsd: number | null | undefined, message: string) =>
    Effect.andThen(store.addCost(id, costUsd ?? 0), Effect.fail(new FollowUpFailed({ message, isRetryable: true })))

  const score = Effect.fnUntraced(function* (
    experiment: Experiment,
    evalCase: EvalCase,
    work: { readonly attempt: Attempt; readonly answered: SpentFor; readonly mayRetry: boolean },
    turn: JudgedTurn
  ) {
    const { answered, attempt, mayRetry } = work
    const expectations = [...evalCase.expectations, ...experiment.expectations]
    const { costUsd: judgesCostUsd, error, retryable, scores } = yield* scorePaid(expectations, turn, answered)
    if (error !== null && retryable && mayRetry) return yield* tryAgain(experiment, judgesCostUsd, error)
    return { ...scoredResult(attempt, turn, scores, error), judgesCostUsd, toolCalls: turn.toolCalls }
  })

  const answer = Effect.fnUntraced(function* (
    experiment: Experiment,
    variant: ExperimentVariant,
    evalCase: EvalCase,
    work: { readonly attempt: Attempt; readonly threadId: ThreadId; readonly mayRetry: boolean }
  ) {
    const { attempt, mayRetry, threadId } = work
    const failed = (error: string) => failedAttempt(attempt, error)
    const assistantId = variant.assistantId ?? evalCase.assistantId
    if (assistantId === null) return failed("Neither the variant nor the case names an assistant.")
    if (!(yield* openScratch(threadId, assistantId, evalCase))) return failed("The assistant was deleted.")
    const { assistantVersion, model, modelOptions, provider, retrieval } = variant
    const systemPrompt = variant.instructions ?? evalCase.instructions
    const recorded = { caseId: evalCase.id, ...(retrieval === undefined ? {} : { searches: true }) }
    const begun = yield* turns
      .start({
        threadId,
        content: evalCase.question,
        idempotency: { key: `experiment:${threadId}`, fingerprint: experiment.id },
        ...(evalCase.toolDefinitions === undefined ? {} : { tools: evalCase.toolDefinitions }),
        ...(assistantVersion === undefined ? {} : { assistantVersion }),
        ...(systemPrompt === undefined ? {} : { systemPrompt }),
        ...(provider === undefined ? {} : { provider }),
        ...(model === undefined ? {} : { model }),
        ...(modelOptions === undefined ? {} : { modelOptions }),
        options: {
          ...evalCase.options,
          ...(retrieval === undefined ? {} : { [documentsPartName]: retrieval }),
          ...(experiment.tools === "live" ? {} : { [recordedPartName]: recorded })
        }
      })
      .pipe(Effect.catch((error) => (isPassing(error) ? later(error) : Effect.succeed(failed(error.message)))))
    if ("passed" in begun) return begun
    const reply = yield* unlessEnded(experiment.id, lastReply(begun, evalCase))
    const turn = reply === null ? null : ((yield* readTurn(begun.runId))?.turn ?? null)
    if (reply?.fault?.retryable === true && mayRetry)
      return yield* tryAgain(experiment, turn?.costUsd, reply.fault.message)
    if (reply === null || reply.status === "REQUIRES_ACTION")
      yield* Effect.catchTag(turns.cancel(threadId, begun.runId), "RunNotFound", () => Effect.void)
    if (reply === null) {
      yield* store.addCost(experiment.id, (yield* readTurn(begun.runId))?.turn.costUsd ?? 0)
      return null
    }
    if (turn === null) return failed("The turn has no answer.")
    return yield* score(experiment, evalCase, { attempt, answered: begun, mayRetry }, turn)
  })

  /** An answer that an earlier try was given, and that has no result: its judge failed, or its process died. It is paid. */
  const answeredEarlier = Effect.fnUntraced(function* (payload: typeof Payload.Type, { attempts }: FollowUp) {
    for (let attempt = attempts - 1; attempt > 0; attempt--) {
      const { runs: all } = yield* Effect.catchTag(
        turns.list(yield* scratchId(payload, attempt), { limit: 1 }),
        "ThreadNotFound",
        () => Effect.succeed({ runs: [] })
      )
      const [newest] = all
      const found = newest?.run.status === "COMPLETED" ? yield* readTurn(newest.run.id) : null
      if (found !== null)
        return { turn: found.turn, answered: { runId: found.run.id, assistantId: found.run.assistantId } }
    }
    return null
  })

  /** Null: the experiment has no such attempt. */
  const findAttempt = Effect.fnUntraced(function* (experiment: Experiment, number: number) {
    const at = attemptAt(experiment, number)
    if (at === null) return null
    const { caseId, repeat, variant } = at
    const evalCase = Option.getOrUndefined(yield* store.getCase(caseId))
    const caseName = evalCase === undefined ? caseId : (evalCase.name ?? shorten(evalCase.question))
    const attempt = { caseId, caseName, tags: evalCase?.tags ?? [], variant: variant.name, repeat }
    return { variant, evalCase, attempt }
  })

  const run = Effect.fnUntraced(function* (payload: typeof Payload.Type, followUp: FollowUp) {
    const { experimentId, number } = payload
    const state = Option.getOrUndefined(yield* store.getExperiment(experimentId))
    if (state?.status !== "running") return
    const { experiment } = state
    const [given] = yield* store.listResults({ experimentId, limit: 1, after: number - 1 })
    if (given?.number === number) return
    if (experiment.budgetUsd !== null && state.costUsd >= experiment.budgetUsd) {
      const reason = `The budget of ${experiment.budgetUsd} USD is spent.`
      yield* store.endExperiment({ id: experimentId, status: "stopped", reason, at: yield* now })
      return
    }
    const found = yield* findAttempt(experiment, number)
    if (found === null) return
    const { attempt, evalCase, variant } = found
    const threadId = yield* scratchId(payload, followUp.attempts)
    const mayRetry = followUp.attempts < settings.tries
    const earlier = yield* answeredEarlier(payload, followUp)
    const came =
      evalCase === undefined
        ? failedAttempt(attempt, "The case was deleted.")
        : earlier === null
          ? yield* answer(experiment, variant, evalCase, { attempt, threadId, mayRetry })
          : yield* score(experiment, evalCase, { attempt, answered: earlier.answered, mayRetry }, earlier.turn)
    if (came !== null) yield* record(experiment, came, payload)
  })

  yield* followUps.register(
    typedWorker({
      kind: attemptKind,
      payload: Payload,
      // No record waits: the follow-up is stored with the experiment, or with the result of the attempt before it.
      run: (payload, followUp) => Effect.andThen(run(payload, followUp), removeScratch(payload, followUp)),
      giveUp: Effect.fnUntraced(function* (followUp, error) {
        const payload = Option.getOrUndefined(readPayload(followUp.payload))
        if (payload === undefined) return
        const state = Option.getOrUndefined(yield* store.getExperiment(payload.experimentId))
        const found = state?.status === "running" ? yield* findAttempt(state.experiment, payload.number) : null
        if (state !== undefined && found !== null)
          yield* record(state.experiment, failedAttempt(found.attempt, error), payload)
        yield* removeScratch(payload, followUp)
      })
    })
  )
})

/** What may be different later. Everything else is the result of the attempt. */
const isPassing = (error: StartError): boolean =>
  error._tag === "StoreUnavailable" ||
  error._tag === "ShuttingDown" ||
  error._tag === "ThreadBusy" ||
  (error._tag === "OverLimit" && error.waitMillis !== null) ||
  (error._tag === "InsufficientCredit" && error.waitMillis !== undefined)

const later = (error: StartError): Effect.Effect<never, StoreUnavailable | FollowUpFailed> => {
  if (error._tag === "StoreUnavailable") return Effect.fail(error)
  const wait = error._tag === "OverLimit" || error._tag === "InsufficientCredit" ? (error.waitMillis ?? 5000) : 5000
  return Effect.fail(
    new FollowUpFailed({ message: error.message, isRetryable: true, isOutage: true, pauseMillis: wait })
  )
}
