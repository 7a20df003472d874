/**
 * *** How a message turn flows. *** Steps 5 to 8 are in `RunLeg`.
 *
 *   1 admit      not while the kernel shuts down                                `Admissions`
 *     repeat     join the turn that this idempotency key began, if any          `Repeats`
 *     resend     for regenerate and edit: the question of before, or a fork     `Instead`
 *     place      find assistant and thread                                      `Places`
 *   2 listen     parts rewrite text, and turn other input into text             `Drafts`, `Decide`, `PartDecisions`
 *   3 decide     make a plan from assistant, request, model and parts           `Decide`, `TurnPlan` (pure)
 *     credit     ask the host whether the owner can pay                         `Metering`
 *   4 write      store the user's message and the run, in one transaction       `WriteTurn`, `QueueTurn`, `RunStore.begin`
 *
 * Before step 4 nothing is stored but a fork, which is removed with a refusal. After step 4 nothing is refused but a message that waited for
 * its thread too long, which is withdrawn. When a run waits, outputs of the client (`ToolOutputs`) and decisions about approvals (`Decisions`)
 * enter at step 5 with the stored plan (`OpenCalls`).
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
import { childrenKey, childRuns, type ChildRun, withChildren, withoutChildren } from "./ChildRuns.ts"
import { Decide } from "./Decide.ts"
import { Decisions } from "./Decisions.ts"
import { Drafts } from "./Drafts.ts"
import { Followers } from "./Followers.ts"
import { Instead, type RequestAtPlace } from "./Instead.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import type { TakeBack } from "../runs/Branches.ts"
import { type Place, PlaceRecords } from "./Place.ts"
import { Places } from "./Places.ts"
import { Repeats } from "./Repeats.ts"
import { decodeExplanation } from "./Settlement.ts"
import { ToolOutputs } from "./ToolOutputs.ts"
import { WaitingCalls } from "./WaitingCalls.ts"
import { decodePlan, type TurnPlan } from "./TurnPlan.ts"
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
  const records = yield* PlaceRecords
  const drafts = yield* Drafts
  const { decide } = yield* Decide
  const { write } = yield* WriteTurn
  const { submit } = yield* ToolOutputs
  const { decide: decideCalls } = yield* Decisions
  const { waitingCalls } = yield* WaitingCalls
  const { cancel } = yield* Cancellation
  const followers = yield* Followers
  const instead = yield* Instead
  // When the kernel's scope closes, running turns are settled before the services that they use are closed.
  yield* Effect.addFinalizer(() => admissions.close)

  const begin = (request: TurnRequest) =>
    Effect.flatMapEager(repeats.find(request.idempotency, request), (repeated) =>
      Option.isSome(repeated) ? Effect.succeed(repeated.value) : beginFirst(request)
    )

  const beginFirst = (request: TurnRequest) => {
    const { instead: wish } = request
    if (wish === undefined) return beginAt(request, null, () => ({ request, stored: null }))
    return instead.use({ ...request, instead: wish }, ({ requestAt, takesBack, threadId }) =>
      beginAt({ ...request, threadId }, takesBack, requestAt)
    )
  }

  const beginAt = (
    sent: TurnRequest,
    takesBack: TakeBack | null,
    requestAt: (assistant: Assistant) => RequestAtPlace
  ) =>
    places.use(sent, (found, store) =>
      Effect.flatMapEager(records.atVersion(placeBefore(found, takesBack), sent.assistantVersion), (place) => {
        const { request, stored } = requestAt(place.assistant)
        return drafts.use(request, place, (draft) =>
          Effect.flatMap(decide(request, place, draft, stored), (decided) =>
            Effect.flatMapEager(creditFor(request), () =>
              store((restore) => write({ request, place, draft, takesBack, ...decided }, restore))
            )
          )
        )
      })
    )

  const creditFor = ({ sendToModel }: TurnRequest) =>
    sendToModel === false ? Effect.void : metering.ensureCredit(chatCredit)

  const start = (request: TurnRequest) => admissions.admit(() => begin(request)).pipe(traced("Turns.start"))

  const findRun = Effect.fnUntraced(function* (threadId: ThreadId, runId: RunId) {
    const run = yield* runs.get(runId)
    if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
    return run.value
  })

  /** What a child has used that had not ended when its turn was settled (its process died) is in its own record. */
  const report = Effect.fnUntraced(function* (run: Run) {
    const plan = decodePlan(run.plan)
    if (plan.parts?.[childrenKey] === undefined) return runReport(run, plan, [], run.usage)
    const children = (yield* runs.messages(run.id)).flatMap(childRuns)
    const left = yield* Effect.forEach(
      children.filter(({ usage }) => usage === null),
      ({ runId }) => runs.get(runId)
    )
    const unended = left.flatMap((child) => (Option.isSome(child) ? [child.value] : []))
    return runReport(run, plan, children, withChildren(run.usage, unended))
  })

  return Turns.of({
    start,
    repeated: repeats.find,
    send: (request) => Effect.flatMap(start({ ...request, stream: false }), (turn) => turn.reply),
    submitToolOutputs: (request) => admissions.admit(() => submit(request)).pipe(traced("Turns.submitToolOutputs")),
    decide: (request) => admissions.admit(() => decideCalls(request)).pipe(traced("Turns.decide")),
    approvals: waitingCalls,
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
      return yield* report(yield* findRun(threadId, runId))
    }),
    list: tracedFn("Turns.list")(function* (threadId: ThreadId, page: RunPage) {
      const { next, runs: listed } = yield* runs.list(threadId, page)
      if (listed.length === 0 && Option.isNone(yield* threads.get(threadId)))
        return yield* new ThreadNotFound({ threadId })
      return { runs: yield* Effect.forEach(listed, report), next }
    }),
    drain: admissions.drain
  })
})

/** A summary that covers what is taken back is gone with it. */
const placeBefore = (place: Place, takesBack: TakeBack | null): Place =>
  takesBack !== null && (place.summary?.throughSequence ?? 0) > takesBack.keeps ? { ...place, summary: null } : place

const runReport = (
  run: Run,
  plan: Pick<TurnPlan, "assistantVersion" | "ignored">,
  children: ReadonlyArray<ChildRun>,
  all: Run["usage"]
): RunReport => ({
  run: { ...run, usage: all },
  assistantVersion: plan.assistantVersion ?? null,
  ownUsage: withoutChildren(run.usage, children),
  ignored: plan.ignored,
  explanation: decodeExplanation(run.explanation)
})

export const turnsLayer: Layer.Layer<Turns, never, TurnPorts | AssistantStore | UsageLedger> = Layer.effect(
  Turns,
  makeTurns
).pipe(Layer.provide(turnServices))
