/**
 * Pure: what a memory said for a given time. A memory that changed keeps its earlier texts as versions; each was true until the next one
 * began to be.
 */
import type { MemoryRecord, MemoryVersion } from "./MemoryRecord.ts"

/** Without a beginning it was always true. */
export const isBegun = ({ validFrom }: Pick<MemoryRecord, "validFrom">, at: Date): boolean =>
  validFrom === null || validFrom.getTime() <= at.getTime()

/** The memory with the text that was true at the time; null if nothing was. `versions` are newest first. */
export const textTrueAt = (
  memory: MemoryRecord,
  versions: ReadonlyArray<MemoryVersion>,
  at: Date
): MemoryRecord | null => {
  let known = memory
  for (const { replacedAt: _, writtenAt, ...version } of versions) {
    if (isBegun(known, at)) break
    const validUntil = version.validUntil ?? known.validFrom
    known = { ...known, ...version, validUntil, updatedAt: writtenAt }
  }
  const { validUntil } = known
  return isBegun(known, at) && (validUntil === null || validUntil.getTime() > at.getTime()) ? known : null
}
