/** Converts rows of the table `follow_ups`, and new follow-ups to the JSON argument of the schema's function `add_follow_ups`. */
import { type FollowUp, OwnerId } from "@colloquy/core"
import { type FollowUpId, type NewFollowUp } from "@colloquy/core/adapters"
import { newRowId } from "./StoredId.ts"
import { fromJson, fromText, fromTextOrNull, toText, toTextOrNull } from "./StoredText.ts"

export interface FollowUpRow {
  readonly owner: string
  readonly id: FollowUpId
  readonly ordinal: bigint
  readonly kind: string
  readonly key: string
  readonly payload: string
  readonly sequence: string | null
  readonly is_urgent: boolean
  readonly status: FollowUp["status"]
  readonly attempts: number
  readonly token: bigint
  readonly last_error: string | null
  readonly created_at: Date
  readonly ended_at: Date | null
}

/** `f.owner, f.id, …` */
export const followUpColumns = [
  "owner",
  "id",
  "ordinal",
  "kind",
  "key",
  "payload",
  "sequence",
  "is_urgent",
  "status",
  "attempts",
  "token",
  "last_error",
  "created_at",
  "ended_at"
]
  .map((column) => `f.${column}`)
  .join(", ")

export const decodeFollowUp = (row: FollowUpRow): FollowUp => ({
  id: row.id,
  ownerId: OwnerId.make(fromText(row.owner)),
  kind: fromText(row.kind),
  key: fromText(row.key),
  payload: fromJson(row.payload),
  sequence: fromTextOrNull(row.sequence),
  isUrgent: row.is_urgent,
  status: row.status,
  attempts: row.attempts,
  lastError: fromTextOrNull(row.last_error),
  createdAt: row.created_at,
  endedAt: row.ended_at
})

/** Null for an empty list, so that the usual settlement, which has no follow-ups, sends and parses nothing. */
export const followUpsArgument = (followUps: ReadonlyArray<NewFollowUp>): string | null =>
  followUps.length === 0
    ? null
    : JSON.stringify(
        followUps.map(({ createdAt, delayMillis, id, isUrgent, key, kind, payload, sequence }) => ({
          id: newRowId(id),
          kind: toText(kind),
          key: toText(key),
          payload: JSON.stringify(payload),
          sequence: toTextOrNull(sequence),
          delay: delayMillis,
          is_urgent: isUrgent === true,
          created_at: createdAt
        }))
      )
