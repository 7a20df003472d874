/**
 * Runs follow-ups, those of other processes included: claims due ones, gives each to the worker of its kind with its owner as principal,
 * renews the claim while the worker runs, and stores the result. A failed attempt is retried after a growing pause; after the last attempt
 * the follow-up is dead and waits for an operator (`dead`, `revive`). An attempt whose process died or hung is counted by its claim, so a
 * follow-up that was claimed more often than it may be tried is dead without another attempt.
 *
 * Rooms register their workers here (`register`). Code that stores follow-ups calls `wake`, so that this process starts them before its
 * next poll.
 */
import * as Context from "effect/Context"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { genAi } from "../primitives/GenAi.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { Principal } from "../access/Principal.ts"
import { makeAlarm } from "../primitives/Alarm.ts"
import { inTime } from "../primitives/Deadlines.ts"
import type { FollowUpId } from "../primitives/Ids.ts"
import { makeOwnedFibers } from "../primitives/OwnedFibers.ts"
import { checkPage, type Page } from "../primitives/Page.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { TransientMap } from "../primitives/Transient.ts"
import { UnderWay } from "../primitives/UnderWay.ts"
import { type FollowUp, FollowUpNotFound, longestDelay, type NewFollowUp } from "./FollowUp.ts"
import { FollowUpFailed, type FollowUpWorker, type TypedWorker, typedWorker } from "./FollowUpWorker.ts"
import { type ClaimRules, type FollowUpClaim, FollowUpStore } from "./FollowUpStore.ts"
import { patience, rulesFor, rulesForOthers, type RunningFollowUp, slotsForOthers } from "./FollowUpSlots.ts"

/** How often workers look for work, how much at once, and when they give up. */
export interface FollowUpSettings {
  /** How often the store is queried for due work without a call of `wake`. */
  readonly poll: Duration.Input
  /**
   * How many follow-ups this process works on at a time. One owner has two thirds of them at most, and one slot stays free for urgent work
   * and one for other work. For each that takes longer than 4 seconds, an owner of whom nothing is worked on gets a slot more.
   */
  readonly concurrency: number
  /** How long a claim stays blocked after its process died; null: as long as a run, `TurnSettings.lease`. */
  readonly claim: Duration.Input | null
  /** How often the work is tried. Attempts whose process died or hung count too. */
  readonly attempts: number
  /** The pause after the first failure. It doubles with each further failure. */
  readonly firstPause: Duration.Input
  readonly longestPause: Duration.Input
  /** An attempt that takes longer has failed, and its work is left behind. */
  readonly longestAttempt: Duration.Input
  /** How often workers are asked for work that was lost. */
  readonly sweep: Duration.Input
}

export const FollowUpSettings = Context.Reference<FollowUpSettings>("@colloquy/core/runs/FollowUpSettings", {
  defaultValue: () => ({
    poll: "5 seconds",
    concurrency: 6,
    claim: null,
    attempts: 5,
    firstPause: "1 second",
    longestPause: "5 minutes",
    longestAttempt: "2 hours",
    sweep: "1 minute"
  })
})

export class FollowUps extends Context.Service<
  FollowUps,
  {
    /** This process runs follow-ups of that kind until the scope closes, which interrupts those under way. A kind has one worker. */
    readonly register: (worker: FollowUpWorker) => Effect.Effect<void, never, Scope.Scope>
    readonly add: (followUps: ReadonlyArray<NewFollowUp>) => Effect.Effect<void, StoreUnavailable, Principal>
    /** Call this after storing follow-ups that may be due. */
    readonly wake: () => void
    readonly find: (kind: string, key: string) => Effect.Effect<Option.Option<FollowUp>, StoreUnavailable, Principal>
    /** The principal's follow-ups of this kind, newest first. */
    readonly list: (kind: string, page: Page) => Effect.Effect<ReadonlyArray<FollowUp>, StoreUnavailable, Principal>
    /**
     * Deletes the principal's open follow-up of this kind and key; false if there is none. Work that is under way is interrupted, in another
     * process when it renews its claim. Work of a kind with `lost` may be added again by that.
     */
    readonly cancel: (kind: string, key: string) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** Of all owners, for an operator. */
    readonly dead: (page: Page) => Effect.Effect<ReadonlyArray<FollowUp>, StoreUnavailable>
    readonly revive: (id: FollowUpId) => Effect.Effect<void, FollowUpNotFound | StoreUnavailable>
  }
>()("@colloquy/core/runs/FollowUps") {
  static readonly layer: Layer.Layer<FollowUps, never, FollowUpStore> = Layer.effect(
    FollowUps,
    Effect.gen(function* () {
      const store = yield* FollowUpStore
      const settings = yield* FollowUpSettings
      const underWay = yield* UnderWay
      const claimTime = Duration.fromInputUnsafe(settings.claim ?? defaultClaim)
      const poll = Duration.toMillis(settings.poll)
      const workers = new Map<string, FollowUpWorker>()
      const running = new TransientMap<FollowUpId, RunningFollowUp>()
      // These fibers end before the store does. An interrupted follow-up is claimed again after its claim has expired.
      const { fork } = yield* makeOwnedFibers

      const start = Effect.fnUntraced(function* (claim: FollowUpClaim, worker: FollowUpWorker) {
        const ended = underWay.begin()
        const work = attempt(store, settings, worker, claim).pipe(
          Effect.ensuring(
            Effect.sync(() => {
              ended()
              running.delete(claim.followUp.id)
              wake()
            })
          )
        )
        const entry: RunningFollowUp = { claim, fiber: null, lateAt: (yield* Clock.currentTimeMillis) + patience }
        running.set(claim.followUp.id, entry)
        entry.fiber = yield* fork(work)
      })

      const claimSome = Effect.fnUntraced(function* (limit: number, rules: ClaimRules) {
        if (limit <= 0) return
        const claims = yield* store
          .claim([...workers.keys()], limit, claimTime, rules)
          .pipe(
            Effect.catchCause((cause) =>
              Effect.as(Effect.logWarning("Follow-ups could not be claimed; the store is asked again", cause), [])
            )
          )
        for (const claimed of claims) {
          const worker = workers.get(claimed.followUp.kind)
          // Its worker may have left meanwhile. Another process need not wait until the claim expires.
          yield* worker === undefined ? Effect.ignore(store.fail(claimed, stopped)) : start(claimed, worker)
        }
      })

      const claimDue = Effect.fnUntraced(function* (now: number) {
        if (workers.size === 0) return Number.POSITIVE_INFINITY
        const { concurrency } = settings
        const before = [...running.values()]
        yield* claimSome(concurrency - before.length, rulesFor(concurrency, before))
        const all = [...running.values()]
        yield* claimSome(slotsForOthers(concurrency, all, now), rulesForOthers(concurrency, all))
        return Math.min(now + poll, ...all.flatMap(({ lateAt }) => (lateAt > now ? [lateAt] : [])))
      })

      const alarm = yield* makeAlarm((now) =>
        Effect.suspend(() => Effect.ensuring(claimDue(now), Effect.sync(underWay.begin())))
      )
      const wake = () => alarm.at(0)

      /** Renews the claims, and interrupts the work whose claim is lost: another process has it, or it was cancelled. */
      const stopLost = Effect.gen(function* () {
        if (running.size === 0) return
        const lost = yield* store.renew(
          [...running.values()].map(({ claim }) => claim),
          claimTime
        )
        for (const id of lost) {
          const lostWork = running.get(id)
          if (lostWork?.fiber != null) yield* fork(Fiber.interrupt(lostWork.fiber))
        }
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("Claims of follow-ups could not be renewed", cause)))
      yield* stopLost.pipe(Effect.delay(Duration.times(claimTime, 1 / 3)), Effect.forever, Effect.forkScoped)

      const findLost = Effect.fnUntraced(
        function* ({ kind, lost }: FollowUpWorker) {
          const found = lost === undefined ? [] : yield* lost
          if (found.length === 0) return
          yield* Effect.logWarning(
            `${found.length} pieces of work (${kind}) waited without a follow-up and are ordered again`
          )
          for (const { followUp, ownerId } of found) {
            yield* Effect.provideService(store.add([followUp]), Principal, { ownerId })
          }
          wake()
        },
        (searched, { kind }) =>
          Effect.catchCause(searched, (cause) =>
            Effect.logWarning(`Lost work (${kind}) could not be looked for`, cause)
          )
      )
      yield* Effect.suspend(() => Effect.forEach([...workers.values()], findLost, { discard: true })).pipe(
        Effect.delay(settings.sweep),
        Effect.forever,
        Effect.forkScoped
      )

      return FollowUps.of({
        register: (worker) =>
          Effect.acquireRelease(
            Effect.suspend(() => {
              const { kind } = worker
              if (workers.has(kind))
                return Effect.die(
                  new Error(`Two workers are registered for follow-ups of the kind "${kind}". Register one.`)
                )
              workers.set(kind, worker)
              wake()
              return Effect.void
            }),
            () =>
              Effect.suspend(() => {
                workers.delete(worker.kind)
                const own = [...running.values()].filter(({ claim }) => claim.followUp.kind === worker.kind)
                return Fiber.interruptAll(own.flatMap(({ fiber }) => fiber ?? []))
              })
          ),
        add: (followUps) =>
          followUps.every(({ delayMillis }) => Math.abs(delayMillis) <= longestDelay)
            ? Effect.tap(store.add(followUps), () => Effect.sync(wake))
            : Effect.die(new RangeError("A follow-up is delayed by 100 years at most.")),
        wake,
        find: store.find,
        list: (kind, page) => Effect.suspend(() => store.list(kind, checkPage(page))),
        cancel: tracedFn("FollowUps.cancel")(function* (kind: string, key: string) {
          const isCancelled = yield* store.cancel(kind, key)
          if (isCancelled) {
            yield* stopLost
            // The next one of its sequence may be due now.
            wake()
          }
          return isCancelled
        }),
        dead: (page) => Effect.suspend(() => store.dead(checkPage(page))),
        revive: tracedFn("FollowUps.revive")(function* (id: FollowUpId) {
          if (!(yield* store.revive(id))) return yield* new FollowUpNotFound({ followUpId: id })
          wake()
        })
      })
    })
  )

  /** A worker without dependencies, as a layer over `Kernel.layer`. */
  static readonly worker = <Payload>(worker: TypedWorker<Payload>): Layer.Layer<never, never, FollowUps> =>
    Layer.effectDiscard(FollowUps.use((followUps) => followUps.register(typedWorker(worker))))
}

const defaultClaim = "30 seconds"

/** Runs one attempt and stores its result. */
const attempt = Effect.fnUntraced(
  function* (
    store: typeof FollowUpStore.Service,
    settings: FollowUpSettings,
    worker: FollowUpWorker,
    claim: FollowUpClaim
  ) {
    const { followUp } = claim
    const owner = Effect.provideService(Principal, { ownerId: followUp.ownerId })
    if (followUp.attempts > settings.attempts) {
      // The worker is not told for ever: this may be what its process does not survive.
      const isTold = followUp.attempts <= 2 * settings.attempts
      if (isTold) yield* persist(owner(tellEnd(worker, followUp, lastProcessEnded)))
      return yield* persist(store.fail(claim, { error: lastProcessEnded, pause: null, isCounted: false }))
    }
    const work = Effect.as(
      Effect.suspend(() => worker.run(followUp)),
      null
    ).pipe(
      inTime(settings.longestAttempt, () => Effect.fail(tooLong(settings.longestAttempt))),
      // An interruption that reaches this handler was made by the worker itself.
      Effect.catchCause((cause) => failureOutcome(followUp, cause))
    )
    const exit = yield* Effect.exit(Effect.interruptible(owner(work)))
    // Interrupted by the shutdown of this process. The follow-up is released at once, so that the next process need not wait until the
    // claim expires.
    if (Exit.isFailure(exit)) return yield* Effect.asVoid(store.fail(claim, stopped))
    const failure = exit.value
    if (failure === null) return yield* persist(store.complete(claim))
    const pause = pauseAfter(followUp.attempts, failure, settings)
    if (pause === null) yield* persist(owner(tellEnd(worker, followUp, failure.message)))
    yield* persist(store.fail(claim, { error: failure.message, pause, isCounted: failure.isOutage !== true }))
  },
  (attempted, _store, _settings, worker, { followUp: { attempts, id } }): Effect.Effect<void> =>
    Effect.uninterruptible(attempted).pipe(
      traced("FollowUps.attempt", { attributes: { [genAi.followUp]: worker.kind, [genAi.attempt]: attempts } }),
      Effect.catchCause((cause) => Effect.logError(`Follow-up ${id} (${worker.kind}) could not be ended`, cause))
    )
)

/** A fault of the worker here does not keep the follow-up from being dead. */
const tellEnd = (worker: FollowUpWorker, followUp: FollowUp, error: string) =>
  Effect.logWarning(`Follow-up ${followUp.id} (${followUp.kind}) is given up: ${error}`).pipe(
    Effect.andThen(Effect.suspend(() => worker.giveUp?.(followUp, error) ?? Effect.void)),
    inTime("1 minute", () => Effect.die(new Error("The worker did not take the end within a minute"))),
    Effect.catchDefect((defect) =>
      Effect.logError(`The worker of follow-up ${followUp.id} (${followUp.kind}) failed at its end`, defect)
    )
  )

const tooLong = (time: Duration.Input): FollowUpFailed =>
  new FollowUpFailed({
    message: `The work did not end within ${Duration.format(Duration.fromInputUnsafe(time))}.`,
    isRetryable: true
  })

const lastProcessEnded =
  "The process that did the work ended or hung each time, so the work is not tried again. The server's log may say why."

const stopped = { error: "The server was stopped.", pause: Duration.zero, isCounted: false }

/** Repeats the write while the store is unavailable. If the result is not stored, the work is done again. */
const persist = <A, R>(write: Effect.Effect<A, StoreUnavailable, R>): Effect.Effect<void, StoreUnavailable, R> =>
  Effect.asVoid(repeatWhileUnavailable(write, "10 seconds"))

const failureOutcome = (
  followUp: FollowUp,
  cause: Cause.Cause<FollowUpFailed | StoreUnavailable>
): Effect.Effect<FollowUpFailed> => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error?._tag === "FollowUpFailed") return Effect.succeed(error)
  if (error?._tag === "StoreUnavailable") {
    return Effect.succeed(new FollowUpFailed({ message: error.message, isRetryable: true, isOutage: true }))
  }
  return Effect.as(
    Effect.logError(`Follow-up ${followUp.id} (${followUp.kind}) ended in a defect`, cause),
    new FollowUpFailed({ message: "The work failed inside the server; its log says why.", isRetryable: true })
  )
}

/** Null: there is no further attempt. An outage is retried without a limit. */
const pauseAfter = (
  attempts: number,
  failure: FollowUpFailed,
  settings: FollowUpSettings
): Duration.Duration | null => {
  if (!failure.isRetryable || (failure.isOutage !== true && attempts >= settings.attempts)) return null
  const growing = Duration.toMillis(settings.firstPause) * 2 ** Math.min(attempts - 1, 20)
  const usual = Math.min(growing, Duration.toMillis(settings.longestPause))
  return Duration.millis(Math.min(Math.max(failure.pauseMillis ?? 0, usual), longestDelay))
}
