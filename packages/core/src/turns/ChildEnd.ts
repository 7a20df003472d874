/** The follow-up that tells the run above that the run of its helper has ended. It is stored with that end, so any process does it. */
import * as Effect from "effect/Effect"
import type { RunId } from "../primitives/Ids.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { MessageStatus } from "../threads/Message.ts"
import { parentField } from "./ChildRuns.ts"
import { ordered } from "./PartFollowUps.ts"
import type { TurnPlan } from "./TurnPlan.ts"

export const childEndKind = "helper-end"

/** The first leg of a helper is heard by the call itself. A run that waited has no caller any more. */
export const endFollowUps = (
  { leg, runId, status }: { readonly leg: number; readonly runId: RunId; readonly status: MessageStatus },
  plan: Pick<TurnPlan, "parent">
): Effect.Effect<ReadonlyArray<NewFollowUp>> =>
  leg === 0 || status === "REQUIRES_ACTION" ? Effect.succeed([]) : tellAbove(runId, plan)

export const tellAbove = (
  key: RunId,
  plan: Pick<TurnPlan, "parent">,
  delayMillis = 0
): Effect.Effect<ReadonlyArray<NewFollowUp>> => {
  const parent = parentField(plan)
  if (parent === null) return Effect.succeed([])
  const { runId, threadId } = parent
  return ordered([{ kind: childEndKind, key, payload: { threadId, runId }, sequence: runId, delayMillis }])
}
