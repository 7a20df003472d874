/**
 * The preparation of tests: a thread, a run on it, a run that waits for tool outputs. Written with the ports only; a step that fails, fails
 * the test.
 */
import type { Assistant, AssistantId, Principal, RunId, StoreUnavailable, ThreadId } from "@colloquy/core"
import {
  assistantDiff,
  type AssistantPatch,
  AssistantStore,
  type Begin,
  type Continue,
  ErasureId,
  type History,
  type Lease,
  type LogEvent,
  newId,
  OwnerStore,
  type RunSignal,
  RunStore,
  type Started,
  ThreadStore
} from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import {
  moment,
  sampleAssistant,
  sampleBegin,
  sampleCall,
  sampleContinue,
  sampleSettlement,
  sampleThread,
  type BeginFields,
  type Leg,
  type SettlementFields
} from "./Samples.ts"

/** A leg with its lease. */
export interface Turn extends Leg {
  readonly begin: Begin
  readonly lease: Lease
}

/** A turn with the history that it reads. */
export interface StartedTurn extends Turn {
  readonly history: History
}

const hasTag = <O extends { readonly _tag: string }, const T extends O["_tag"]>(
  outcome: O,
  tag: T
): outcome is Extract<O, { readonly _tag: T }> => outcome._tag === tag

/** Narrows an outcome to the one that the test expects. */
export const expectTag = <O extends { readonly _tag: string }, const T extends O["_tag"]>(
  outcome: O,
  tag: T
): Extract<O, { readonly _tag: T }> => {
  if (hasTag(outcome, tag)) return outcome
  throw new Error(`Expected ${tag}, but the store answered ${outcome._tag}.`)
}

/** The number of outcomes with each tag: `{ Started: 1, Busy: 9 }`. */
export const tally = (outcomes: ReadonlyArray<{ readonly _tag: string }>): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(outcomes, ({ _tag }) => _tag)].map(([tag, those]) => [tag, those.length]))

/** Runs the effect ten times at the same time. */
export const tenTimes = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.all(
    Array.from({ length: 10 }, () => effect),
    { concurrency: "unbounded" }
  )

/** A lease that has expired at once. */
export const noTime = Duration.zero

/** A lease that does not expire during a test. */
export const anHour = Duration.hours(1)

/** Stores a new assistant and an empty thread of it. */
export const openThread = Effect.gen(function* () {
  const assistant = yield* sampleAssistant()
  yield* (yield* AssistantStore).insert(assistant)
  return yield* openNewThread(assistant.id)
})

/** Makes a thread of the assistant, stores it in the store under test, and returns it. */
export const openNewThread = Effect.fnUntraced(function* (assistantId: AssistantId) {
  const thread = yield* sampleThread(assistantId)
  if (!(yield* (yield* ThreadStore).insert(thread))) throw new Error("The thread was not stored.")
  return thread
})

/** Stores the next version of an assistant; false when it has changed since it was read. */
export const changeAssistant = Effect.fnUntraced(function* (
  id: AssistantId,
  fields: AssistantPatch,
  updatedAt = moment(1)
) {
  const store = yield* AssistantStore
  const before = Option.getOrThrow(yield* store.get(id))
  const after: Assistant = { ...before, ...fields, version: before.version + 1, updatedAt }
  const changes = assistantDiff(before, fields).map(({ field }) => field)
  return (yield* store.update({ before, after, changes })) === "stored"
})

/** Begins a turn on a thread. */
export const startTurn = Effect.fnUntraced(function* (threadId: ThreadId, fields: BeginFields = {}) {
  const begin = yield* sampleBegin(threadId, fields)
  const started = expectTag(yield* (yield* RunStore).begin(begin), "Started")
  return startedTurn(begin, toLeg(begin), started)
})

/** Queues a run behind another one. */
export const queueTurn = Effect.fnUntraced(function* (threadId: ThreadId, fields: BeginFields = {}) {
  const begin = yield* sampleBegin(threadId, fields)
  const { lease } = expectTag(yield* (yield* RunStore).begin(begin), "Queued")
  const turn: Turn = { ...toLeg(begin), begin, lease }
  return turn
})

/** False when the lease is lost. A run whose row another caller has locked is tried again. */
export const appendTo: (
  lease: Lease,
  events: ReadonlyArray<LogEvent>
) => Effect.Effect<boolean, StoreUnavailable, RunStore> = Effect.fnUntraced(function* (lease, events) {
  const { later, lost } = yield* (yield* RunStore).append([{ lease, events }])
  return later.length === 0 ? lost.length === 0 : yield* appendTo(lease, events)
})

/** Ends the leg of a turn. */
export const settleTurn = Effect.fnUntraced(function* (turn: Turn, fields: SettlementFields = {}) {
  return yield* (yield* RunStore).settle(turn.lease, yield* sampleSettlement(turn, fields))
})

/** Ends the leg with a call that the client must answer. */
export const pauseTurn = Effect.fnUntraced(function* (turn: Turn, fields: SettlementFields = {}) {
  const open: SettlementFields = { status: "REQUIRES_ACTION", answer: { toolCalls: [sampleCall] }, ...fields }
  if (!(yield* settleTurn(turn, open))) throw new Error("The lease is lost.")
  return turn
})

/** Each of these fails while everything of the principal is being erased, and the first succeeds afterwards. */
export const refusedWhileErasing = <R>(
  ...writes: ReadonlyArray<Effect.Effect<unknown, StoreUnavailable, R>>
): Effect.Effect<void, StoreUnavailable, R | OwnerStore | Principal> =>
  Effect.gen(function* () {
    const store = yield* OwnerStore
    const { id } = yield* store.beginErasure(yield* newId(ErasureId), moment(2))
    for (const [place, write] of writes.entries()) {
      const error = yield* Effect.flip(Effect.andThen(write, Effect.die(new Error(`Write ${place} was not refused.`))))
      if (error.isErasing !== true) return yield* error
    }
    yield* store.endErasure(id, "FAILED", moment(3), "none")
    yield* writes[0] ?? Effect.void
  })

/** A turn that waits for the result of a call. */
export const waitingTurn = Effect.fnUntraced(function* (threadId: ThreadId, fields: BeginFields = {}) {
  return yield* pauseTurn(yield* startTurn(threadId, fields))
})

/** Gives a waiting turn its result. */
export const continueTurn = Effect.fnUntraced(function* (turn: Turn, fields: Partial<Continue> = {}) {
  const next = yield* sampleContinue(turn, fields)
  const started = expectTag(yield* (yield* RunStore).continue(next), "Started")
  return startedTurn(turn.begin, { ...turn, leg: turn.leg + 1, answerId: next.answerId }, started)
})

/** Reads the run back from the store under test. */
export const storedRun = Effect.fnUntraced(function* (runId: RunId) {
  return Option.getOrThrow(yield* (yield* RunStore).get(runId))
})

/** Reads all messages of a thread back from the store under test, oldest first. */
export const storedMessages = Effect.fnUntraced(function* (threadId: ThreadId) {
  return yield* (yield* ThreadStore).messages([threadId])
})

/** The leg of a turn that begins. */
export const toLeg = ({ run }: Begin): Leg => ({
  runId: run.id,
  threadId: run.threadId,
  answerId: run.answerId,
  leg: 0
})

const startedTurn = (begin: Begin, leg: Leg, { history, lease }: Started): StartedTurn => ({
  ...leg,
  begin,
  lease,
  history
})

/** The signals of `onChange` as a stream, from the moment when it runs. */
export const runChanges = (runs: typeof RunStore.Service): Stream.Stream<RunSignal> =>
  Stream.callback<RunSignal>((queue) => runs.onChange((signal) => void Queue.offerUnsafe(queue, signal)))
