/**
 * Follows the log of a run in any process: from memory while this process works on the run, otherwise from the store, and it changes
 * between the two when another process takes the run over. A stream of events ends with the first terminal event after its start. Three ends
 * are in no log, and are made for the follower: that of a run whose thread is deleted (cancelled, also if that happens before the first look),
 * that of a message that waited for its thread too long (failed), and that of an old run whose log was removed (from its record).
 */
import { isReadonlyArrayNonEmpty, type NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { Principal } from "../access/Principal.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { RunId } from "../primitives/Ids.ts"
import { pullStream } from "../primitives/PullStream.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { isAtRest, type Run } from "../runs/Run.ts"
import type { RunLog } from "../runs/RunLog.ts"
import { RunStore } from "../runs/RunStore.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { waitedTooLong } from "./Draft.ts"
import { endOfPrunedRun } from "./PrunedLog.ts"
import { Recovery, withIdentity } from "./Recovery.ts"
import { makeShownEvents } from "./ShownEvents.ts"
import { RunningTurns, TurnSignals } from "./RunningTurns.ts"
import { type LegEnd, terminalEvent } from "./Settlement.ts"
import { digestEvents, makeLogPages } from "./LogPages.ts"
import { isTerminal, type TurnEvent } from "./TurnEvent.ts"
import { recordLeg } from "./TurnRecorder.ts"
import { TurnSettings } from "./TurnSettings.ts"

type Follow = (
  principal: typeof Principal.Service,
  runId: RunId,
  after: number,
  log?: RunLog<TurnEvent>,
  found?: Run
) => Stream.Stream<TurnEvent, StoreUnavailable>

const makeFollow = Effect.gen(function* () {
  const store = yield* RunStore
  const running = yield* RunningTurns
  const signals = yield* TurnSignals
  const recovery = yield* Recovery
  const counter = yield* TokenCounter
  const { lease } = yield* TurnSettings
  const texts = yield* RecalledTexts
  const threads = yield* ThreadStore
  /** A reader waits for an unavailable store as long as the process that works on the run holds its lease. */
  const patiently = <A>(read: Effect.Effect<A, StoreUnavailable, Principal>) => repeatWhileUnavailable(read, lease)
  const readPage = makeLogPages({ read: (runId, after) => patiently(store.read(runId, after)) })
  /** After this many milliseconds without an event, the follower checks the lease of the run: the process that works on it may be dead. */
  const silence = Duration.toMillis(lease) / 2

  const fromMemory = (
    principal: typeof Principal.Service,
    runId: RunId,
    after: number,
    log: RunLog<TurnEvent>,
    scope: Scope.Scope
  ): EventPull => {
    let last = after
    let pullOfStore: EventPull | null = null
    const pull: EventPull = Effect.suspend(() => {
      if (pullOfStore !== null) return pullOfStore
      const events = log.after(last)
      if (isReadonlyArrayNonEmpty(events)) {
        last = events.at(-1)?.sequence ?? last
        return Effect.succeed(events)
      }
      if (log.state === "open") return Effect.flatMap(log.above(log.events.length), () => pull)
      if (log.state === "ended") return Cause.done()
      return Effect.flatMap(Scope.provide(fromStore(principal, runId, last, log.events), scope), (pullFromStore) => {
        pullOfStore = pullFromStore
        return pullFromStore
      })
    })
    return pull
  }

  /** A run that waited and is gone while its thread is there: its message was withdrawn. */
  const hasWaitedTooLong = ({ cancelRequested, status, threadId }: Run) =>
    status !== "QUEUED" || cancelRequested
      ? Effect.succeed(false)
      : Effect.map(patiently(threads.get(threadId)), Option.isSome)

  const fromStore = Effect.fnUntraced(function* (
    principal: typeof Principal.Service,
    runId: RunId,
    after: number,
    before: ReadonlyArray<TurnEvent> = [],
    found: Run | null = null
  ): Effect.fn.Return<EventPull, never, Scope.Scope> {
    const changed = yield* signals.listen(runId)
    const seen = [...digestEvents(before)]
    let known = found
    let last = after
    let hasEnded = false
    let wasAtRest = false
    let heardAt = Number.NEGATIVE_INFINITY
    const endOfRemovedRun = Effect.gen(function* () {
      const leg = recordLeg(seen, counter)
      if (known === null) return terminalEvent(leg, { status: "CANCELLED" }, null, last + 1)
      const end = (yield* hasWaitedTooLong(known)) ? tooLate : ({ status: "CANCELLED" } as const)
      return terminalEvent(withIdentity(leg, known), end, null, last + 1)
    })
    return Effect.gen(function* () {
      while (!hasEnded) {
        const page = yield* readPage(runId, last)
        const events = upToTerminal(page.events)
        if (isReadonlyArrayNonEmpty(events)) {
          last = events.at(-1)?.sequence ?? last
          heardAt = yield* Clock.currentTimeMillis
          hasEnded = events.some(isTerminal)
          seen.push(...page.digest)
          return events
        }
        const run = yield* patiently(store.get(runId))
        if (Option.isNone(run)) {
          hasEnded = true
          return [yield* endOfRemovedRun] as const
        }
        known = run.value
        if (isAtRest(known.status) && known.lastSequence <= last) break
        if (wasAtRest && isAtRest(known.status)) {
          hasEnded = true
          return [yield* patiently(endOfPrunedRun(store, counter, known))] as const
        }
        // The run is at rest now, so its log is complete. One more read either returns the rest of the log or shows that the log was
        // removed.
        wasAtRest = isAtRest(known.status)
        if (wasAtRest) continue
        const isSilent = (yield* Clock.currentTimeMillis) - heardAt >= silence
        if (isSilent && !isAtRest(known.status) && (yield* patiently(recovery.endExpired(runId)))) continue
        yield* changed
      }
      return yield* Cause.done()
    }).pipe(Effect.provideService(Principal, principal))
  })

  /** What parts have kept up to an event. Of the leg that this process works on, the store may not have all yet. */
  const keptUntil = Effect.fnUntraced(function* (runId: RunId, until: number, log: RunLog<TurnEvent> | undefined) {
    const kept: Array<TurnEvent> = []
    const add = (events: ReadonlyArray<TurnEvent>) =>
      kept.push(...events.filter(({ _tag, sequence }) => _tag === "PartKept" && sequence <= until))
    let last = 0
    while (last < until) {
      const { events } = yield* readPage(runId, last)
      add(events)
      last = events.at(-1)?.sequence ?? until
    }
    if (log !== undefined) add(log.events)
    return kept
  })

  const laterReader = (principal: typeof Principal.Service, runId: RunId, after: number, log?: RunLog<TurnEvent>) => {
    const shownEvents = makeShownEvents(texts, keptUntil(runId, after, log))
    return (pull: EventPull): EventPull =>
      Effect.flatMap(pull, (events) => Effect.provideService(shownEvents(events), Principal, principal))
  }

  // One pull function serves both sources. A second stage of the stream for the change of source would cost time for every delta.
  const follow: Follow = (principal, runId, after, own, found) => {
    const log = own ?? running.get(runId)?.log
    // The caller that has begun the leg reads while it is written. A later reader may come after a deletion.
    const shown = own === undefined ? laterReader(principal, runId, after, log) : (pull: EventPull) => pull
    return pullStream((scope) =>
      log !== undefined && after >= log.first - 1
        ? Effect.sync(() => shown(fromMemory(principal, runId, after, log, scope)))
        : Effect.map(Scope.provide(fromStore(principal, runId, after, [], found), scope), shown)
    )
  }
  return follow
})

export class Followers extends Context.Service<
  Followers,
  {
    /**
     * The events of a run after a sequence number. `log` is the log of the leg, when this process works on the run; `found` is the run, when
     * the caller has read it. The stream keeps the caller's principal, so it may be read outside of the caller's context.
     */
    readonly events: (
      runId: RunId,
      after: number,
      log?: RunLog<TurnEvent>,
      found?: Run
    ) => Effect.Effect<Stream.Stream<TurnEvent, StoreUnavailable>, never, Principal>
    /** The same for a caller that has its principal at hand. */
    readonly follow: Follow
  }
>()("@colloquy/core/turns/Followers") {
  static readonly layer: Layer.Layer<
    Followers,
    never,
    RecalledTexts | RunStore | ThreadStore | RunningTurns | TurnSignals | Recovery
  > = Layer.effect(
    Followers,
    Effect.map(makeFollow, (follow) =>
      Followers.of({ follow, events: (...args) => Principal.useSync((principal) => follow(principal, ...args)) })
    )
  )
}

const tooLate: LegEnd = {
  status: "FAILED",
  fault: waitedTooLong({
    message: "The thread was busy for longer than a message may wait. Nothing of the message was kept; send it again."
  })
}

type EventPull = Pull.Pull<NonEmptyReadonlyArray<TurnEvent>, StoreUnavailable>

const upToTerminal = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<TurnEvent> => {
  const end = events.findIndex(isTerminal)
  return end === -1 ? events : events.slice(0, end + 1)
}
