/** `MemoryStore` in memory, the reference implementation. It searches memories with the functions of the index of chunks. */
import { type AssistantId, type OwnerId } from "@colloquy/core"
import { DocumentId, newId } from "@colloquy/core/adapters"
import {
  candidates,
  type IndexedMemory,
  type MemoryChange,
  MemoryId,
  memoryKey,
  type MemoryOutcome,
  type MemoryRecord,
  type MemorySource,
  MemoryStore,
  type MemoryVersion,
  mostConfirmations,
  type ReweighedMemory,
  scopeOfMemories,
  type SessionPosition,
  type VectorModel
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { oldestFirst } from "./AssistantStore.ts"
import { type Entry, makeEntry, searchIn, setVectors } from "./ChunkIndex.ts"
import { countMemories } from "./QuotaStore.ts"
import {
  findAssistant,
  type MemoriesOfAssistant,
  type MemoryRow,
  ownedStep,
  ownedWrite,
  type State,
  findThread
} from "./State.ts"

export const memoryStore = (state: State): typeof MemoryStore.Service => {
  const findMemories = (ownerId: OwnerId, id: AssistantId): MemoriesOfAssistant | undefined => {
    if (findAssistant(state, ownerId, id) === undefined) return undefined
    const found = state.memories.get(id) ?? { rows: new Map(), puts: 0, forgottenAt: Number.NEGATIVE_INFINITY }
    state.memories.set(id, found)
    return found
  }
  const memoryRows = (ownerId: OwnerId, id: AssistantId): ReadonlyArray<MemoryRow> => [
    ...(findMemories(ownerId, id)?.rows.values() ?? [])
  ]

  return MemoryStore.of({
    keepsVectors: true,
    apply: ({ assistantId, at, beside, changes, learned, most = null }) =>
      ownedWrite(state, "MemoryStore.apply", (ownerId) => {
        const memories = findMemories(ownerId, assistantId)
        if (memories === undefined) return Option.none()
        const isFull = () => most !== null && countMemories(state, ownerId) >= most
        const applied = (isLearned: boolean) => {
          const outcomes = changes.map((change) => applyTo(memories, change, { at, isFull, isLearned }))
          for (const each of beside) reweigh(memories, each)
          return outcomes
        }
        if (learned === null) return Option.some(applied(false))
        const before = state.appliedRuns.get(learned.runId)
        if (before !== undefined) return Option.some(before.outcomes)
        const isForgotten =
          memories.forgottenAt >= learned.orderedAt.getTime() ||
          (learned.threadId !== undefined && findThread(state, ownerId, learned.threadId) === undefined)
        const outcomes = isForgotten ? [] : applied(true)
        state.appliedRuns.set(learned.runId, { ownerId, assistantId, outcomes, appliedAt: at })
        return Option.some(outcomes)
      }),
    applied: (runId) =>
      ownedStep((ownerId) => {
        const row = state.appliedRuns.get(runId)
        const memories = row?.ownerId === ownerId ? findMemories(ownerId, row.assistantId) : undefined
        if (row === undefined || memories === undefined) return Option.none()
        const { appliedAt, assistantId } = row
        const outcomes = row.outcomes.map((outcome) => ({
          ...outcome,
          content: memories.rows.get(outcome.id)?.memory.content ?? null
        }))
        return Option.some({ assistantId, outcomes, appliedAt })
      }),
    get: (assistantId, id) =>
      ownedStep((ownerId) => Option.fromNullishOr(findMemories(ownerId, assistantId)?.rows.get(id)?.memory)),
    existing: (ids) =>
      ownedStep((ownerId) =>
        [...new Set(ids)].filter((id) =>
          [...state.memories].some(
            ([assistantId, { rows }]) => rows.has(id) && findAssistant(state, ownerId, assistantId)
          )
        )
      ),
    list: (assistantId, window) =>
      ownedStep((ownerId) => {
        const memories = memoryRows(ownerId, assistantId)
          .map(({ memory }) => memory)
          .sort(oldestFirst)
        const total = memories.length
        return { memories: window === null ? memories : memories.slice(window.skip, window.skip + window.limit), total }
      }),
    history: (assistantId, id) =>
      ownedStep((ownerId) => findMemories(ownerId, assistantId)?.rows.get(id)?.versions.toReversed() ?? []),
    beside: (assistantId, positions, reach) =>
      ownedStep((ownerId) => {
        const all = memoryRows(ownerId, assistantId)
          .map(({ memory }) => memory)
          .filter(({ source }) => source === null)
          .sort((a, b) => saidOrCreatedAt(a) - saidOrCreatedAt(b))
        const found = new Set(positions.flatMap((position) => besideIn(all, position, reach)))
        return all.filter((memory) => found.has(memory))
      }),
    survey: (assistantId) =>
      ownedStep((ownerId) => {
        const times = memoryRows(ownerId, assistantId).map(({ memory }) => memory.updatedAt.getTime())
        return { total: times.length, lastUpdated: times.length === 0 ? null : new Date(Math.max(...times)) }
      }),
    removeAll: (assistantId, at) =>
      ownedStep((ownerId) => {
        const memories = findMemories(ownerId, assistantId)
        if (memories === undefined) return { memories: 0, versions: 0 }
        const rows = [...memories.rows.values()]
        const removed = { memories: rows.length, versions: rows.reduce((sum, row) => sum + row.versions.length, 0) }
        memories.rows.clear()
        memories.forgottenAt = Math.max(memories.forgottenAt, at.getTime())
        return removed
      }),
    copyAll: Effect.fnUntraced(function* (from, to) {
      const rows = yield* ownedStep((ownerId) => memoryRows(ownerId, from))
      const copies = yield* Effect.forEach(rows, (row) => Effect.map(newId(MemoryId), (id) => copyMemory(row, id, to)))
      return yield* ownedWrite(state, "MemoryStore.copyAll", (ownerId) => {
        const memories = findMemories(ownerId, to)
        const added = memories === undefined ? [] : copies.filter((row) => add(memories, row).event === "Added")
        return added.length
      })
    }),
    search: ({ assistantId, limit, terms, trueAt, vector }) =>
      ownedStep((ownerId) => {
        const memories = findMemories(ownerId, assistantId)
        const rows = [...(memories?.rows.values() ?? [])]
        const entries = rows.sort((a, b) => a.put - b.put).map(({ entry }) => entry)
        const scopes = [scopeOfMemories(assistantId)]
        return searchIn(entries, { scopes, terms, vector, limit: candidates * 2 })
          .flatMap(({ documentId, lexical, score, semantic }) => {
            const memory = memories?.rows.get(MemoryId.make(documentId))?.memory
            return memory === undefined ? [] : [{ memory, score, lexical, semantic }]
          })
          .filter(({ memory }) => trueAt === null || isTrueAt(memory, trueAt))
          .slice(0, limit)
      }),
    withoutVectors: (assistantId, model, limit) =>
      ownedStep((ownerId) =>
        memoryRows(ownerId, assistantId)
          .filter(({ entry }) => !fits(entry.vectors.get(0)?.model, model))
          .map(({ memory }) => memory)
          .sort(oldestFirst)
          .slice(0, limit)
      ),
    setVectors: (assistantId, model, vectors) =>
      ownedStep((ownerId) => {
        const memories = findMemories(ownerId, assistantId)
        const fitting = vectors.flatMap(({ content, id, values }) => {
          const row = memories?.rows.get(id)
          return row?.memory.content === content ? [{ row, values }] : []
        })
        for (const { row, values } of fitting) {
          const { documentId, revision, scope } = row.entry
          setVectors(row.entry, { documentId, scope, revision, model, values: [{ ordinal: 0, vector: values }] })
        }
        return fitting.length
      })
  })
}

const fits = (
  kept: VectorModel | undefined,
  { dimensions, name }: { readonly name: string; readonly dimensions: number | null }
): boolean => kept?.name === name && (dimensions === null || kept.dimensions === dimensions)

const isTrueAt = ({ validUntil }: MemoryRecord, moment: Date): boolean =>
  validUntil === null || validUntil.getTime() > moment.getTime()

const saidOrCreatedAt = ({ createdAt, saidAt }: MemoryRecord): number => (saidAt ?? createdAt).getTime()

/** `all` are in order. */
const besideIn = (
  all: ReadonlyArray<MemoryRecord>,
  { at, id, session }: SessionPosition,
  reach: number
): ReadonlyArray<MemoryRecord> => {
  const said = all.filter((memory) => memory.session === session)
  const own = said.findIndex((memory) => memory.id === id)
  const position = own === -1 ? said.filter((memory) => saidOrCreatedAt(memory) <= at.getTime()).length : own + 1
  return said.slice(Math.max(0, position - reach), position + reach)
}

const reweigh = (memories: MemoriesOfAssistant, { content, id, indexed }: ReweighedMemory): void => {
  const row = memories.rows.get(id)
  if (row === undefined || row.memory.content !== content) return
  const { language, postings } = makeEntry({ ...row.entry, ...indexed, vectors: null }, row.entry.revision)
  row.entry = { ...row.entry, language, postings }
}

interface ChangeContext {
  readonly at: Date
  /** Whether a run makes the change, and not a user. */
  readonly isLearned: boolean
  /** Whether the owner may have no further memory. */
  readonly isFull: () => boolean
}

const applyTo = (memories: MemoriesOfAssistant, change: MemoryChange, context: ChangeContext): MemoryOutcome => {
  switch (change._tag) {
    case "Add": {
      if (context.isFull() && copyIn(memories, change.memory) === undefined)
        return { event: "Full", id: change.memory.id }
      const outcome = add(memories, { memory: change.memory, versions: [], entry: entryOfMemory(change) })
      if (context.isLearned && outcome.event === "Known") confirm(memories, outcome.id, change.memory.source)
      return outcome
    }
    case "Update":
      return update(memories, change, context)
    case "Delete":
      return { event: memories.rows.delete(change.id) ? "Deleted" : "Gone", id: change.id }
  }
}

type NewRow = Omit<MemoryRow, "put">

const add = (memories: MemoriesOfAssistant, row: NewRow): MemoryOutcome => {
  const copy = copyIn(memories, row.memory)
  if (copy !== undefined) return { event: "Known", id: copy.id }
  memories.rows.set(row.memory.id, { ...row, put: ++memories.puts })
  return { event: "Added", id: row.memory.id }
}

const update = (
  memories: MemoriesOfAssistant,
  change: Extract<MemoryChange, { _tag: "Update" }>,
  { at, isLearned }: ChangeContext
): MemoryOutcome => {
  const { memory } = change
  const row = memories.rows.get(memory.id)
  if (row === undefined) return { event: "Gone", id: memory.id }
  const copy = copyIn(memories, memory, memory.id)
  if (copy !== undefined && !isLearned) return { event: "Known", id: copy.id }
  if (copy !== undefined) {
    const versions = memories.rows.get(copy.id)?.versions ?? []
    versions.push(...row.versions)
    versions.sort((a, b) => a.replacedAt.getTime() - b.replacedAt.getTime())
    versions.push(memoryVersion(row.memory, at))
    memories.rows.delete(memory.id)
    confirm(memories, copy.id, memory.source)
    return { event: "Merged", id: memory.id }
  }
  row.versions.push(memoryVersion(row.memory, at))
  row.memory = { ...memory, createdAt: row.memory.createdAt }
  row.entry = entryOfMemory(change)
  row.put = ++memories.puts
  return { event: "Updated", id: memory.id }
}

const memoryVersion = (
  { confirmedBy, content, metadata, source, updatedAt, validFrom, validUntil }: MemoryRecord,
  at: Date
): MemoryVersion => ({
  content,
  metadata,
  source,
  confirmedBy,
  validFrom,
  validUntil,
  writtenAt: updatedAt,
  replacedAt: at
})

const confirm = (memories: MemoriesOfAssistant, id: MemoryId, source: MemorySource | null): void => {
  const row = memories.rows.get(id)
  if (row === undefined || source === null) return
  const { confirmedBy, source: first } = row.memory
  if ([first, ...confirmedBy].some((known) => known?.runId === source.runId)) return
  row.memory = { ...row.memory, confirmedBy: [...confirmedBy, source].slice(-mostConfirmations) }
}

/** Keys of memories, because an import compares each one with all others. */
const keys = new WeakMap<MemoryRecord, string>()

const cachedKey = (memory: MemoryRecord): string => {
  const key = keys.get(memory) ?? memoryKey(memory.content)
  keys.set(memory, key)
  return key
}

const copyIn = (
  memories: MemoriesOfAssistant,
  { content }: MemoryRecord,
  except: MemoryId | null = null
): MemoryRecord | undefined => {
  const key = memoryKey(content)
  for (const { memory } of memories.rows.values()) {
    if (memory.id !== except && cachedKey(memory) === key) return memory
  }
  return undefined
}

const entryOfMemory = ({
  indexed,
  memory
}: {
  readonly memory: MemoryRecord
  readonly indexed: IndexedMemory
}): Entry => makeEntry({ ...entryIds(memory.assistantId, memory.id), ...indexed }, memory.id)

const entryIds = (assistantId: AssistantId, id: MemoryId) => ({
  scope: scopeOfMemories(assistantId),
  documentId: DocumentId.make(id)
})

const copyMemory = ({ entry, memory }: MemoryRow, id: MemoryId, to: AssistantId): NewRow => ({
  memory: { ...memory, id, assistantId: to },
  versions: [],
  entry: { ...entry, ...entryIds(to, id), revision: id, vectors: new Map(entry.vectors) }
})
