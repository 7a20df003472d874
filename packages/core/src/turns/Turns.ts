/**
 * *** How a message turn flows. *** Steps 5 to 8 are in `RunLeg`.
 *
 *     repeat     join the turn that this idempotency key began, if any          `Repeats`
 *   1 admit      find assistant and thread; refuse while shutting down          `Admissions`, `Places`
 *   2 listen     parts rewrite text, and turn other input into text             `PartDecisions`, `Drafts`
 *   3 decide     make a plan from assistant, request, model and parts           `Decide`, `TurnPlan` (pure)
 *   4 write      store the user's message and the run, in one transaction       `WriteTurn`, `QueueTurn`, `RunStore.begin`
 *
 * Nothing is stored before step 4, and nothing is refused after it. Tool outputs enter at step 5 with the stored plan (`ToolOutputs`).
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import { chatCredit, Metering } from "../metering/Metering.ts"
import type { UsageLedger } from "../metering/UsageLedger.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { type Run, RunNotFound } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import type { RunPage } from "../runs/Run.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { Admissions } from "./Admissions.ts"
import { Cancellation } from "./Cancellation.ts"
import { Decide } from "./Decide.ts"
import type { Draft } from "./Draft.ts"
import { Drafts } from "./Drafts.ts"
import { Followers } from "./Followers.ts"
import { InspectRun } from "./InspectRun.ts"
import type { Place } from "./Place.ts"
import { Places } from "./Places.ts"
import { Repeats } from "./Repeats.ts"
import { decodeExplanation } from "./Settlement.ts"
import { ToolOutputs } from "./ToolOutputs.ts"
import { decodePlan } from "./TurnPlan.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import { type TurnPorts, turnServices } from "./TurnServices.ts"
import { type RunReport, Turns } from "./TurnUseCases.ts"
import { WriteTurn } from "./WriteTurn.ts"

const makeTurns = Effect.gen(function* () {
  const threads = yield* ThreadStore
  const runs = yield* RunStore
  const metering = yield* Metering
  const repeats = yield* Repeats
  const admissions = yield* Admissions
  const places = yield* Places
  const drafts = yield* Drafts
  const { decide } = yield* Decide
  const { write } = yield* WriteTurn
  const { submit } = yield* ToolOutputs
  const { cancel } = yield* Cancellation
  const { inspect } = yield* InspectRun
  const followers = yield* Followers
  // When the kernel's scope closes, running turns are settled before the services that they use are closed.
  yield* Effect.addFinalizer(() => admissions.close)

  const begin = Effect.fnUntraced(function* (request: TurnRequest) {
    const repeated = yield* repeats.find(request.idempotency)
    if (Option.isSome(repeated)) return repeated.value
    return yield* places.use(request, (place) =>
      drafts.use(request, place, (draft) => decideAndWrite(request, place, draft))
    )
  })

  const decideAndWrite = Effect.fnUntraced(function* (request: TurnRequest, place: Place, draft: Draft) {
    const decided = yield* places.decide(place, decide(request, place, draft))
    if (request.sendToModel !== false) yield* metering.ensureCredit(chatCredit)
    return yield* places.store(place, (restore) => write({ request, place, draft, ...decided }, restore))
  })

  const start = (request: TurnRequest) => admissions.admit(begin(request)).pipe(traced("Turns.start"))

  const findRun = Effect.fnUntraced(function* (threadId: ThreadId, runId: RunId) {
    const run = yield* runs.get(runId)
    if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
    return run.value
  })

  return Turns.of({
    start,
    repeated: repeats.find,
    send: (request) => Effect.flatMap(start({ ...request, stream: false }), (turn) => turn.reply),
    submitToolOutputs: (request) => admissions.admit(submit(request)).pipe(traced("Turns.submitToolOutputs")),
    cancel: tracedFn("Turns.cancel")(function* (threadId: ThreadId, runId: RunId) {
      const found = yield* findRun(threadId, runId)
      yield* cancel(runId)
      // A message that was only to be saved, and waited for its turn, leaves no run.
      const gone = { ...found, status: "CANCELLED" as const, cancelRequested: true }
      return yield* Effect.catchTag(findRun(threadId, runId), "RunNotFound", () => Effect.succeed(gone))
    }),
    follow: tracedFn("Turns.follow")(function* (threadId: ThreadId, runId: RunId, after: number) {
      const run = yield* findRun(threadId, runId)
      return yield* followers.events(runId, after, undefined, run)
    }),
    report: tracedFn("Turns.report")(function* (threadId: ThreadId, runId: RunId) {
      return reportOf(yield* findRun(threadId, runId))
    }),
    list: tracedFn("Turns.list")(function* (threadId: ThreadId, page: RunPage) {
      const { next, runs: listed } = yield* runs.list(threadId, page)
      if (listed.length === 0 && Option.isNone(yield* threads.get(threadId)))
        return yield* new ThreadNotFound({ threadId })
      return { runs: listed.map(reportOf), next }
    }),
    inspect: tracedFn("Turns.inspect")(function* (threadId: ThreadId, runId: RunId) {
      return yield* inspect(yield* findRun(threadId, runId))
    }),
    drain: admissions.drain
  })
})

const reportOf = (run: Run): RunReport => ({
  run,
  ignored: decodePlan(run.plan).ignored,
  explanation: decodeExplanation(run.explanation)
})

export const turnsLayer: Layer.Layer<Turns, never, TurnPorts | AssistantStore | UsageLedger> = Layer.effect(
  Turns,
  makeTurns
).pipe(Layer.provide(turnServices))
