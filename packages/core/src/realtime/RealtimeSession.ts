/**
 * A voice session from beginning to end: authentication, first frame, its check, the lease of the thread, the vendor, `session.begin`,
 * relay, stop, saving, `session.ended`. In every case the client gets one ending, the thread is released, and conversation and usage are
 * stored.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Principal } from "../access/Principal.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { traced } from "../primitives/Traced.ts"
import { totalTokens, type Usage } from "../primitives/Usage.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { Credentials } from "./ClientSocket.ts"
import type { CloseReason, ErrorCode, ServiceEvent } from "./Frames.ts"
import { lostLease, OpenSessions } from "./OpenSessions.ts"
import type { VendorUnavailable } from "./RealtimeModel.ts"
import { settingsFields } from "./KeptSettings.ts"
import { audioCredit, type Opening, SessionAdmission } from "./SessionAdmission.ts"
import type { SessionDoor } from "./SessionDoor.ts"
import { makeSessionKeeper, type SessionKeeper } from "./SessionKeeper.ts"
import { SessionLimits } from "./SessionLimits.ts"
import { makeRelay, type Relay } from "./SessionRelay.ts"
import type { Ending, SessionTerms } from "./SessionSteps.ts"
import { SessionStore } from "./SessionStore.ts"
import { SessionTools } from "./SessionTools.ts"

/** The last events and the close of a connection. */
interface Farewell {
  readonly events: ReadonlyArray<ServiceEvent>
  readonly close: CloseReason
}

export class RealtimeSession extends Context.Service<
  RealtimeSession,
  { readonly serve: (door: SessionDoor, credentials: Credentials) => Effect.Effect<void> }
>()("@colloquy/core/realtime/RealtimeSession") {
  static readonly layer: Layer.Layer<
    RealtimeSession,
    never,
    SessionAdmission | SessionTools | OpenSessions | SessionStore | ThreadStore | FollowUps | QuotaStore | UsageLedger
  > = Layer.effect(
    RealtimeSession,
    Effect.gen(function* () {
      const admission = yield* SessionAdmission
      const hostedTools = yield* SessionTools
      const open = yield* OpenSessions
      const store = yield* SessionStore
      const threads = yield* ThreadStore
      const ledger = yield* UsageLedger
      const { wake: wakeFollowUps } = yield* FollowUps
      const metering = yield* Metering
      const dayBudget = yield* makeDayBudget
      const counter = yield* TokenCounter
      const limits = yield* SessionLimits
      const scope = yield* Effect.scope

      const serve = (door: SessionDoor, credentials: Credentials): Effect.Effect<void> =>
        converse(door, credentials).pipe(
          Effect.catchTag("SessionRefused", ({ close, code, reason }) => Effect.succeed(failed(code, reason, close))),
          Effect.catchTag("StoreUnavailable", ({ isErasing, message }) =>
            Effect.succeed(
              isErasing === true
                ? failed("session_conflict", message, "refused")
                : failed("internal_error", "The service cannot reach its store. Try again.", "fault")
            )
          ),
          Effect.raceFirst(Effect.map(door.left, ({ close, error }) => makeFarewell(error, ended(0, false), close))),
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

      const converse = Effect.fnUntraced(function* (door: SessionDoor, credentials: Credentials) {
        const connectedAt = yield* Clock.currentTimeMillis
        const caller = yield* admission.authorize(credentials)
        credentials.onKnown?.()
        const request = yield* admission.firstFrame(door, caller, connectedAt)
        const session = Effect.flatMap(admission.open(request, caller), (opening) => relaySession(opening, door))
        return yield* Effect.scoped(session).pipe(Effect.provideService(Principal, { ownerId: caller.ownerId }))
      })

      const relaySession = Effect.fnUntraced(function* (opening: Opening, door: SessionDoor) {
        const { held, prepared, request } = opening
        const clock = yield* Clock.Clock
        const over = Deferred.makeUnsafe<Ending>()
        const tools = yield* hostedTools.begin(opening, {
          input: (input) => relay.input(input),
          kept: (toolCallId, part) => relay.kept(toolCallId, part),
          spend: (charge) => keeper.spend(charge)
        })
        const relay = makeRelay(door.socket, sessionTerms(opening, limits), {
          now: () => clock.currentTimeMillisUnsafe(),
          wakeAt: open.wakeAt,
          runHosted: tools.start,
          decideHosted: tools.decide,
          stopHosted: tools.stop,
          save: () => keeper.wake(),
          keepSettings: (settings) => keeper.keepSettings(settings),
          charge: (usage) => keeper.charge(usage),
          end: (ending) => Deferred.doneUnsafe(over, Effect.succeed(ending))
        })
        const { lease } = held
        const { model, provider } = request
        const { assistantId, id: threadId } = opening.place.thread
        const keeper = makeSessionKeeper({
          store,
          ledger,
          metering,
          counter,
          lease,
          provider,
          model,
          assistant: { id: opening.place.assistant.id, version: opening.place.assistant.version },
          source: relay,
          orderFollowUps: (id, messageIds) => opening.plan.followUps({ id, messageIds, assistantId, threadId }),
          storeSettings: (settings) => Effect.asVoid(threads.mergeMetadata(threadId, settingsFields(settings))),
          onSettings: () => relay.input({ _tag: "ChangeKept" }),
          onFollowUps: wakeFollowUps,
          onCharged: Effect.catchTags(dayBudget.budget(audioCredit, assistantId), {
            InsufficientCredit: ({ message }) =>
              Effect.sync(() => {
                const end = { error: { code: "insufficient_credit", message }, close: "refused" } as const
                relay.input({ _tag: "Ended", ending: end, atOnce: false })
              }),
            StoreUnavailable: () => Effect.void
          })
        })
        if (request.kept !== undefined && Object.keys(request.kept).length > 0) keeper.keepSettings(request.kept)
        yield* open.register({ lease, relay })
        door.handOver(relay.fromClient, (ending) => relay.input({ _tag: "Ended", ending, atOnce: false }))
        const keeping = yield* keeper.keep.pipe(
          Effect.andThen(Effect.sync(() => relay.input(lostLease))),
          Effect.forkScoped({ startImmediately: true })
        )
        const talk = Effect.suspend(() => prepared.connect(relay.vendor)).pipe(
          Effect.map((link) => relay.attach(link)),
          Effect.andThen(Deferred.await(over))
        )
        return yield* Effect.uninterruptibleMask((restore) =>
          Effect.exit(restore(Effect.raceFirst(Effect.scoped(talk), Deferred.await(over)))).pipe(
            Effect.flatMap(endingFromExit),
            Effect.tap((ending) => {
              relay.input({ _tag: "Ended", ending, atOnce: true })
              return Effect.andThen(tools.stopAll, Fiber.interrupt(keeping))
            }),
            Effect.flatMap((ending) => farewell(opening, relay, keeper, ending))
          )
        )
      })

      /** Saves what is left, releases the thread, and determines the last events. */
      const farewell = Effect.fnUntraced(function* (
        { held, ownKey }: Opening,
        relay: Relay,
        keeper: SessionKeeper,
        { close, error }: Ending
      ) {
        const saved = yield* repeatWhileUnavailable(keeper.flush, limits.saving).pipe(
          Effect.catchTag("StoreUnavailable", () => Effect.succeed("away" as const))
        )
        held.isOurs = false
        if (saved === "away") {
          yield* finishLater(held.lease, keeper)
          return failed(
            "history_incomplete",
            "The end of the conversation is not stored yet. It will be, when the store answers.",
            "fault"
          )
        }
        if (saved === "lost")
          return failed("history_incomplete", "The thread is gone or taken: the end is not stored.", "fault")
        yield* Effect.ignore(store.close(held.lease))
        if (keeper.owes()) {
          return failed("billing_pending", "The usage is stored, but not charged yet. It will be later.", "fault")
        }
        return makeFarewell(error, endedWith(relay.usage(), ownKey), close)
      })

      /** Stores later what could not be saved in time, and releases the thread afterwards. */
      const finishLater = (lease: Opening["held"]["lease"], keeper: SessionKeeper) =>
        repeatWhileUnavailable(keeper.flush, "1 hour").pipe(
          Effect.andThen(store.close(lease)),
          Effect.catchCause((cause) => Effect.logError("The end of a voice session could not be stored", cause)),
          Effect.forkIn(scope)
        )

      return RealtimeSession.of({ serve })
    })
  )
}

const makeFarewell = (error: Ending["error"], words: ServiceEvent, close: CloseReason): Farewell => ({
  events: [error === null ? words : { _tag: "Error", ...error }],
  close
})

const failed = (code: ErrorCode, message: string, close: CloseReason): Farewell => ({
  events: [{ _tag: "Error", code, message }],
  close
})

const sessionTerms = (
  { held, place, plan, prepared, request, setupWith }: Opening,
  limits: SessionLimits
): SessionTerms => ({
  limits,
  hosted: new Set(plan.hosted.map(({ tool }) => tool.definition.name)),
  canCancel: prepared.canCancel,
  settings: request.kept ?? { systemPrompt: request.systemPrompt, tools: request.tools },
  setupWith,
  begin: {
    sessionId: held.lease.sessionId,
    threadId: place.thread.id,
    assistantId: place.assistant.id,
    inputFormat: prepared.inputFormat,
    outputFormat: prepared.outputFormat,
    provider: request.provider,
    model: request.model,
    ...(request.kept === undefined ? {} : { settings: request.kept })
  }
})

const endingFromExit = (exit: Exit.Exit<Ending, VendorUnavailable>): Effect.Effect<Ending> => {
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

const endedWith = (usage: Usage, ownKey: boolean): ServiceEvent =>
  ended(
    // A session without any answer costs nothing. If there were answers and the vendor has reported no cost, the cost is unknown.
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
