/** Converts rows to memories and versions, and changes to the JSON argument of the schema's function `apply_memory_changes`. */
import type { AssistantId } from "@colloquy/core"
import {
  type IndexedMemory,
  type MemoryChange,
  type MemoryId,
  memoryKey,
  type MemoryRecord,
  type MemorySource,
  type MemoryVersion,
  type ReweighedMemory
} from "@colloquy/core/wings"
import type * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { encodeSegment, encodeVector } from "./ChunkRecord.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJsonOrNull, fromText, fromTextOrNull, toJson, toText } from "./StoredText.ts"

interface ContentRow {
  readonly content: string
  readonly metadata: string | null
  readonly source: string | null
  readonly confirmed_by: string | null
  readonly valid_from: Date | null
  readonly valid_until: Date | null
}

export interface MemoryRow extends ContentRow {
  readonly id: MemoryId
  readonly assistant_id: AssistantId
  readonly said_at: Date | null
  readonly session: string | null
  readonly speaker: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

export interface VersionRow extends ContentRow {
  readonly written_at: Date
  readonly replaced_at: Date
}

/** `m.id, m.assistant_id, …` */
export const memoryColumns = [
  "id",
  "assistant_id",
  "content",
  "metadata",
  "source",
  "confirmed_by",
  "valid_from",
  "valid_until",
  "said_at",
  "session",
  "speaker",
  "created_at",
  "updated_at"
]
  .map((column) => `m.${column}`)
  .join(", ")

const decodeContent = (row: ContentRow) => ({
  content: fromText(row.content),
  metadata: fromJsonOrNull<Schema.JsonObject>(row.metadata),
  source: fromJsonOrNull<MemorySource>(row.source),
  confirmedBy: fromJsonOrNull<ReadonlyArray<MemorySource>>(row.confirmed_by) ?? [],
  validFrom: row.valid_from,
  validUntil: row.valid_until
})

export const decodeMemory = (row: MemoryRow): MemoryRecord => ({
  id: row.id,
  assistantId: row.assistant_id,
  ...decodeContent(row),
  saidAt: row.said_at,
  session: fromTextOrNull(row.session),
  speaker: fromTextOrNull(row.speaker),
  createdAt: row.created_at,
  updatedAt: row.updated_at
})

export const decodeVersion = (row: VersionRow): MemoryVersion => ({
  ...decodeContent(row),
  writtenAt: row.written_at,
  replacedAt: row.replaced_at
})

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex")

/** Two memories of one assistant with the same hash are copies of each other; `memoryKey` ignores case and spaces. */
const copyHash = (content: string): string => sha256(toText(memoryKey(content)))

/** The hash that `set_memory_vectors` compares with the hash of the column `content`. */
export const hashOfContent = (content: string): string => sha256(toText(content))

export const changesArgument = (changes: ReadonlyArray<MemoryChange>, keepsVectors: boolean): string =>
  JSON.stringify(
    changes.map((change) =>
      change._tag === "Delete"
        ? { change: change._tag, id: knownId(change.id) }
        : { change: change._tag, ...memoryArguments(change.memory), ...indexArguments(change.indexed, keepsVectors) }
    )
  )

export const besideArgument = (beside: ReadonlyArray<ReweighedMemory>): string =>
  JSON.stringify(
    beside.map(({ content, id, indexed: { chunks, language } }) => {
      const { impacts, offsets, terms } = encodeSegment(chunks)
      return { id: newRowId(id), hash: hashOfContent(content), language, terms, offsets, impacts }
    })
  )

const textOrNull = (text: string | null): string | null => (text === null ? null : toText(text))

const memoryArguments = (memory: MemoryRecord) => ({
  id: newRowId(memory.id),
  content: toText(memory.content),
  content_hash: copyHash(memory.content),
  metadata: toJson(memory.metadata),
  source: toJson(memory.source),
  confirmed_by: memory.confirmedBy.length === 0 ? null : toJson(memory.confirmedBy),
  valid_from: memory.validFrom,
  valid_until: memory.validUntil,
  said_at: memory.saidAt,
  session: textOrNull(memory.session),
  speaker: textOrNull(memory.speaker),
  created_at: memory.createdAt,
  updated_at: memory.updatedAt
})

const indexArguments = ({ chunks, language, vectors }: IndexedMemory, keepsVectors: boolean) => {
  const kept = keepsVectors ? vectors : null
  return {
    language,
    ...encodeSegment(chunks),
    model: kept === null ? null : toText(kept.model.name),
    dimensions: kept?.model.dimensions ?? null,
    ordinals: kept?.values.map((_, ordinal) => ordinal) ?? [],
    vectors: kept?.values.map(encodeVector) ?? []
  }
}
