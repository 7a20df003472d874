/**
 * Lets a run of a dead process go on in this one (`Resumption`): a queued run waits here for its turn, and a leg that had only begun runs
 * the calls that were approved.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { Lease } from "../runs/LogRecords.ts"
import type { Run } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { shareBelow } from "./ChildLegs.ts"
import type { NewLeg } from "./Leg.ts"
import { OpenCalls } from "./OpenCalls.ts"
import { QueueTurn } from "./QueueTurn.ts"
import { Resumption } from "./Resumption.ts"
import { RunLeg } from "./RunLeg.ts"
import { TurnBudgets } from "./TurnBudget.ts"
import { fromLog, type TurnEvent } from "./TurnEvent.ts"
import { TurnSettings } from "./TurnSettings.ts"
import { openLog, readWholeLog } from "./WholeLog.ts"

export const resumedRuns: Layer.Layer<
  never,
  never,
  RunStore | OpenCalls | QueueTurn | RunLeg | Resumption | TurnBudgets
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* RunStore
    const { plan } = yield* OpenCalls
    const { queueAgain } = yield* QueueTurn
    const legs = yield* RunLeg
    const keys = yield* ProviderKeys
    const { lease, settleTimeout } = yield* TurnSettings
    const budgets = yield* TurnBudgets

    /** The leg without its log. What the dead process had reserved is held until the leg ends; this one reserves what it needs. */
    const makeLeg = Effect.fnUntraced(function* (held: Lease, run: Run, assistantId: AssistantId) {
      const leg = yield* plan({ assistantId, run }, {})
      const apiKey = yield* keys.find(leg.plan.provider)
      const child = yield* shareBelow(store, run)
      const budget = budgets.begin({
        assistantId,
        lease: held,
        reserved: null,
        before: run.usage,
        above: child?.budget ?? null
      })
      const { answerId, leg: number, stream } = run
      return { ...leg, lease: held, assistantId, answerId, number, stream, apiKey, budget, child }
    })

    const goOnQueued = Effect.fnUntraced(function* (held: Lease, run: Run) {
      const leg = yield* makeLeg(held, run, run.assistantId)
      const begun = Effect.map(readWholeLog(store, run, settleTimeout), (stored): NewLeg => {
        const events = fromLog(stored)
        const first = events.find(({ _tag }) => _tag === "RunStarted")
        if (first === undefined) throw new Error(`The log of queued run ${run.id} has no beginning`)
        return { ...leg, log: openLog(events, run.legStart), first }
      })
      yield* queueAgain(held, leg.room.forPrompt, begun)
      return true
    })

    const goOnApproved = Effect.fnUntraced(function* (held: Lease, run: Run, events: ReadonlyArray<TurnEvent>) {
      const asking = (yield* store.messages(run.id)).at(-1)
      const [first] = events
      const isApproved = asking?.toolResults.some(({ isPending }) => isPending === true) ?? false
      if (asking === undefined || first === undefined || !isApproved) return false
      const leg = yield* makeLeg(held, run, asking.assistant?.id ?? run.assistantId)
      const activated = yield* store.activate(held, Duration.fromInputUnsafe(lease), leg.room.forPrompt)
      if (activated._tag !== "Started") return false
      const answered = { calls: asking.toolCalls, results: asking.toolResults }
      const begun = { ...leg, log: openLog(events, first.sequence), first, answered }
      yield* legs.start(begun, events.length, Effect.succeed(activated.history))
      return true
    })

    yield* Deferred.succeed(yield* Resumption, (held, run, events) =>
      Effect.catch(run.status === "QUEUED" ? goOnQueued(held, run) : goOnApproved(held, run, events), (error) =>
        error._tag === "StoreUnavailable" ? Effect.fail(error) : Effect.succeed(false)
      )
    )
  })
)
