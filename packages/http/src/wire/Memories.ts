/** Memories as the wire shows them, what clients send of them, and how the learning of a turn went. */
import * as Schema from "effect/Schema"
import { readDate, longestName } from "@colloquy/core/wings"
import { maybe, maybeOr, Timestamp } from "./Fields.ts"

const integer = Schema.Int

/** Of one search. */
export const mostFound = 50

/** A day or a time. A pattern alone lets the 31st of February pass. */
const Moment = Schema.String.check(
  Schema.makeFilter((text: string) => readDate(text) !== null || "Expected a date or a time of ISO 8601 (2026-05-03)")
)
const Name = Schema.String.check(
  Schema.isPattern(/\S/u, { expected: "a name that is not blank" }),
  Schema.isMaxLength(longestName)
)

const Source = Schema.Struct({
  thread_id: Schema.String,
  run_id: Schema.String,
  message_ids: Schema.Array(Schema.String)
})

export const Memory = Schema.Struct({
  id: Schema.String,
  content: Schema.String,
  metadata: Schema.NullOr(Schema.JsonObject),
  /** Of a search; null elsewhere. */
  score: Schema.NullOr(Schema.Finite),
  /** Null: written by hand. */
  source: Schema.NullOr(Source),
  /** Later turns that said the same again, oldest first; of many the newest twenty. */
  confirmed_by: Schema.Array(Source),
  /** From when on, and until when, it is true, as far as that was said. */
  valid_from: Schema.NullOr(Timestamp),
  valid_until: Schema.NullOr(Timestamp),
  /** When, in which conversation and by whom it was said, as far as that is known. */
  said_at: Schema.NullOr(Timestamp),
  session: Schema.NullOr(Schema.String),
  speaker: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  updated_at: Timestamp
}).annotate({ identifier: "Memory" })
export type Memory = typeof Memory.Type

export const MemoryRequest = Schema.Struct({
  content: Schema.String,
  metadata: maybe(Schema.JsonObject),
  /** When, in which conversation and by whom it was said. Memories of one session are also found by the words of those beside them. */
  said_at: maybe(Moment),
  session: maybe(Name),
  speaker: maybe(Name)
}).annotate({ identifier: "MemoryRequest" })
export type MemoryRequest = typeof MemoryRequest.Type

export const MemorySearchRequest = Schema.Struct({
  query: Schema.String.check(Schema.isPattern(/\S/u, { expected: "a text that is not blank" })),
  limit: maybeOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostFound })), 5),
  /** Only memories that were true at this time, in the words that they had then. */
  at: maybe(Moment)
}).annotate({ identifier: "MemorySearchRequest" })
export type MemorySearchRequest = typeof MemorySearchRequest.Type

/** The last three fields are there when a page was asked for. */
export const MemoryList = Schema.Struct({
  memories: Schema.Array(Memory),
  total_count: integer,
  page: Schema.optionalKey(integer),
  page_size: Schema.optionalKey(integer),
  total_pages: Schema.optionalKey(integer)
}).annotate({ identifier: "MemoryList" })
export type MemoryList = typeof MemoryList.Type

/** Best first. `note`: the query was longer than a search takes. */
export const MemorySearchResponse = Schema.Struct({
  memories: Schema.Array(Memory),
  total_count: integer,
  note: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "MemorySearchResponse" })

export const MemoryCreated = Schema.Struct({
  success: Schema.Literal(true),
  memory_id: Schema.String,
  content: Schema.String
}).annotate({ identifier: "MemoryCreated", httpApiStatus: 201 })

export const MemoryDone = Schema.Struct({ success: Schema.Literal(true), message: Schema.String }).annotate({
  identifier: "MemoryDone"
})

export const MemoryStats = Schema.Struct({
  total_memories: integer,
  last_updated: Schema.NullOr(Timestamp),
  limits: Schema.Struct({
    content_characters: integer,
    search_results: integer
  })
}).annotate({ identifier: "MemoryStats" })

/** Earlier versions of a memory, newest first. */
export const MemoryHistory = Schema.Struct({
  versions: Schema.Array(
    Schema.Struct({
      content: Memory.fields.content,
      metadata: Memory.fields.metadata,
      source: Memory.fields.source,
      confirmed_by: Memory.fields.confirmed_by,
      valid_from: Memory.fields.valid_from,
      valid_until: Memory.fields.valid_until,
      written_at: Timestamp,
      replaced_at: Timestamp
    })
  ),
  total_count: integer
}).annotate({ identifier: "MemoryHistory" })
export type MemoryHistory = typeof MemoryHistory.Type

/** One JSON object a line. */
export const MemoryLines = Schema.String.annotate({
  identifier: "MemoryLines",
  description:
    "One memory a line, each a JSON object with `content`, and where there are any `metadata`, `learned`, `from`, `until`, `said_at`, `session` and `speaker`"
})

export const MemoryImported = Schema.Struct({
  imported: integer,
  /** The number of memories that existed already. */
  skipped: integer
}).annotate({ identifier: "MemoryImported" })

export const MemoryOperation = Schema.Struct({
  operation_id: Schema.String,
  status: Schema.Literals(["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED"]),
  /** A change; `memory` is null if the memory has been deleted. */
  memory_ids: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      event: Schema.Literals(["ADD", "UPDATE", "DELETE"]),
      memory: Schema.NullOr(Schema.String)
    })
  ),
  result_count: integer,
  /** Why it failed. */
  error: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  updated_at: Timestamp
}).annotate({ identifier: "MemoryOperation" })
export type MemoryOperation = typeof MemoryOperation.Type
