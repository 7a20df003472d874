/**
 * The steps before a voice session: authentication, the first frame and its check, and the lease of the thread. All refusals come before
 * anything is created, and the lease is taken before the vendor is contacted.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { allows } from "../access/KeyScope.ts"
import { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import type { CreditNeed, InsufficientCredit } from "../metering/Metering.ts"
import { overLimit, Quotas } from "../metering/Quota.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import { newId, type OwnerId, RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import { HostedTools } from "../tools/HostedTool.ts"
import type { Place } from "../turns/Place.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import type { Credentials } from "./ClientSocket.ts"
import type { SessionRequest, SessionSettings } from "./Frames.ts"
import { withKept } from "./KeptSettings.ts"
import {
  type ModelSetup,
  type PreparedSession,
  type RealtimeModel,
  RealtimeModels,
  type SessionSetup
} from "./RealtimeModel.ts"
import type { SessionDoor } from "./SessionDoor.ts"
import { refuse, type SessionRefused } from "./SessionErrors.ts"
import { makeSessionFeatures } from "./SessionFeatures.ts"
import { audioPurpose } from "./SessionKeeper.ts"
import { millis, SessionLimits } from "./SessionLimits.ts"
import { SessionPlaces } from "./SessionPlace.ts"
import {
  changedSetup,
  historyProblem,
  type PlanRefused,
  planSession,
  type SessionPlan,
  spokenHistory
} from "./SessionPlan.ts"
import { type OpenOutcome, type SessionLease, SessionStore } from "./SessionStore.ts"
import { Tickets } from "./Tickets.ts"
import { WaitingSockets } from "./WaitingSockets.ts"

/** Native audio: the cost is not known before, and a host does not permit it on trial credit. */
export const audioCredit: CreditNeed = { purpose: audioPurpose, amountUsd: null }

export interface Caller {
  readonly ownerId: OwnerId
  /** A ticket is valid for one thread. */
  readonly threadId: string | null
}

/** The right to write the thread, and whether this session still has to release it. */
export interface Held {
  readonly lease: SessionLease
  isOurs: boolean
}

/** A session that is about to begin. */
export interface Opening {
  readonly request: SessionRequest
  readonly place: Place
  readonly plan: SessionPlan
  readonly prepared: PreparedSession
  /** Pure: what the model gets under other settings of the client, or why they are refused. */
  readonly setupWith: (settings: SessionSettings) => Result.Result<ModelSetup, string>
  readonly held: Held
  /** True: the customer pays the vendor directly. */
  readonly ownKey: boolean
}

export class SessionAdmission extends Context.Service<
  SessionAdmission,
  {
    readonly authorize: (credentials: Credentials) => Effect.Effect<Caller, SessionRefused | StoreUnavailable>
    /** Waits for the first frame; an owner may have only some connections that wait. */
    readonly firstFrame: (
      door: SessionDoor,
      caller: Caller,
      connectedAt: number
    ) => Effect.Effect<SessionRequest, SessionRefused>
    /** The thread is released when the scope closes, unless the session has released it. */
    readonly open: (
      request: SessionRequest,
      caller: Caller
    ) => Effect.Effect<Opening, SessionRefused | StoreUnavailable, Principal | Scope.Scope>
  }
>()("@colloquy/core/realtime/SessionAdmission") {
  static readonly layer: Layer.Layer<
    SessionAdmission,
    never,
    Tickets | RealtimeModels | SessionPlaces | SessionStore | HostedTools | TurnParts | Deadlines | QuotaStore
  > = Layer.effect(
    SessionAdmission,
    Effect.gen(function* () {
      const tickets = yield* Tickets
      const models = yield* RealtimeModels
      const places = yield* SessionPlaces
      const store = yield* SessionStore
      const deadlines = yield* Deadlines
      const providerKeys = yield* ProviderKeys
      const { credit } = yield* makeDayBudget
      const findQuota = yield* Quotas
      const limits = yield* SessionLimits
      const waiting = new WaitingSockets(limits.waitingOfOwner)
      const features = makeSessionFeatures({ hostTools: (yield* HostedTools).all, parts: (yield* TurnParts).all })

      const authorize = ({ origin, principal, ticket }: Credentials) => {
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
          Effect.catchTag(["InvalidKey", "TooManyFailedKeys"], ({ message }) =>
            Effect.fail(refuse("unauthorized", message))
          )
        )
      }

      const awaitFirstFrame = Effect.fnUntraced(function* (door: SessionDoor, connectedAt: number) {
        door.open()
        const left = connectedAt + millis(limits.firstFrame) - (yield* Clock.currentTimeMillis)
        const late = () => Effect.fail(refuse("first_frame_timeout", "The first frame did not come in time."))
        return yield* deadlines.within(Math.max(0, left), door.firstFrame, late)
      })

      const firstFrame = (door: SessionDoor, { ownerId }: Caller, connectedAt: number) =>
        waiting.hold(ownerId, awaitFirstFrame(door, connectedAt))

      const findModel = Effect.fnUntraced(function* (request: SessionRequest) {
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

      const findPlace = (request: SessionRequest, { threadId }: Caller) => {
        if (threadId !== null && request.threadId !== null && request.threadId !== threadId) {
          return Effect.fail(refuse("ticket_invalid", "The ticket is for another thread."))
        }
        const wanted = { threadId: threadId ?? request.threadId, assistantId: request.assistantId }
        return unknownPlace(places.find(wanted))
      }

      const takeThread = Effect.fnUntraced(function* ({ thread: { id: threadId } }: Place) {
        const sessionId = yield* newId(RunId)
        const quota = findQuota((yield* Principal).ownerId)
        const options = {
          lease: Duration.fromInputUnsafe(limits.lease),
          messages: limits.historyMessages,
          at: new Date(yield* Clock.currentTimeMillis),
          sessionsAtOnce: quota.sessionsAtOnce
        }
        const taken = yield* Effect.acquireRelease(
          Effect.map(store.open(threadId, sessionId, options), hold),
          (outcome) =>
            outcome._tag === "Held" && outcome.held.isOurs
              ? Effect.ignore(store.close(outcome.held.lease))
              : Effect.void
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

      const open = Effect.fnUntraced(function* (
        given: SessionRequest,
        caller: Caller
      ): Effect.fn.Return<Opening, SessionRefused | StoreUnavailable, Principal | Scope.Scope> {
        const model = yield* findModel(given)
        const place = yield* findPlace(given, caller)
        const request = withKept(given, place.thread.metadata)
        const info = model.models.find(({ name }) => name === request.model) ?? null
        const extras = yield* features.prepare(request, place, info).pipe(
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
          apiKey: yield* providerKeys.find(request.provider)
        }
        yield* refuseIf(historyProblem(0, [], (yield* prepare(model, setup)).instructions, limits))
        yield* Effect.catchTag(credit(audioCredit, place.assistant.id), "InsufficientCredit", withoutCredit)
        yield* unknownPlace(places.store(place))
        const { held, messages, total } = yield* Effect.onError(takeThread(place), () => places.remove(place))
        const history = spokenHistory(messages, place.summary)
        const covered = place.summary?.throughSequence ?? 0
        const seeded = { ...setup, history }
        const prepared = yield* prepare(model, seeded)
        yield* refuseIf(historyProblem(total - covered, history, prepared.instructions, limits))
        const setupWith = (settings: SessionSettings) =>
          changedSetup({ ...request, systemPrompt: null, tools: null, ...settings }, place, extras, limits)
        return { request, place, plan, prepared, setupWith, held, ownKey: setup.apiKey !== null }
      })

      return SessionAdmission.of({ authorize, firstFrame, open })
    })
  )
}

const withoutCredit = ({ message }: InsufficientCredit) => Effect.fail(refuse("insufficient_credit", message))

const refuseIf = (problem: PlanRefused | null): Effect.Effect<void, SessionRefused> =>
  problem === null ? Effect.void : Effect.fail(refuse(problem.code, problem.message))

const orRefuse = <A>(result: Result.Result<A, PlanRefused>): Effect.Effect<A, SessionRefused> =>
  Result.isSuccess(result)
    ? Effect.succeed(result.success)
    : Effect.fail(refuse(result.failure.code, result.failure.message))

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

const hold = (outcome: OpenOutcome) => {
  if (outcome._tag !== "Opened") return outcome
  const held: Held = { lease: outcome.lease, isOurs: true }
  return { _tag: "Held" as const, held, messages: outcome.messages, total: outcome.total }
}

const conflicts = {
  session: "Another realtime session writes this thread. End it first.",
  run: "A run is active on this thread. Wait until it has ended, or cancel it."
}
