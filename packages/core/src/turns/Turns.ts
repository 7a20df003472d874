/**
 * *** How a message turn flows. *** Steps 5 to 8 are in `RunLeg`.
 *
 *     repeat     join the turn that this idempotency key began, if any          `Repeats`
 *   1 admit      find assistant and thread; refuse while shutting down          `Admissions`, `Place`
 *   2 listen     parts turn audio and other input into text                     `PartDecisions`, `EarlyStream`
 *   3 decide     make a plan from assistant, request, model and parts           `Decide`, `TurnPlan` (pure)
 *   4 write      store the user's message and the run, in one transaction       `WriteTurn`, `QueueTurn`, `RunStore.begin`
 *
 * Nothing is stored before step 4, and nothing is refused after it. Tool outputs enter at step 5 with the stored plan (`ToolOutputs`).
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { embeddingFor } from "../assistants/AssistantFields.ts"
import { DefaultEmbedding } from "../assistants/Assistants.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { chargeOutside } from "../metering/ChargeOutside.ts"
import { chatCredit, Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { type Run, RunNotFound } from "../runs/Run.ts"
import { type RunPage, RunStore } from "../runs/RunStore.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { Admissions } from "./Admissions.ts"
import { Cancellation } from "./Cancellation.ts"
import { Decide } from "./Decide.ts"
import { type Draft, newDraft } from "./Draft.ts"
import { EarlyStream } from "./EarlyStream.ts"
import { Followers } from "./Followers.ts"
import { InspectRun } from "./InspectRun.ts"
import { isHeard } from "./PartDecisions.ts"
import { KnownPlaces } from "./KnownPlaces.ts"
import { findPlace, type Place, PlaceOutdated, removeNewPlace, storeNewPlace } from "./Place.ts"
import { Repeats } from "./Repeats.ts"
import { decodeExplanation } from "./Settlement.ts"
import { ToolOutputs } from "./ToolOutputs.ts"
import { TurnModels } from "./TurnModels.ts"
import { TurnParts } from "./TurnParts.ts"
import { decodePlan } from "./TurnPlan.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import { type TurnPorts, turnServices } from "./TurnServices.ts"
import { type RunReport, Turns } from "./TurnUseCases.ts"
import { WriteTurn } from "./WriteTurn.ts"

const makeTurns = Effect.gen(function* () {
  const assistants = yield* AssistantStore
  const threads = yield* ThreadStore
  const runs = yield* RunStore
  const ledger = yield* UsageLedger
  const metering = yield* Metering
  const parts = yield* TurnParts
  const embedding = embeddingFor(yield* DefaultEmbedding, (yield* TurnModels).all)
  const repeats = yield* Repeats
  const admissions = yield* Admissions
  const places = yield* KnownPlaces
  const earlyStream = yield* EarlyStream
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
    const known = yield* knownPlaceOf(request)
    if (known === undefined) return yield* beginAnew(request)
    return yield* decideAndWrite(request, known, yield* newDraft(ledger)).pipe(
      Effect.tapError(() => places.forget(known.thread.id)),
      Effect.catchTag("PlaceOutdated", () => beginAnew(request))
    )
  })

  /**
   * A turn whose message a part hears never uses a remembered place: if the place were outdated, the part would hear the message twice, and
   * hearing costs money.
   */
  const knownPlaceOf = (request: TurnRequest) =>
    request.threadId === undefined || isHeard(parts.all(), request)
      ? Effect.succeed(undefined)
      : places.find(request.threadId)

  const beginAnew = Effect.fnUntraced(function* (request: TurnRequest) {
    const place = yield* findPlace(assistants, embedding, request)
    const draft = yield* newDraft(ledger)
    const rest = decideAndWrite(request, place, draft).pipe(
      Effect.catchTag("PlaceOutdated", (impossible) => Effect.die(impossible)),
      Effect.onError(() => chargeUnstored(draft)),
      Effect.ensuring(endBegun(draft))
    )
    const mayTell = request.stream === true && isHeard(parts.all(), request)
    return yield* mayTell ? earlyStream.begin(place, draft, rest) : rest
  })

  const decideAndWrite = Effect.fnUntraced(function* (request: TurnRequest, place: Place, draft: Draft) {
    const decided = yield* place.isKnown
      ? Effect.mapError(decide(request, place, draft), () => new PlaceOutdated())
      : decide(request, place, draft)
    if (request.sendToModel !== false) yield* metering.ensureCredit(chatCredit)
    return yield* Effect.uninterruptibleMask((restore) =>
      storeNewPlace(assistants, threads, place).pipe(
        Effect.andThen(write({ request, place, draft, ...decided }, restore)),
        Effect.tap(() => places.keep(place)),
        Effect.tap((turn) =>
          turn.threadId === place.thread.id ? Effect.void : removeNewPlace(assistants, threads, place)
        ),
        Effect.onError(() => removeNewPlace(assistants, threads, place))
      )
    )
  })

  /** Listening has a cost even if the message is refused afterwards and nothing of the turn is stored. */
  const chargeUnstored = ({ log }: Draft) =>
    chargeOutside(
      { ledger, metering },
      null,
      log.events.flatMap((event) => (event._tag === "Charged" ? [event.charge] : []))
    ).pipe(Effect.catchCause((cause) => Effect.logError("The cost of a refused message was not recorded", cause)))

  /** The charges of these calls are stored with the run, or were written for the refused message. */
  const endBegun = ({ begun }: Draft) =>
    Effect.suspend(() => Effect.forEach(begun, (id) => ledger.add(id, []), { discard: true })).pipe(
      Effect.catchCause((cause) =>
        Effect.logWarning("A call of a listening part is charged twice, once as unknown", cause)
      )
    )

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
