/**
 * *** How a message turn flows. *** Steps 5 to 8 are in `RunLeg`.
 *
 *     repeat     the turn that this idempotency key began, if there is one      `Workshop.findRepeated`
 *   1 admit      who asks, which thread; not while the kernel shuts down        `Admissions`, `Place`
 *   2 listen     parts turn what is not text into text                          `PartDecisions`
 *   3 decide     assistant + request + model + parts -> plan, or a refusal      `Decide`, `TurnPlan` (pure)
 *   4 write      the user's message and the run, one transaction                `WriteTurn`, `RunStore.begin`
 *
 * Nothing is stored before step 4, and nothing is refused after it. Tool outputs enter at step 5 with the stored plan (`ToolOutputs`).
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { traced, tracedFn } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import type { Catalog } from "../catalog/Catalog.ts"
import { chargeOutside } from "../metering/ChargeOutside.ts"
import { chatCredit } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import type { Providers } from "../models/Provider.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import { RunNotFound } from "../runs/Run.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import type { RunStore } from "../runs/RunStore.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedTools } from "../tools/HostedTool.ts"
import { cancelRun } from "./Cancellation.ts"
import { decide } from "./Decide.ts"
import { type Draft, endDraft, newDraft } from "./Draft.ts"
import { inspectRun } from "./InspectRun.ts"
import { decodeExplanation } from "./Settlement.ts"
import { isHeard } from "./PartDecisions.ts"
import { type Place, findPlace, removeNewPlace, storeNewPlace } from "./Place.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { submitToolOutputs } from "./ToolOutputs.ts"
import type { ShuttingDown } from "./TurnErrors.ts"
import { decodePlan } from "./TurnPlan.ts"
import type { ToolOutputsRequest, TurnRequest } from "./TurnRequest.ts"
import type { TurnParts } from "./TurnParts.ts"
import { type StartError, Turns } from "./TurnUseCases.ts"
import { makeWorkshop, type Workshop } from "./Workshop.ts"
import { writeTurn } from "./WriteTurn.ts"

export const turnsLayer: Layer.Layer<
  Turns,
  never,
  AssistantStore | ThreadStore | RunStore | Providers | Catalog | TurnParts | HostedTools | FollowUps | UsageLedger
> = Layer.effect(
  Turns,
  Effect.gen(function* () {
    const assistants = yield* AssistantStore
    const threads = yield* ThreadStore
    const ledger = yield* UsageLedger
    const workshop = yield* makeWorkshop

    const begin = Effect.fnUntraced(function* (request: TurnRequest) {
      const repeated = yield* workshop.findRepeated(request.idempotency)
      if (Option.isSome(repeated)) return repeated.value
      const place = yield* findPlace(assistants, workshop.embedding, request)
      const draft = yield* newDraft
      const rest = Effect.onError(decideAndWrite(request, place, draft), () => chargeUnstored(draft))
      const mayTell = request.stream === true && isHeard(workshop.parts(), request)
      return yield* mayTell ? streamWhatIsHeard(workshop, place, draft, rest) : rest
    })

    /** What hearing has cost is owed though the message was refused after it, and nothing of the turn is stored. */
    const chargeUnstored = ({ log }: Draft) =>
      chargeOutside(
        { ledger, metering: workshop.metering },
        null,
        log.events.flatMap((event) => (event._tag === "Charged" ? [event.charge] : []))
      ).pipe(Effect.catchCause((cause) => Effect.logError("What a refused message has cost was not recorded", cause)))

    const decideAndWrite = Effect.fnUntraced(function* (request: TurnRequest, place: Place, draft: Draft) {
      const decided = yield* decide(workshop, request, place, draft)
      if (request.sendToModel !== false) yield* workshop.metering.ensureCredit(chatCredit)
      return yield* Effect.uninterruptibleMask((restore) =>
        storeNewPlace(assistants, threads, place).pipe(
          Effect.andThen(writeTurn(workshop, { request, place, draft, ...decided }, restore)),
          Effect.tap((turn) =>
            turn.threadId === place.thread.id ? Effect.void : removeNewPlace(assistants, threads, place)
          ),
          Effect.onError(() => removeNewPlace(assistants, threads, place))
        )
      )
    })

    const start = (request: TurnRequest) => workshop.admit(begin(request)).pipe(traced("Turns.start"))

    const findRun = Effect.fnUntraced(function* (threadId: ThreadId, runId: RunId) {
      const run = yield* workshop.store.get(runId)
      if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
      return run.value
    })

    return Turns.of({
      start,
      repeated: workshop.findRepeated,
      send: (request) => Effect.flatMap(start({ ...request, stream: false }), (turn) => turn.reply),
      submitToolOutputs: (request: ToolOutputsRequest) =>
        workshop.admit(submitToolOutputs(workshop, request)).pipe(traced("Turns.submitToolOutputs")),
      cancel: tracedFn("Turns.cancel")(function* (threadId: ThreadId, runId: RunId) {
        yield* findRun(threadId, runId)
        yield* cancelRun(workshop, runId)
        return yield* findRun(threadId, runId)
      }),
      follow: tracedFn("Turns.follow")(function* (threadId: ThreadId, runId: RunId, after: number) {
        yield* findRun(threadId, runId)
        return yield* workshop.eventsOf(runId, after)
      }),
      report: tracedFn("Turns.report")(function* (threadId: ThreadId, runId: RunId) {
        const run = yield* findRun(threadId, runId)
        return { run, ignored: decodePlan(run.plan).ignored, explanation: decodeExplanation(run.explanation) }
      }),
      inspect: tracedFn("Turns.inspect")(function* (threadId: ThreadId, runId: RunId) {
        return yield* inspectRun(workshop, yield* findRun(threadId, runId))
      }),
      drain: workshop.drain
    })
  })
)

/**
 * The stream begins with what a part hears, before the message is written. The rest then goes on in the kernel, and a refusal is the
 * stream's end; while nothing was told, a refusal is a refusal.
 */
const streamWhatIsHeard = Effect.fnUntraced(function* <E extends StartError>(
  workshop: Workshop,
  place: Place,
  draft: Draft,
  rest: Effect.Effect<StartedTurn, E, Principal>
): Effect.fn.Return<StartedTurn, E | ShuttingDown, Principal> {
  const fiber = yield* Effect.forkIn(workshop.admit(rest), workshop.scope)
  const first = yield* Effect.raceFirst(
    Effect.as(Deferred.await(draft.told), null),
    Effect.onInterrupt(Fiber.join(fiber), () => (draft.log.events.length === 0 ? Fiber.interrupt(fiber) : Effect.void))
  )
  if (first !== null) return first
  fiber.addObserver((exit) => {
    if (Exit.isFailure(exit)) endDraft(draft, place, refusalOf(exit.cause))
  })
  const turn = { threadId: place.thread.id, assistantId: place.assistant.id, runId: draft.runId }
  return startedTurn(turn, yield* workshop.eventsOf(draft.runId, 0, draft.log), draft.log)
})

const refusalOf = (cause: Cause.Cause<StartError>) => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error?._tag === "TurnRefused")
    return { code: error.code ?? error.reason, message: error.message, retryable: false }
  if (error !== undefined) return { code: "not_stored", message: error.message, retryable: false }
  return { code: "interrupted", message: "The server was stopped. Nothing was stored; send it again.", retryable: true }
}
