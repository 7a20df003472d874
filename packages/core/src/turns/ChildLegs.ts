/**
 * Later legs of runs that stand above or below others: the usage of a run inside since the leg that waited for it, and the usage of the
 * runs above one.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { addUsage, type Usage } from "../primitives/Usage.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run } from "../runs/Run.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { Message } from "../threads/Message.ts"
import {
  CallCount,
  callsIn,
  type ChildRun,
  childRuns,
  mostModelCalls,
  parentField,
  withoutChildren
} from "./ChildRuns.ts"
import type { NewLeg } from "./Leg.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { decodePlan } from "./TurnPlan.ts"

type Reads = Pick<typeof RunStore.Service, "get" | "messages">

/** Adds a sequence to an event. */
type NewEvent = (sequence: number) => TurnEvent

/** The usage of the runs inside since the leg that waited for them. The next leg begins with these events. */
export const endsInside = (
  store: Reads,
  asking: Message | undefined
): Effect.Effect<ReadonlyArray<NewEvent>, StoreUnavailable, Principal> => {
  const waited = asking?.toolCalls.flatMap(({ waitsFor }) => waitsFor ?? []) ?? []
  const found = Effect.forEach(
    waited,
    Effect.fnUntraced(function* ({ runId }) {
      const run = yield* store.get(runId)
      const before = asking === undefined ? undefined : childRuns(asking).find((child) => child.runId === runId)
      if (Option.isNone(run) || before === undefined) return []
      const { modelCalls, status: _, usage, ...child } = before
      const calls = callsIn(yield* store.messages(runId)) - modelCalls
      const end = {
        status: run.value.status,
        usage: withoutChildren(run.value.usage, [{ usage }]),
        modelCalls: Math.max(0, calls)
      }
      return [
        (sequence: number): TurnEvent => ({ _tag: "ChildBegan", sequence, child }),
        (sequence: number): TurnEvent => ({ _tag: "ChildEnded", sequence, runId, end })
      ]
    })
  )
  return Effect.map(found, (events) => events.flat())
}

/** The model calls and the budget that the turn at the top leaves to a further leg of a run. Undefined: the run is nobody's helper. */
export const shareBelow = Effect.fnUntraced(function* (
  store: Reads,
  run: Run
): Effect.fn.Return<NewLeg["child"], StoreUnavailable, Principal> {
  const parent = parentField(decodePlan(run.plan))
  if (parent === null) return undefined
  let top = run
  let usage: Usage = run.usage
  let made = callsIn(yield* store.messages(run.id))
  while (top.parentRunId !== null) {
    const above = yield* store.get(top.parentRunId)
    if (Option.isNone(above)) break
    const messages = yield* store.messages(above.value.id)
    const known = messages.flatMap(childRuns).filter(({ runId }) => runId === top.id)
    // The record of a run has what its helpers had used when it began to wait.
    usage = addUsage(withoutChildren(usage, known), above.value.usage)
    made += callsIn(messages) - countCalls(known)
    top = above.value
  }
  const above = withoutChildren(usage, [run])
  let calls = CallCount.of(mostModelCalls - made)
  for (let depth = 0; depth < parent.depth; depth++) calls = calls.begin() ?? CallCount.of(0)
  return {
    runId: run.id,
    parent: parent.runId,
    parentThread: parent.threadId,
    depth: parent.depth,
    calls,
    budget: { above: (amount) => amount(above), tell: () => {} }
  }
})

const countCalls = (children: ReadonlyArray<ChildRun>): number =>
  children.reduce((sum, { modelCalls }) => sum + modelCalls, 0)
