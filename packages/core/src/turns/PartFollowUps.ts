/** Step 8 of a turn, for its parts: the follow-ups that each part orders after a leg, or after a message that is only saved. */
import * as Effect from "effect/Effect"
import type { AssistantId } from "../primitives/Ids.ts"
import { type FollowUpOrder, type NewFollowUp, newFollowUp } from "../runs/FollowUp.ts"
import type { Lease } from "../runs/LogRecords.ts"
import { readSupplement } from "../threads/Supplement.ts"
import type { PlannedPart } from "./RegisteredPart.ts"
import type { SavedMessage, SettledLeg } from "./TurnPart.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

const none: ReadonlyArray<NewFollowUp> = []

export const partFollowUps = (
  parts: ReadonlyArray<PlannedPart>,
  leg: RecordedLeg,
  status: SettledLeg["status"],
  {
    assistantId,
    leavingSoon,
    lease
  }: { readonly lease: Lease; readonly assistantId: AssistantId; readonly leavingSoon: number }
): Effect.Effect<ReadonlyArray<NewFollowUp>> => {
  if (parts.length === 0) return Effect.succeed(none)
  const { runId, threadId } = lease
  const settled = {
    leg,
    status,
    threadId,
    assistantId,
    runId,
    historyLeavingSoon: leavingSoon
  }
  return followUpOrders(parts, (part) =>
    part.followUps({ ...settled, kept: readSupplement(leg, part.name)?.value ?? null })
  )
}

export const followUpsOfSaved = (
  parts: ReadonlyArray<PlannedPart>,
  saved: SavedMessage
): Effect.Effect<ReadonlyArray<NewFollowUp>> =>
  parts.length === 0 ? Effect.succeed(none) : followUpOrders(parts, (part) => part.followUps(saved))

const followUpOrders = (
  parts: ReadonlyArray<PlannedPart>,
  ask: (part: PlannedPart) => Effect.Effect<ReadonlyArray<FollowUpOrder>>
): Effect.Effect<ReadonlyArray<NewFollowUp>> =>
  Effect.flatMap(Effect.forEach(parts, ask), (orders) => ordered(orders.flat()))

/** Adds an id and a creation time to each order. */
export const ordered = (orders: ReadonlyArray<FollowUpOrder>): Effect.Effect<ReadonlyArray<NewFollowUp>> =>
  orders.length === 0 ? Effect.succeed(none) : Effect.forEach(orders, newFollowUp)
