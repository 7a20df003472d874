/**
 * A voice session from beginning to end: authentication, first frame, its check, the lease of the thread, the vendor, `session.begin`,
 * relay, stop, saving, `session.ended`. In every case the client gets one ending, the thread is released, and conversation and usage are
 * stored. Specification part 4, "Realtime session".
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { traced } from "../primitives/Traced.ts"
import { allows } from "../access/KeyScope.ts"
import { Principal } from "../access/Principal.ts"
import type { ProviderKeysPort } from "../access/ProviderKeys.ts"
import type { Charge } from "../metering/Charge.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import type { EnsureCredit } from "../metering/DayBudget.ts"
import type { CreditNeed, InsufficientCredit, MeteringPort } from "../metering/Metering.ts"
import type { EndCharge } from "../metering/PaidCall.ts"
import { overLimit, type Quotas } from "../metering/Quota.ts"
import type { UsageLedger } from "../metering/UsageLedger.ts"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import type { DeadlinesPort } from "../primitives/Deadlines.ts"
import { MessageId, newId, type OwnerId, RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { totalTokens, type Usage } from "../primitives/Usage.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedCall } from "../tools/HostedTool.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { answererOf, runHosted } from "../turns/HostedCalls.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { TurnSettings } from "../turns/TurnSettings.ts"
import type { Credentials } from "./ClientSocket.ts"
import type { CloseReason, ErrorCode, ServiceEvent, SessionRequest } from "./Frames.ts"
import type {
  PreparedSession,
  RealtimeModel,
  RealtimeModels,
  SessionSetup,
  VendorUnavailable
} from "./RealtimeModel.ts"
import type { SessionDoor } from "./SessionDoor.ts"
import { SessionRefused } from "./SessionErrors.ts"
import type { SessionFeatures } from "./SessionFeatures.ts"
import { audioPurpose, makeSessionKeeper, type SessionKeeper } from "./SessionKeeper.ts"
import { millis, type SessionLimits } from "./SessionLimits.ts"
import type { SessionPlaces } from "./SessionPlace.ts"
import type { Place } from "../turns/Place.ts"
import { historyProblem, type PlanRefused, planSession, type SessionPlan, spokenHistory } from "./SessionPlan.ts"
import { makeRelay, type Relay } from "./SessionRelay.ts"
import type { Ending, Input } from "./SessionState.ts"
import type { WaitingSockets } from "./WaitingSockets.ts"
import type { OpenOutcome, SessionLease, SessionStore } from "./SessionStore.ts"
import type { Tickets } from "./Tickets.ts"

/** The services that every session of a kernel uses. */
export interface SessionServices {
  readonly tickets: typeof Tickets.Service
  readonly waiting: WaitingSockets
  readonly models: typeof RealtimeModels.Service
  readonly places: typeof SessionPlaces.Service
  readonly store: typeof SessionStore.Service
  readonly features: SessionFeatures
  /** Called after follow-ups were stored. */
  readonly wakeFollowUps: () => void
  readonly providerKeys: ProviderKeysPort
  readonly quotaOf: typeof Quotas.Service
  readonly ledger: typeof UsageLedger.Service
  readonly metering: MeteringPort
  readonly dayBudget: { readonly budget: EnsureCredit; readonly credit: EnsureCredit }
  readonly threads: typeof ThreadStore.Service
  readonly counter: TokenCounterPort
  readonly limits: SessionLimits
  readonly turnSettings: TurnSettings
  readonly deadlines: DeadlinesPort
  /** Includes the session in the common ticks and lease renewals while the scope is open. */
  readonly register: (session: OpenSession) => Effect.Effect<void, never, Scope.Scope>
  readonly wakeAt: (time: number) => void
  /** Stores later what could not be saved in time, and releases the thread afterwards. */
  readonly finishLater: (lease: SessionLease, keeper: SessionKeeper) => Effect.Effect<void, never, Principal>
}

export interface OpenSession {
  readonly lease: SessionLease
  readonly relay: Relay
}

/** Native audio: the cost is not known before, and a host does not permit it on trial credit. */
const audioCredit: CreditNeed = { purpose: audioPurpose, amountUsd: null }

/** The last events and the close of a connection. */
interface Farewell {
  readonly events: ReadonlyArray<ServiceEvent>
  readonly close: CloseReason
}

export const serveSession = (
  services: SessionServices,
  door: SessionDoor,
  credentials: Credentials
): Effect.Effect<void> =>
  converse(services, door, credentials).pipe(
    Effect.catchTag("SessionRefused", ({ close, code, reason }) => Effect.succeed(failed(code, reason, close))),
    Effect.catchTag("StoreUnavailable", ({ isErasing, message }) =>
      Effect.succeed(
        isErasing === true
          ? failed("session_conflict", message, "refused")
          : failed("internal_error", "The service cannot reach its store. Try again.", "fault")
      )
    ),
    Effect.raceFirst(Effect.map(door.left, ({ close, error }) => farewellOf(error, ended(0, false), close))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.succeed<Farewell>({ events: [ended(0, false)], close: "shutdown" })
        : Effect.as(
            Effect.logError("A voice session ended in a defect", cause),
            failed(
              "internal_error",
              "The session failed inside the service. Its operator finds the cause in the log.",
              "fault"
            )
          )
    ),
    Effect.map(({ close, events }) => {
      for (const event of events) door.socket.send(event)
      door.socket.close(close)
    }),
    traced("RealtimeSession")
  )

const farewellOf = (error: Ending["error"], words: ServiceEvent, close: CloseReason): Farewell => ({
  events: [error === null ? words : { _tag: "Error", ...error }],
  close
})

const failed = (code: ErrorCode, message: string, close: CloseReason): Farewell => ({
  events: [{ _tag: "Error", code, message }],
  close
})

const refuse = (code: ErrorCode, reason: string) => new SessionRefused({ code, reason })

const converse = Effect.fnUntraced(function* (services: SessionServices, door: SessionDoor, credentials: Credentials) {
  const connectedAt = yield* Clock.currentTimeMillis
  const caller = yield* authorize(services, credentials)
  credentials.onKnown?.()
  const request = yield* services.waiting.hold(
    caller.ownerId,
    Effect.suspend(() => {
      door.open()
      return firstFrame(services, door, connectedAt)
    })
  )
  return yield* Effect.scoped(converseAs(services, door, request, caller)).pipe(
    Effect.provideService(Principal, { ownerId: caller.ownerId })
  )
})

interface Caller {
  readonly ownerId: OwnerId
  /** A ticket is valid for one thread. */
  readonly threadId: string | null
}

const authorize = ({ tickets }: SessionServices, { origin, principal, ticket }: Credentials) => {
  if (ticket !== null) {
    return tickets.redeem(ticket, origin).pipe(
      Effect.map(({ ownerId, threadId }): Caller => ({ ownerId, threadId })),
      Effect.catchTag("TicketInvalid", ({ message }) => Effect.fail(refuse("ticket_invalid", message))),
      Effect.catchTag("OriginMismatch", ({ message }) => Effect.fail(refuse("origin_mismatch", message)))
    )
  }
  return principal.pipe(
    Effect.flatMap((found): Effect.Effect<Caller, SessionRefused> =>
      allows(found, "write")
        ? Effect.succeed({ ownerId: found.ownerId, threadId: null })
        : Effect.fail(refuse("forbidden", "A voice session needs a key with the scope write."))
    ),
    Effect.catchTag(["InvalidKey", "TooManyFailedKeys"], ({ message }) => Effect.fail(refuse("unauthorized", message)))
  )
}

const firstFrame = Effect.fnUntraced(function* (services: SessionServices, door: SessionDoor, connectedAt: number) {
  const left = connectedAt + millis(services.limits.firstFrame) - (yield* Clock.currentTimeMillis)
  const late = () => Effect.fail(refuse("first_frame_timeout", "The first frame did not come in time."))
  return yield* services.deadlines.within(Math.max(0, left), door.firstFrame, late)
})

/** All refusals come before anything is created, and the lease of the thread is taken before the vendor is contacted. */
const converseAs = Effect.fnUntraced(function* (
  services: SessionServices,
  door: SessionDoor,
  request: SessionRequest,
  caller: Caller
) {
  const model = yield* findModel(services, request)
  const place = yield* findPlace(services, request, caller)
  const info = model.models.find(({ name }) => name === request.model) ?? null
  const extras = yield* services.features.prepare(request, place, info).pipe(
    Effect.catchTag("FeatureRefused", ({ reason }) => Effect.fail(refuse("invalid_first_frame", reason))),
    Effect.catchTag("InsufficientCredit", withoutCredit)
  )
  const plan = yield* orRefuse(planSession(request, place, extras))
  const setup: SessionSetup = {
    model: request.model,
    instructions: plan.instructions,
    tools: plan.tools,
    options: request.providerOptions,
    history: [],
    apiKey: yield* services.providerKeys.find(request.provider)
  }
  yield* refuseIf(historyProblem(0, [], (yield* prepare(model, setup)).instructions, services.limits))
  yield* Effect.catchTag(services.dayBudget.credit(audioCredit), "InsufficientCredit", withoutCredit)
  yield* unknownPlace(services.places.store(place))
  const { held, messages, total } = yield* takeThread(services, place)
  const history = spokenHistory(messages, place.summary)
  const covered = place.summary?.throughSequence ?? 0
  const seeded = { ...setup, history }
  const prepared = yield* prepare(model, seeded)
  yield* refuseIf(historyProblem(total - covered, history, prepared.instructions, services.limits))
  return yield* relaySession({ services, door, request, place, plan, prepared, held, ownKey: setup.apiKey !== null })
})

const withoutCredit = ({ message }: InsufficientCredit) => Effect.fail(refuse("insufficient_credit", message))

const refuseIf = (problem: PlanRefused | null): Effect.Effect<void, SessionRefused> =>
  problem === null ? Effect.void : Effect.fail(refuse(problem.code, problem.message))

const orRefuse = <A>(result: Result.Result<A, PlanRefused>): Effect.Effect<A, SessionRefused> =>
  Result.isSuccess(result)
    ? Effect.succeed(result.success)
    : Effect.fail(refuse(result.failure.code, result.failure.message))

const findModel = ({ models }: SessionServices, request: SessionRequest) =>
  Effect.gen(function* () {
    const model = models.find(request.provider)
    if (model === undefined) {
      return yield* models.known.has(request.provider)
        ? refuse("provider_unavailable", "This provider is not configured on this service.")
        : refuse("invalid_first_frame", `provider must be one of ${[...models.known].join(", ")}.`)
    }
    const names = model.models.map(({ name }) => name)
    if (names.includes(request.model)) return model
    return yield* refuse("model_mismatch", `This provider has the models ${names.join(", ") || "(none)"}.`)
  })

const findPlace = (services: SessionServices, request: SessionRequest, { threadId }: Caller) => {
  if (threadId !== null && request.threadId !== null && request.threadId !== threadId) {
    return Effect.fail(refuse("ticket_invalid", "The ticket is for another thread."))
  }
  const wanted = { threadId: threadId ?? request.threadId, assistantId: request.assistantId }
  return unknownPlace(services.places.find(wanted))
}

const unknownPlace = <A, R>(
  self: Effect.Effect<A, ThreadNotFound | AssistantNotFound | StoreUnavailable, R>
): Effect.Effect<A, SessionRefused | StoreUnavailable, R> =>
  self.pipe(
    Effect.catchTag("ThreadNotFound", ({ message }) => Effect.fail(refuse("thread_not_found", message))),
    Effect.catchTag("AssistantNotFound", ({ message }) => Effect.fail(refuse("assistant_not_found", message)))
  )

const prepare = (model: RealtimeModel, setup: SessionSetup): Effect.Effect<PreparedSession, SessionRefused> => {
  const prepared = model.prepare(setup)
  return Result.isSuccess(prepared)
    ? Effect.succeed(prepared.success)
    : Effect.fail(refuse(prepared.failure.code, prepared.failure.reason))
}

/** The right to write the thread, and whether this session still has to release it. */
interface Held {
  readonly lease: SessionLease
  isOurs: boolean
}

const takeThread = Effect.fnUntraced(function* (
  { limits, quotaOf, store }: SessionServices,
  { thread: { id: threadId } }: Place
) {
  const sessionId = yield* newId(RunId)
  const quota = quotaOf((yield* Principal).ownerId)
  const options = {
    lease: Duration.fromInputUnsafe(limits.lease),
    messages: limits.historyMessages,
    at: new Date(yield* Clock.currentTimeMillis),
    sessionsAtOnce: quota.sessionsAtOnce
  }
  const taken = yield* Effect.acquireRelease(Effect.map(store.open(threadId, sessionId, options), hold), (outcome) =>
    outcome._tag === "Held" && outcome.held.isOurs ? Effect.ignore(store.close(outcome.held.lease)) : Effect.void
  )
  switch (taken._tag) {
    case "Held":
      return taken
    case "Conflict":
      return yield* refuse("session_conflict", conflicts[taken.by])
    case "OverLimit":
      return yield* refuse("session_limit", overLimit(taken.refusal, quota, options.at.getTime()).message)
    case "ThreadMissing":
      return yield* refuse("thread_not_found", `There is no thread ${threadId}.`)
  }
})

const hold = (outcome: OpenOutcome) => {
  if (outcome._tag !== "Opened") return outcome
  const held: Held = { lease: outcome.lease, isOurs: true }
  return { _tag: "Held" as const, held, messages: outcome.messages, total: outcome.total }
}

const conflicts = {
  session: "Another realtime session writes this thread. End it first.",
  run: "A run is active on this thread. Wait until it has ended, or cancel it."
}

interface Opening {
  readonly services: SessionServices
  readonly door: SessionDoor
  readonly request: SessionRequest
  readonly place: Place
  readonly plan: SessionPlan
  readonly prepared: PreparedSession
  readonly held: Held
  /** True: the customer pays the vendor directly. */
  readonly ownKey: boolean
}

const relaySession = Effect.fnUntraced(function* (opening: Opening) {
  const { door, held, prepared, request, services } = opening
  const clock = yield* Clock.Clock
  const over = Deferred.makeUnsafe<Ending>()
  const tools = yield* hostedRuns(opening, {
    input: (input) => relay.input(input),
    kept: (toolCallId, part) => relay.kept(toolCallId, part),
    spend: (charge) => keeper.spend(charge)
  })
  const relay = makeRelay(door.socket, termsOf(opening), {
    now: () => clock.currentTimeMillisUnsafe(),
    wakeAt: services.wakeAt,
    runHosted: tools.start,
    stopHosted: tools.stop,
    save: () => keeper.wake(),
    charge: (usage) => keeper.charge(usage),
    end: (ending) => Deferred.doneUnsafe(over, Effect.succeed(ending))
  })
  const { lease } = held
  const { counter, metering, store } = services
  const { model, provider } = request
  const { assistantId, id: threadId } = opening.place.thread
  const keeper = makeSessionKeeper({
    store,
    metering,
    counter,
    lease,
    provider,
    model,
    source: relay,
    followUpsOf: (id, messageIds) => opening.plan.followUps({ id, messageIds, assistantId, threadId }),
    onFollowUps: services.wakeFollowUps,
    onCharged: Effect.catchTags(services.dayBudget.budget(audioCredit), {
      InsufficientCredit: ({ message }) =>
        Effect.sync(() => {
          const ending = { error: { code: "insufficient_credit", message }, close: "refused" } as const
          relay.input({ _tag: "Ended", ending, atOnce: false })
        }),
      StoreUnavailable: () => Effect.void
    })
  })
  yield* services.register({ lease, relay })
  door.handOver(relay.fromClient, (ending) => relay.input({ _tag: "Ended", ending, atOnce: false }))
  const keeping = yield* keeper.keep.pipe(
    Effect.andThen(Effect.sync(() => relay.input(lostLease))),
    Effect.forkScoped({ startImmediately: true })
  )
  const talk = Effect.gen(function* () {
    relay.attach(yield* prepared.connect(relay.vendor))
    return yield* Deferred.await(over)
  })
  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(restore(Effect.raceFirst(Effect.scoped(talk), Deferred.await(over))))
      const ending = yield* endingOf(exit)
      relay.input({ _tag: "Ended", ending, atOnce: true })
      yield* tools.stopAll
      yield* Fiber.interrupt(keeping)
      return yield* farewell(opening, relay, keeper, ending)
    })
  )
})

export const lostLease = {
  _tag: "Ended",
  ending: {
    error: { code: "session_conflict", message: "The thread was deleted, or another session has taken it." },
    close: "fault"
  },
  atOnce: true
} as const

const termsOf = ({ held, place, plan, prepared, request, services }: Opening) => ({
  limits: services.limits,
  hosted: new Set(plan.hosted.map(({ tool }) => tool.definition.name)),
  canCancel: prepared.canCancel,
  begin: {
    sessionId: held.lease.sessionId,
    threadId: place.thread.id,
    assistantId: place.assistant.id,
    inputFormat: prepared.inputFormat,
    outputFormat: prepared.outputFormat,
    provider: request.provider,
    model: request.model
  }
})

const endingOf = (exit: Exit.Exit<Ending, VendorUnavailable>): Effect.Effect<Ending> => {
  if (Exit.isSuccess(exit)) return Effect.succeed(exit.value)
  const failure = Cause.findErrorOption(exit.cause)
  if (failure._tag === "Some") {
    return Effect.succeed({ error: { code: failure.value.code, message: failure.value.reason }, close: "fault" })
  }
  if (Cause.hasInterruptsOnly(exit.cause)) return Effect.succeed({ error: null, close: "shutdown" })
  return Effect.as(Effect.logError("A voice session ended in a defect", exit.cause), {
    error: {
      code: "internal_error",
      message: "The session failed inside the service. Its operator finds the cause in the log."
    },
    close: "fault"
  })
}

/** Saves what is left, releases the thread, and determines the last events. */
const farewell = Effect.fnUntraced(function* (
  { held, ownKey, services }: Opening,
  relay: Relay,
  keeper: SessionKeeper,
  { close, error }: Ending
) {
  const saved = yield* repeatWhileUnavailable(keeper.flush, services.limits.saving).pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.succeed("away" as const))
  )
  held.isOurs = false
  if (saved === "away") {
    yield* services.finishLater(held.lease, keeper)
    return failed(
      "history_incomplete",
      "The end of the conversation is not stored yet. It will be, when the store answers.",
      "fault"
    )
  }
  if (saved === "lost")
    return failed("history_incomplete", "The thread is gone or taken: the end is not stored.", "fault")
  yield* Effect.ignore(services.store.close(held.lease))
  if (keeper.owes()) {
    return failed("billing_pending", "The usage is stored, but not charged yet. It will be later.", "fault")
  }
  return farewellOf(error, endedWith(relay.usage(), ownKey), close)
})

const endedWith = (usage: Usage, ownKey: boolean): ServiceEvent =>
  ended(
    // A session without any answer costs nothing; one whose usage the vendor did not report costs nobody knows what.
    totalTokens(usage) === 0 && !usage.estimated && usage.costUsd === null ? 0 : usage.costUsd,
    usage.estimated || (totalTokens(usage) > 0 && usage.costUsd === null),
    ownKey
  )

/** Native audio is charged at the vendor's price; customers with a key of their own pay the vendor directly. */
const ended = (costUsd: number | null, reconciliationRequired: boolean, ownKey = false): ServiceEvent => ({
  _tag: "SessionEnded",
  providerCostUsd: costUsd,
  chargedUsd: ownKey ? 0 : costUsd,
  reconciliationRequired
})

/** What hosted calls need of the session. */
interface CallSurroundings {
  readonly input: (input: Input) => void
  readonly kept: (toolCallId: string, part: string) => Schema.Json | null
  readonly spend: (charge: Charge) => void
}

/** Runs the hosted calls of a session in parallel, each in a fiber that can be stopped. */
const hostedRuns = Effect.fnUntraced(function* (
  { held, place, plan, request, services }: Opening,
  { input, kept, spend }: CallSurroundings
) {
  const run = Effect.runForkWith(yield* Effect.context<Principal>())
  const running = new Map<string, Fiber.Fiber<void>>()
  const tools = new Map(plan.hosted.map((offered) => [offered.tool.definition.name, offered]))
  const { assistantId, id: threadId } = place.thread
  const outputOf = (call: ToolCall) => {
    const answerer = answererOf(call, new Set(), tools, true)
    if (answerer._tag !== "Hosted") return Effect.succeed(answerer._tag === "Refused" ? answerer.output : "")
    const { part } = answerer
    const toolCallId = call.id
    const from: HostedCall = {
      toolCallId,
      threadId,
      assistantId,
      runId: held.lease.sessionId,
      answerId: MessageId.make(held.lease.sessionId),
      // A spoken conversation has no single message that a tool call belongs to.
      content: "",
      metadata: null,
      provider: request.provider,
      model: request.model,
      tell: ({ data, type }) => {
        if (type === mediaGenerated && isObject(data)) input({ _tag: "MediaMade", toolCallId, media: [data] })
      },
      keep: (value) => input({ _tag: "Kept", toolCallId, part, value }),
      kept: () => kept(toolCallId, part),
      spend,
      // What it cost is stored with the session, soon after its end.
      beginCharge: (payee) =>
        beginOutside(
          services,
          null
        )(payee).pipe(
          Effect.map((end): EndCharge => (charges) => {
            charges.forEach(spend)
            return Effect.ignore(end([]))
          }),
          Effect.catchTag("StoreUnavailable", () =>
            Effect.succeed<EndCharge>((charges) => Effect.sync(() => charges.forEach(spend)))
          )
        ),
      journal: (fields) => Effect.asVoid(services.threads.mergeMetadata(threadId, fields)),
      ensureCredit: (need) => services.dayBudget.credit(need)
    }
    return runHosted(answerer.tool, answerer.args, from, {
      deadlines: services.deadlines,
      settings: services.turnSettings
    })
  }
  const stop = (ids: ReadonlyArray<string>): void => {
    for (const id of ids) running.get(id)?.interruptUnsafe()
  }
  return {
    start: (call: ToolCall): void => {
      // What a call tells is decided separately, after the decision that started the call.
      const answered = Effect.andThen(
        Effect.yieldNow,
        Effect.map(outputOf(call), (output) => {
          running.delete(call.id)
          input({ _tag: "HostedDone", toolCallId: call.id, output })
        })
      )
      running.set(call.id, run(answered))
    },
    stop,
    stopAll: Effect.sync(() => stop([...running.keys()]))
  }
})

/** The event by which a part announces a medium, as in a turn. */
const mediaGenerated = "media_generated"

const isObject = Schema.is(Schema.JsonObject)
