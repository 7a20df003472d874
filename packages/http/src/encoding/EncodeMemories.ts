/** From memories of the kernel to those of the wire. Total functions: nothing is decided here. */
import type { MemoryOperation, MemoryOutcome, MemoryRecord, MemorySource, MemoryVersion } from "@colloquy/core/wings"
import { timestampOrNull, writeTimestamp } from "../wire/Fields.ts"
import type * as Wire from "../wire/Memories.ts"

const sourceToWire = (source: MemorySource): Wire.Memory["confirmed_by"][number] => ({
  thread_id: source.threadId,
  run_id: source.runId,
  message_ids: source.messageIds
})

const provenanceToWire = ({ confirmedBy, source }: Pick<MemoryRecord, "confirmedBy" | "source">) => ({
  source: source === null ? null : sourceToWire(source),
  confirmed_by: confirmedBy.map(sourceToWire)
})

export const memoryToWire = (memory: MemoryRecord, score: number | null = null): Wire.Memory => ({
  id: memory.id,
  content: memory.content,
  metadata: memory.metadata,
  score,
  ...provenanceToWire(memory),
  valid_from: timestampOrNull(memory.validFrom),
  valid_until: timestampOrNull(memory.validUntil),
  said_at: timestampOrNull(memory.saidAt),
  session: memory.session,
  speaker: memory.speaker,
  created_at: writeTimestamp(memory.createdAt),
  updated_at: writeTimestamp(memory.updatedAt)
})

export const versionToWire = (version: MemoryVersion): Wire.MemoryHistory["versions"][number] => ({
  content: version.content,
  metadata: version.metadata,
  ...provenanceToWire(version),
  valid_from: timestampOrNull(version.validFrom),
  valid_until: timestampOrNull(version.validUntil),
  written_at: writeTimestamp(version.writtenAt),
  replaced_at: writeTimestamp(version.replacedAt)
})

type Changed = Wire.MemoryOperation["memory_ids"][number]["event"]

const events: { readonly [Event in MemoryOutcome["event"]]: Changed | null } = {
  Added: "ADD",
  Updated: "UPDATE",
  // Another memory says the same.
  Merged: "DELETE",
  Deleted: "DELETE",
  Known: null,
  Gone: null,
  Full: null
}

export const operationToWire = (operation: MemoryOperation): Wire.MemoryOperation => {
  const memory_ids = operation.changes.flatMap(({ content, event, id }) => {
    const changed = events[event]
    return changed === null ? [] : [{ id, event: changed, memory: content }]
  })
  return {
    operation_id: operation.id,
    status: operation.status,
    memory_ids,
    result_count: memory_ids.length,
    error: operation.error,
    created_at: writeTimestamp(operation.createdAt),
    updated_at: writeTimestamp(operation.updatedAt)
  }
}
