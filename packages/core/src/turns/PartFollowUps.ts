/** Step 8 of a turn, for its parts: the follow-ups that each part orders after a leg, or after a message that is only saved. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type AssistantId, FollowUpId, newId } from "../primitives/Ids.ts"
import { type Explanation, historyLeftOut } from "../prompts/Explanation.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { Lease } from "../runs/RunStore.ts"
import { supplementOf } from "../threads/Supplement.ts"
import type { FollowUpOrder, PlannedPart, SavedMessage, SettledLeg } from "./TurnPart.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

const none: ReadonlyArray<NewFollowUp> = []

const Order = Schema.Struct({
  kind: Schema.String,
  key: Schema.String,
  payload: Schema.Json,
  sequence: Schema.optionalKey(Schema.String),
  delayMillis: Schema.optionalKey(Schema.Finite)
})
const decodeOrders = Schema.decodeEffect(Schema.Array(Order))

export const followUpsOf = (
  parts: ReadonlyArray<PlannedPart>,
  leg: RecordedLeg,
  status: SettledLeg["status"],
  place: { readonly lease: Lease; readonly assistantId: AssistantId; readonly explanation: Explanation | null }
): Effect.Effect<ReadonlyArray<NewFollowUp>> => {
  if (parts.length === 0) return Effect.succeed(none)
  const { runId, threadId } = place.lease
  const settled = {
    leg,
    status,
    threadId,
    assistantId: place.assistantId,
    runId,
    historyLeftOut: historyLeftOut(place.explanation)
  }
  return ordersOf(parts, (part) => part.followUps({ ...settled, kept: supplementOf(leg, part.name)?.value ?? null }))
}

export const followUpsOfSaved = (
  parts: ReadonlyArray<PlannedPart>,
  saved: SavedMessage
): Effect.Effect<ReadonlyArray<NewFollowUp>> =>
  parts.length === 0 ? Effect.succeed(none) : ordersOf(parts, (part) => part.followUpsOfSaved(saved))

/**
 * If a part fails here, or orders something that cannot be stored, its follow-ups are lost; the message and the run are settled all the
 * same.
 */
const ordersOf = (
  parts: ReadonlyArray<PlannedPart>,
  ask: (part: PlannedPart) => ReadonlyArray<FollowUpOrder>
): Effect.Effect<ReadonlyArray<NewFollowUp>> =>
  Effect.flatMap(
    Effect.forEach(parts, (part) =>
      Effect.catchCause(
        Effect.flatMap(
          Effect.sync(() => ask(part)),
          decodeOrders
        ),
        (cause) => Effect.as(Effect.logError(`The follow-ups of the part "${part.name}" are lost`, cause), [])
      )
    ),
    (orders) => ordered(orders.flat())
  )

/** Adds an id and a creation time to each order. */
export const ordered = (orders: ReadonlyArray<FollowUpOrder>): Effect.Effect<ReadonlyArray<NewFollowUp>> =>
  orders.length === 0
    ? Effect.succeed(none)
    : Effect.gen(function* () {
        const createdAt = new Date(yield* Clock.currentTimeMillis)
        return yield* Effect.forEach(orders, ({ delayMillis = 0, key, kind, payload, sequence = null }) =>
          Effect.map(newId(FollowUpId), (id) => ({ id, kind, key, payload, sequence, delayMillis, createdAt }))
        )
      })
