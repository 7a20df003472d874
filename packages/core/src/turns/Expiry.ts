/** The follow-up that rejects calls which nobody has approved in time. It is stored with the leg that asks, so any process does it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { Lease } from "../runs/LogRecords.ts"
import type { MessageStatus } from "../threads/Message.ts"
import { ordered } from "./PartFollowUps.ts"
import type { RecordedLeg } from "./TurnRecorder.ts"

export const expiryKind = "approval-expiry"

export const ExpiryPayload = Schema.Struct({ threadId: ThreadId, runId: RunId, messageId: MessageId })

export const listExpiries = (
  { messageId, openCalls }: Pick<RecordedLeg, "messageId" | "openCalls">,
  status: MessageStatus,
  { runId, threadId }: Lease
): Effect.Effect<ReadonlyArray<NewFollowUp>> => {
  const expiresAt =
    status === "REQUIRES_ACTION" ? openCalls.find(({ approval }) => approval?.expiresAt != null) : undefined
  if (expiresAt?.approval?.expiresAt == null) return Effect.succeed(none)
  const due = Date.parse(expiresAt.approval.expiresAt)
  return Effect.flatMap(Clock.currentTimeMillis, (now) =>
    ordered([
      { kind: expiryKind, key: messageId, payload: { threadId, runId, messageId }, delayMillis: Math.max(0, due - now) }
    ])
  )
}

const none: ReadonlyArray<NewFollowUp> = []
