/** Pure: the transcripts of what the user speaks: when they are late, and what the client is told of them beside their words. */
import type * as Duration from "effect/Duration"
import { type Conversation, type Entry, entryText, pendingTranscripts } from "./Conversation.ts"
import type { VendorEvent } from "./RealtimeModel.ts"
import { millis } from "./SessionLimits.ts"
import { type Action, nothing, tell } from "./SessionSteps.ts"

/** A turn that is still being spoken has no transcript to be late with. */
const due = ({ awaitedSince }: Entry, limit: Duration.Input): number =>
  awaitedSince === null ? Number.POSITIVE_INFINITY : awaitedSince + millis(limit)

export const nextTranscriptDue = (conversation: Conversation, limit: Duration.Input): number =>
  Math.min(...pendingTranscripts(conversation).map((entry) => due(entry, limit)), Number.POSITIVE_INFINITY)

export const lateTranscripts = (conversation: Conversation, limit: Duration.Input, now: number): ReadonlyArray<Entry> =>
  pendingTranscripts(conversation).filter((entry) => due(entry, limit) <= now)

export const startedTranscript = ({ isOpen, itemId }: Extract<VendorEvent, { _tag: "UserItem" }>): Action =>
  tell({ _tag: "TranscriptStarted", itemId, role: "user", ...(isOpen === undefined ? {} : { isOpen }) })

export const failedTranscript = (itemId: string): Action => tell({ _tag: "TranscriptFailed", itemId, role: "user" })

/** Nothing was said in a turn of which words were told: they are replaced by none. */
export const takenBack = ({ entries }: Conversation, itemId: string): ReadonlyArray<Action> =>
  entries.some((entry) => entry.key === itemId && entryText(entry) !== "")
    ? [tell({ _tag: "TranscriptFinal", role: "user", itemId, text: "" })]
    : nothing
