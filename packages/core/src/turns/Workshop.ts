/** What all turns of one kernel share: the ports, the runs under way in this process, and the ways to follow and to end a run. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { Principal } from "../access/Principal.ts"
import { ProviderKeys, type ProviderKeysPort } from "../access/ProviderKeys.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import { embeddingFor } from "../assistants/AssistantFields.ts"
import { DefaultEmbedding } from "../assistants/Assistants.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { Metering } from "../metering/Metering.ts"
import { mergeModelInfo } from "../models/ModelInfo.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter, type TokenCounterPort } from "../models/TokenCounter.ts"
import { makeDeadlines } from "../primitives/Deadlines.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { makeLiveRuns } from "../runs/LiveRuns.ts"
import { makeLogWriter } from "../runs/LogWriter.ts"
import type { Run } from "../runs/Run.ts"
import type { RunLog } from "../runs/RunLog.ts"
import { makeRunSignals, type RunSignals } from "../runs/RunSignals.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { type IdempotencyKey, type Repeated, RunStore } from "../runs/RunStore.ts"
import { HostedTools } from "../tools/HostedTool.ts"
import { type Admissions, makeAdmissions } from "./Admissions.ts"
import { makeFollow } from "./Followers.ts"
import type { LegRunner } from "./EndLeg.ts"
import type { LegKernel } from "./Leg.ts"
import { TurnParts } from "./TurnParts.ts"
import { makeRecovery, type Recovery } from "./Recovery.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { IdempotencyConflict, ThreadBusy } from "./TurnErrors.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { inDurations, TurnSettings } from "./TurnSettings.ts"

export interface Workshop extends LegRunner, LegKernel {
  readonly providers: typeof Providers.Service
  readonly providerKeys: ProviderKeysPort
  readonly embedding: Assistant["embedding"]
  readonly signals: RunSignals
  readonly recovery: Recovery
  /** The events of a run, for a caller who may outlive his context: the principal goes with the stream. */
  readonly eventsOf: (
    runId: RunId,
    after: number,
    log?: RunLog<TurnEvent>
  ) => Effect.Effect<Stream.Stream<TurnEvent, StoreUnavailable>, never, Principal>
  /** The turn that an idempotency key began, if it began one; a conflict when that was for another body. */
  readonly findRepeated: (
    key: IdempotencyKey | undefined
  ) => Effect.Effect<Option.Option<StartedTurn>, IdempotencyConflict | ThreadBusy | StoreUnavailable, Principal>
  /** Joins the first one, and shares its fate: while that waits in the queue so does the repeat, and both may be told `ThreadBusy`. */
  readonly repeat: (
    repeated: Repeated,
    fingerprint: string
  ) => Effect.Effect<StartedTurn, IdempotencyConflict | ThreadBusy | StoreUnavailable, Principal>
  readonly admit: Admissions["admit"]
  readonly drain: Effect.Effect<void>
}

/** A turn decides by all that is known of its model: the host's word first, then the provider's list. */
const withCatalog = (
  providers: typeof Providers.Service,
  catalog: typeof Catalog.Service
): typeof Providers.Service => ({
  ...providers,
  resolve: Effect.fnUntraced(function* (provider, model) {
    const resolved = yield* providers.resolve(provider, model)
    const listed = yield* catalog.known(provider, model)
    return listed === undefined ? resolved : { ...resolved, info: mergeModelInfo(listed, resolved.info) }
  })
})

/** A host's counter may well divide something: sizes are stored and added up as integers. */
const inWholeTokens = (counter: TokenCounterPort): TokenCounterPort => ({
  count: (text) => Math.ceil(counter.count(text))
})

export const makeWorkshop: Effect.Effect<
  Workshop,
  never,
  RunStore | ThreadStore | Providers | Catalog | TurnParts | HostedTools | FollowUps | Scope.Scope
> = Effect.gen(function* () {
  const store = yield* RunStore
  const settings = inDurations(yield* TurnSettings)
  const deadlines = yield* makeDeadlines
  const metering = yield* Metering
  const counter = inWholeTokens(yield* TokenCounter)
  // A scope of its own, made before the finalizer below: the runs are stopped side by side, not one after the other.
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const live = yield* makeLiveRuns<TurnEvent>(store, settings.lease)
  const writer = yield* makeLogWriter(store, live)
  const signals = yield* makeRunSignals(store, settings.poll, (runId) =>
    Effect.asVoid(Effect.forkIn(live.stop(runId, "cancelled"), scope))
  )
  const parts = yield* TurnParts
  const followUps = yield* FollowUps
  const recovery = yield* makeRecovery({ store, metering, counter, deadlines, settings, followUps, parts: parts.all })
  const follow = makeFollow({ store, live, signals, counter, recovery, lease: settings.lease })
  const eventsOf: Workshop["eventsOf"] = (...args) => Effect.map(Principal, (principal) => follow(principal, ...args))

  const repeat: Workshop["repeat"] = Effect.fnUntraced(function* (repeated, fingerprint) {
    const run = yield* store.get(repeated.runId)
    if (repeated.fingerprint !== fingerprint || Option.isNone(run)) return yield* new IdempotencyConflict()
    const { threadId, assistantId, id } = run.value
    if (run.value.status === "QUEUED") yield* untilBegun(run.value)
    return startedTurn({ threadId, assistantId, runId: id }, yield* eventsOf(id, repeated.legStart - 1))
  })

  const untilBegun = Effect.fnUntraced(function* ({ id, threadId }: Run) {
    const changed = yield* signals.listen(id)
    while (true) {
      const run = yield* store.get(id)
      if (Option.isNone(run)) return yield* new ThreadBusy({ threadId, runId: id })
      if (run.value.status !== "QUEUED") return
      if (!(yield* recovery.endExpired(id))) yield* changed
    }
  }, Effect.scoped)

  const admissions = makeAdmissions(live, settings.drainTimeout)
  // Runs that are under way when the kernel's scope closes are settled before the store goes away.
  yield* Effect.addFinalizer(() => admissions.close)

  return {
    store,
    metering,
    counter,
    settings,
    live,
    writer,
    deadlines,
    scope,
    signals,
    eventsOf,
    repeat,
    providers: withCatalog(yield* Providers, yield* Catalog),
    providerKeys: yield* ProviderKeys,
    hosted: (yield* HostedTools).all,
    parts: parts.all,
    threads: yield* ThreadStore,
    followUps,
    embedding: embeddingFor(yield* DefaultEmbedding, (yield* Providers).all),
    recovery,
    findRepeated: Effect.fnUntraced(function* (key) {
      if (key === undefined) return Option.none()
      const repeated = yield* store.findRepeated(key.key)
      return Option.isNone(repeated) ? Option.none() : Option.some(yield* repeat(repeated.value, key.fingerprint))
    }),
    admit: admissions.admit,
    drain: admissions.drain
  }
})
