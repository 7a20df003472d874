/**
 * Follows the log of a run in any process: from memory while this process works on the run, otherwise from the store, and it changes
 * between the two when another process takes the run over. A stream of events ends with the first terminal event after its start. If the
 * thread of the run is deleted meanwhile, the follower gets a cancelled end, also if that happens before its first look. If the log of an old run was removed, the follower gets the
 * run's end made from the record.
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
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import { endOfPrunedRun } from "./PrunedLog.ts"
import { Recovery, withIdentity } from "./Recovery.ts"
import { makeShownEvents } from "./ShownEvents.ts"
import { RunningTurns, TurnSignals } from "./RunningTurns.ts"
import { terminalEvent } from "./Settlement.ts"
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
  const readPage = makeLogPages(store)
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
    const endOfDeletedRun = () => {
      hasEnded = true
      const leg = recordLeg(seen, counter)
      return terminalEvent(known === null ? leg : withIdentity(leg, known), { status: "CANCELLED" }, null, last + 1)
    }
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
        const run = yield* store.get(runId)
        if (Option.isNone(run)) return [endOfDeletedRun()] as const
        known = run.value
        if (isAtRest(known.status) && known.lastSequence <= last) break
        if (wasAtRest && isAtRest(known.status)) {
          hasEnded = true
          return [yield* endOfPrunedRun(store, counter, known)] as const
        }
        // The run is at rest now, so its log is complete. One more read either returns the rest of the log or shows that the log was
        // removed.
        wasAtRest = isAtRest(known.status)
        if (wasAtRest) continue
        const isSilent = (yield* Clock.currentTimeMillis) - heardAt >= silence
        if (isSilent && !isAtRest(known.status) && (yield* recovery.endExpired(runId))) continue
        yield* changed
      }
      return yield* Cause.done()
    }).pipe(Effect.provideService(Principal, principal))
  })

  const laterReader = (principal: typeof Principal.Service) => {
    const shownEvents = makeShownEvents(texts)
    return (pull: EventPull): EventPull =>
      Effect.flatMap(pull, (events) => Effect.provideService(shownEvents(events), Principal, principal))
  }

  // One pull function serves both sources. A second stage of the stream for the change of source would cost time for every delta.
  const follow: Follow = (principal, runId, after, own, found) => {
    const log = own ?? running.get(runId)?.log
    // The caller that has begun the leg reads while it is written. A later reader may come after a deletion.
    const shown = own === undefined ? laterReader(principal) : (pull: EventPull) => pull
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
    RecalledTexts | RunStore | RunningTurns | TurnSignals | Recovery
  > = Layer.effect(
    Followers,
    Effect.map(makeFollow, (follow) =>
      Followers.of({ follow, events: (...args) => Principal.useSync((principal) => follow(principal, ...args)) })
    )
  )
}

type EventPull = Pull.Pull<NonEmptyReadonlyArray<TurnEvent>, StoreUnavailable>

const upToTerminal = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<TurnEvent> => {
  const end = events.findIndex(isTerminal)
  return end === -1 ? events : events.slice(0, end + 1)
}
