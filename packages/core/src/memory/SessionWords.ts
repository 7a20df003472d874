/**
 * Pure: how memories of one conversation lend each other words. A turn such as "Yes, three of them!" is found by the words of the turns
 * before and after it, as turns of a stored conversation are (`turnWeighting`). This holds for memories that were written or imported with a
 * `session`; learned ones are found by the sentences that they were learned from (`Learning`).
 *
 * A write changes the words of the memories beside it too. So the code that adds, changes or removes a memory of a session weighs these again.
 */
import type { Steps } from "../primitives/Steps.ts"
import type { Passage } from "../retrieval/Impacts.ts"
import { turnWeighting } from "../retrieval/Impacts.ts"
import { preparingTurns } from "../retrieval/Indexing.ts"
import { type MemoryId, memoryKey, type MemoryRecord } from "./MemoryRecord.ts"
import type { MemoryTerms, ReweighedMemory, SessionPosition } from "./MemoryStore.ts"

/** How far words are lent. */
const lends = Math.max(turnWeighting.before.length, turnWeighting.behind.length)
/** The memories on each side of a position that are needed to weigh those next to it, and the memory of the position itself. */
export const reach = 2 * lends + 1

const saidOrCreatedAt = ({ createdAt, saidAt }: MemoryRecord): Date => saidAt ?? createdAt

const isLending = ({ session, source }: MemoryRecord): boolean => session !== null && source === null

/** `told` are sentences that it was learned from. */
export const memoryPassage = ({ content, saidAt, speaker }: MemoryRecord, told = ""): Passage => ({
  text: content,
  label: speaker ?? "",
  context: told,
  said: saidAt
})

export interface SessionWrite {
  /** As they will be. */
  readonly written: ReadonlyArray<MemoryRecord>
  /** As they were before they are changed or removed. */
  readonly before: ReadonlyArray<MemoryRecord>
}

/** Where `MemoryStore.beside` looks for the memories that a write concerns. A new memory comes after those of the same moment. */
export const touchedPositions = ({ before, written }: SessionWrite): ReadonlyArray<SessionPosition> => {
  const known = new Set(before.map(({ id }) => id))
  const positions = [...before, ...written].filter(isLending).flatMap((memory): ReadonlyArray<SessionPosition> => {
    const { id, session } = memory
    return session === null ? [] : [{ session, at: saidOrCreatedAt(memory), id: known.has(id) ? id : null }]
  })
  return [...new Map(positions.map((position) => [JSON.stringify(position), position])).values()]
}

export interface SessionTerms {
  /** Those of the written memories that have a session. */
  readonly written: ReadonlyMap<MemoryId, MemoryTerms>
  /** The new terms of the memories beside them. */
  readonly beside: ReadonlyArray<ReweighedMemory>
}

/** `beside` are the memories at the positions, in their order. `around` are texts in the probable language. */
export function* weighingSessions(
  write: SessionWrite,
  beside: ReadonlyArray<MemoryRecord>,
  around: ReadonlyArray<string>
): Steps<SessionTerms> {
  const changed = new Set([...write.before, ...write.written].map(({ id }) => id))
  const terms = new Map<MemoryId, MemoryTerms>()
  for (const sequence of sessionSequences(write, beside)) {
    for (const [id, indexed] of yield* weighingOne(sequence, changed, around)) terms.set(id, indexed)
  }
  const contents = new Map(beside.map((memory) => [memory.id, memory]))
  return {
    written: terms,
    beside: [...terms].flatMap(([id, indexed]) => {
      const memory = contents.get(id)
      return memory === undefined || changed.has(id) ? [] : [{ id, content: memory.content, indexed }]
    })
  }
}

interface Sequence {
  readonly was: ReadonlyArray<MemoryRecord>
  readonly is: ReadonlyArray<MemoryRecord>
}

/** Each session before and after the write. */
const sessionSequences = (
  { before, written }: SessionWrite,
  beside: ReadonlyArray<MemoryRecord>
): Iterable<Sequence> => {
  const old = new Set(before.map(({ id }) => id))
  const changedTo = new Map(written.map((memory) => [memory.id, memory]))
  const kept = beside.flatMap((memory) => {
    const now = old.has(memory.id) ? changedTo.get(memory.id) : memory
    return now === undefined || !isLending(now) || now.session !== memory.session ? [] : [now]
  })
  const known = new Set(kept.map(({ id }) => id))
  const keys = new Set(kept.map(wordsKey))
  const added = written.filter((memory) => {
    if (!isLending(memory) || known.has(memory.id)) return false
    // A copy of a memory will not be stored.
    const isCopy = keys.has(wordsKey(memory))
    keys.add(wordsKey(memory))
    return !isCopy
  })
  const was = Map.groupBy(beside, ({ session }) => session)
  const is = Map.groupBy([...kept, ...added], ({ session }) => session)
  return [...new Set([...was.keys(), ...is.keys()])].map((session) => ({
    was: was.get(session) ?? [],
    is: (is.get(session) ?? []).toSorted((a, b) => saidOrCreatedAt(a).getTime() - saidOrCreatedAt(b).getTime())
  }))
}

const wordsKey = ({ content, session }: MemoryRecord): string => JSON.stringify([session, memoryKey(content)])

/** The new terms of the changed memories of a session and of those near them. */
function* weighingOne(
  { is, was }: Sequence,
  changed: ReadonlySet<MemoryId>,
  around: ReadonlyArray<string>
): Steps<ReadonlyMap<MemoryId, MemoryTerms>> {
  const near = new Set([...nearChanged(was, changed), ...nearChanged(is, changed)])
  const { chunks, language } = yield* preparingTurns(
    is.map((memory) => memoryPassage(memory)),
    around
  )
  return new Map(
    is.flatMap(({ id }, index): ReadonlyArray<[MemoryId, MemoryTerms]> => {
      const indexed = chunks[index]
      if (!near.has(id) || indexed === undefined) return []
      return [[id, { language, chunks: [{ ...indexed, chunk: { ...indexed.chunk, ordinal: 0 } }] }]]
    })
  )
}

const nearChanged = (
  memories: ReadonlyArray<MemoryRecord>,
  changed: ReadonlySet<MemoryId>
): ReadonlyArray<MemoryId> => {
  const indices = memories.flatMap(({ id }, index) => (changed.has(id) ? [index] : []))
  return indices.flatMap((index) => memories.slice(Math.max(0, index - lends), index + lends + 1).map(({ id }) => id))
}
