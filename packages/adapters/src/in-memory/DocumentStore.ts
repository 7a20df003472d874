/** `DocumentStore` in memory. */
import type { OwnerId, ThreadId } from "@colloquy/core"
import type { BlobId, DocumentId, Refusal, RefusedByLimit, StorageLimits } from "@colloquy/core/adapters"
import {
  type Attempt,
  type Document,
  type DocumentFilter,
  type DocumentScope,
  DocumentStore
} from "@colloquy/core/wings"
import * as Option from "effect/Option"
import { oldestFirst } from "./AssistantStore.ts"
import { isOrdered, storeFollowUps } from "./FollowUpStore.ts"
import {
  findAssistant,
  type DocumentRow,
  insertNew,
  ownedStep,
  ownedWrite,
  allShelves,
  step,
  findThread,
  type State
} from "./State.ts"

export const documentStore = (state: State): typeof DocumentStore.Service => {
  const findRow = (ownerId: OwnerId, id: DocumentId) => {
    const row = state.documents.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  const findDocuments = (ownerId: OwnerId, isWanted: (document: Document) => boolean) =>
    [...state.documents.values()]
      .filter((row) => row.ownerId === ownerId && isWanted(row.document))
      .map((row) => row.document)
      .sort(oldestFirst)
  const has = (ownerId: OwnerId, scope: DocumentScope) =>
    scope._tag === "Assistant"
      ? findAssistant(state, ownerId, scope.assistantId) !== undefined
      : findThread(state, ownerId, scope.threadId) !== undefined
  const current = (ownerId: OwnerId, { documentId, number }: Attempt) => {
    const row = findRow(ownerId, documentId)
    return row?.document.status === "processing" && row.attempts === number ? row : undefined
  }
  const change = (row: DocumentRow | undefined, fields: Partial<Document>): boolean => {
    if (row !== undefined) row.document = { ...row.document, ...fields }
    return row !== undefined
  }

  return DocumentStore.of({
    insert: (document, followUps, limits = null) =>
      ownedWrite(state, "DocumentStore.insert", (ownerId, now): boolean | RefusedByLimit => {
        if (!has(ownerId, document.scope)) return false
        const refusal =
          limits === null
            ? null
            : insertRefusal(
                findDocuments(ownerId, () => true),
                document,
                limits
              )
        if (refusal !== null) return { _tag: "OverLimit", refusal }
        const row = { ownerId, document: shelved(state, document), attempts: 0, revokedAt: null }
        insertNew(state.documents, document.id, row)
        storeFollowUps(state, ownerId, now, followUps)
        return true
      }),
    findAddressed: (id) =>
      step(() =>
        Option.map(Option.fromNullishOr(state.documents.get(id)), ({ ownerId, revokedAt }) => ({ ownerId, revokedAt }))
      ),
    revokeAddresses: (id, at) =>
      ownedStep((ownerId) => {
        const rows = [...state.documents.values()].filter(
          (row) => row.ownerId === ownerId && (id === null || row.document.id === id)
        )
        for (const row of rows) row.revokedAt = at
        return rows.length
      }),
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(findRow(ownerId, id)?.document)),
    getMany: (ids) => ownedStep((ownerId) => findDocuments(ownerId, ({ id }) => ids.includes(id))),
    list: (listing, { limit, skip }) =>
      ownedStep((ownerId) => {
        const isListed = ({ scope }: Document) => {
          if ("owned" in listing) return true
          return "within" in listing
            ? isWithin(state, { assistantId: listing.within }, scope)
            : matches(state, listing, scope)
        }
        return findDocuments(ownerId, isListed).slice(skip, skip + limit)
      }),
    survey: (filters) =>
      ownedStep((ownerId) => {
        const found = findDocuments(ownerId, ({ scope }) => filters.some((filter) => matches(state, filter, scope)))
        return {
          completed: found.filter(({ chunkCount, status }) => status === "completed" && chunkCount !== null).length,
          processing: found
            .filter(({ status }) => status === "processing")
            .map(({ filename, id }) => ({ id, filename })),
          shelves: filters.flatMap((filter) => {
            const row = "threadId" in filter ? findThread(state, ownerId, filter.threadId) : undefined
            return row === undefined ? [] : allShelves(row)
          })
        }
      }),
    shelves: (threadId) =>
      ownedStep((ownerId) => {
        const row = findThread(state, ownerId, threadId)
        return row === undefined ? [threadId] : allShelves(row)
      }),
    beginAttempt: (id, at) =>
      ownedStep((ownerId) => {
        const row = findRow(ownerId, id)
        if (row?.document.status !== "processing") return Option.none()
        row.attempts++
        change(row, { processingStartedAt: row.document.processingStartedAt ?? at, updatedAt: at })
        return Option.some({ attempt: { documentId: id, number: row.attempts }, document: row.document })
      }),
    report: (attempt, progress, at) =>
      ownedStep((ownerId) => change(current(ownerId, attempt), { ...progress, updatedAt: at })),
    finish: (attempt, outcome, at) =>
      ownedStep((ownerId) =>
        change(current(ownerId, attempt), { ...outcome, updatedAt: at, processingCompletedAt: at })
      ),
    setSummary: (id, summary, at) =>
      ownedStep((ownerId) => {
        const row = findRow(ownerId, id)
        if (row?.document.status !== "completed") return false
        row.document = { ...row.document, summary, updatedAt: at }
        return true
      }),
    remove: (id) =>
      ownedStep((ownerId) => {
        const row = findRow(ownerId, id)
        state.documents.delete(row?.document.id ?? id)
        return Option.fromNullishOr(row?.document)
      }),
    removeAll: (of) =>
      ownedStep((ownerId) => {
        const gone = findDocuments(ownerId, ({ scope }) => isWithin(state, of, scope))
        for (const { id } of gone) state.documents.delete(id)
        return gone
      }),
    unattended: (kind, limit) =>
      step(() =>
        [...state.documents.values()]
          .filter(
            ({ document, ownerId }) => document.status === "processing" && !isOrdered(state, ownerId, kind, document.id)
          )
          .sort((one, other) => oldestFirst(one.document, other.document))
          .slice(0, limit)
          .map(({ document, ownerId }) => ({ ownerId, document }))
      ),
    blobsWithoutDocument: (ids) =>
      step(() => {
        const used = new Set<BlobId>([...state.documents.values()].map((row) => row.document.blobId))
        return ids.filter((id) => !used.has(id))
      })
  })
}

const insertRefusal = (
  stored: ReadonlyArray<Document>,
  { size }: Document,
  { bytes, documents }: StorageLimits
): Refusal | null => {
  if (documents !== null && stored.length >= documents) return { limit: "documents", left: 0, waitMillis: null }
  const left = (bytes ?? Number.POSITIVE_INFINITY) - stored.reduce((sum, document) => sum + document.size, 0)
  return size > left ? { limit: "bytes", left: Math.max(left, 0), waitMillis: null } : null
}

/** A document of a thread goes to the set to which the thread adds. */
const shelved = (state: State, document: Document): Document => {
  const { scope } = document
  const shelf = scope._tag === "Assistant" ? undefined : state.threads.get(scope.threadId)?.shelf
  if (shelf === undefined || scope._tag === "Assistant" || shelf === scope.threadId) return document
  return { ...document, scope: { ...scope, shelf } }
}

const matches = (state: State, filter: DocumentFilter, scope: DocumentScope): boolean => {
  if ("assistantId" in filter) return scope._tag === "Assistant" && scope.assistantId === filter.assistantId
  if ("threadId" in filter) {
    const row = state.threads.get(filter.threadId)
    return scope._tag !== "Assistant" && row !== undefined && allShelves(row).includes(scope.shelf ?? scope.threadId)
  }
  return scope._tag === "Message" && scope.messageId === filter.messageId
}

type Whole = Parameters<typeof DocumentStore.Service.removeAll>[0]

const isShared = (state: State, shelf: ThreadId, by: ThreadId): boolean =>
  [...state.threads.values()].some(({ shelves, thread }) => thread.id !== by && shelves.includes(shelf))

/** Whether a document belongs to a thread and no other, or to an assistant or one of its threads. */
const isWithin = (state: State, of: Whole, scope: DocumentScope): boolean => {
  if ("threadId" in of) {
    return (
      scope._tag !== "Assistant" &&
      scope.threadId === of.threadId &&
      !isShared(state, scope.shelf ?? of.threadId, of.threadId)
    )
  }
  if (matches(state, of, scope)) return true
  if (!("assistantId" in of) || scope._tag === "Assistant") return false
  return state.threads.get(scope.threadId)?.thread.assistantId === of.assistantId
}
