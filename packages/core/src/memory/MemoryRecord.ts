/**
 * A memory: one fact about a person or one lasting agreement, remembered across the threads of an assistant. `Memories` manages them by
 * hand, `Learning` writes what was learned from a turn, `MemoryPart` recalls them in later turns.
 */
import * as Schema from "effect/Schema"
import { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"

/** Identifies a fact that an assistant remembers; it stays the same when the fact changes. */
export const MemoryId = Schema.NonEmptyString.pipe(Schema.brand("MemoryId"))
export type MemoryId = typeof MemoryId.Type

/** The messages that a memory was learned from. */
export const MemorySource = Schema.Struct({
  threadId: ThreadId,
  runId: RunId,
  messageIds: Schema.Array(MessageId)
})
export type MemorySource = typeof MemorySource.Type

export const MemoryRecord = Schema.Struct({
  id: MemoryId,
  assistantId: AssistantId,
  content: Schema.String,
  metadata: Schema.NullOr(Schema.JsonObject),
  /** Null: written by hand. */
  source: Schema.NullOr(MemorySource),
  /** The newest later turns that confirmed it, oldest first. */
  confirmedBy: Schema.Array(MemorySource),
  /** The time from which and until which it is true, if that was said. */
  validFrom: Schema.NullOr(Schema.Date),
  validUntil: Schema.NullOr(Schema.Date),
  /** When it was said, in which conversation and by whom, if that is known. Memories of one session are found by each other's words. */
  saidAt: Schema.NullOr(Schema.Date),
  session: Schema.NullOr(Schema.String),
  speaker: Schema.NullOr(Schema.String),
  /** When it was learned, and when its text was last changed. */
  createdAt: Schema.Date,
  updatedAt: Schema.Date
})
export type MemoryRecord = typeof MemoryRecord.Type

/** An earlier text of a memory. */
export interface MemoryVersion {
  readonly content: string
  readonly metadata: Schema.JsonObject | null
  readonly source: MemorySource | null
  readonly confirmedBy: ReadonlyArray<MemorySource>
  readonly validFrom: Date | null
  readonly validUntil: Date | null
  readonly writtenAt: Date
  readonly replacedAt: Date
}

/** The maximum of confirming turns that are stored with a memory. */
export const mostConfirmations = 20

/** The most UTF-16 units of a memory's text. */
export const longestMemory = 4_000
/** The most UTF-16 units of the name of a session or a speaker. */
export const longestName = 255

/** The assistant has no memory with this id. */
export class MemoryNotFound extends Schema.TaggedError<MemoryNotFound>()("MemoryNotFound", {
  memoryId: Schema.String
}) {
  override get message() {
    return `There is no memory ${this.memoryId}.`
  }
}

/** The text is not kept: it is empty, too long, a secret, or there already; or a name is empty or too long. */
export class MemoryUnusable extends Schema.TaggedError<MemoryUnusable>()("MemoryUnusable", {
  reason: Schema.Literals(["empty", "too_long", "secret", "copy", "name"])
}) {
  override get message() {
    switch (this.reason) {
      case "empty":
        return "The memory has no words. Send a text with at least one letter or digit."
      case "too_long":
        return `The memory has more than ${longestMemory} characters. Send a shorter text, or several memories.`
      case "name":
        return `The name of a session or a speaker is empty or has more than ${longestName} characters. Send a shorter name, or none.`
      case "secret":
        return "The memory holds a password, a key or a card number. Such things are never remembered; leave them out."
      case "copy":
        return "Another memory says the same. Change that one, or delete it first."
    }
  }
}

/** Null: there is none. */
export const isUsableName = (name: string | null): boolean =>
  name === null || (name.trim() !== "" && name.length <= longestName)

/** Texts that differ only in case, punctuation or spaces have the same key. An assistant has one memory for each key. */
export const memoryKey = (content: string): string =>
  content
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}+#]+/gu, " ")
    .trim()
