/** `DocumentStore` in memory. */
import type { OwnerId } from "@colloquy/core"
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
import { assistantOf, type DocumentRow, insertNew, ownedStep, ownedWrite, step, threadOf, type State } from "./State.ts"

export const documentStore = (state: State): typeof DocumentStore.Service => {
  const rowOf = (ownerId: OwnerId, id: DocumentId) => {
    const row = state.documents.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  const documentsOf = (ownerId: OwnerId, isWanted: (document: Document) => boolean) =>
    [...state.documents.values()]
      .filter((row) => row.ownerId === ownerId && isWanted(row.document))
      .map((row) => row.document)
      .sort(oldestFirst)
  const has = (ownerId: OwnerId, scope: DocumentScope) =>
    scope._tag === "Assistant"
      ? assistantOf(state, ownerId, scope.assistantId) !== undefined
      : threadOf(state, ownerId, scope.threadId) !== undefined
  const current = (ownerId: OwnerId, { documentId, number }: Attempt) => {
    const row = rowOf(ownerId, documentId)
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
            : refusalOf(
                documentsOf(ownerId, () => true),
                document,
                limits
              )
        if (refusal !== null) return { _tag: "OverLimit", refusal }
        insertNew(state.documents, document.id, { ownerId, document, attempts: 0, revokedAt: null })
        storeFollowUps(state, ownerId, now, followUps)
        return true
      }),
    ownerOf: (id) =>
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
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(rowOf(ownerId, id)?.document)),
    getMany: (ids) => ownedStep((ownerId) => documentsOf(ownerId, ({ id }) => ids.includes(id))),
    list: (listing, { limit, skip }) =>
      ownedStep((ownerId) => {
        const isListed = ({ scope }: Document) => {
          if ("owned" in listing) return true
          return "within" in listing ? isWithin(state, { assistantId: listing.within }, scope) : matches(listing, scope)
        }
        return documentsOf(ownerId, isListed).slice(skip, skip + limit)
      }),
    survey: (filters) =>
      ownedStep((ownerId) => {
        const found = documentsOf(ownerId, ({ scope }) => filters.some((filter) => matches(filter, scope)))
        return {
          completed: found.filter(({ chunkCount, status }) => status === "completed" && chunkCount !== null).length,
          processing: found
            .filter(({ status }) => status === "processing")
            .map(({ filename, id }) => ({ id, filename }))
        }
      }),
    beginAttempt: (id, at) =>
      ownedStep((ownerId) => {
        const row = rowOf(ownerId, id)
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
        const row = rowOf(ownerId, id)
        if (row?.document.status !== "completed") return false
        row.document = { ...row.document, summary, updatedAt: at }
        return true
      }),
    remove: (id) =>
      ownedStep((ownerId) => {
        const row = rowOf(ownerId, id)
        state.documents.delete(row?.document.id ?? id)
        return Option.fromNullishOr(row?.document)
      }),
    removeAll: (of) =>
      ownedStep((ownerId) => {
        const gone = documentsOf(ownerId, ({ scope }) => isWithin(state, of, scope))
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

const refusalOf = (
  stored: ReadonlyArray<Document>,
  { size }: Document,
  { bytes, documents }: StorageLimits
): Refusal | null => {
  if (documents !== null && stored.length >= documents) return { limit: "documents", left: 0, waitMillis: null }
  const left = (bytes ?? Number.POSITIVE_INFINITY) - stored.reduce((sum, document) => sum + document.size, 0)
  return size > left ? { limit: "bytes", left: Math.max(left, 0), waitMillis: null } : null
}

const matches = (filter: DocumentFilter, scope: DocumentScope): boolean => {
  if ("assistantId" in filter) return scope._tag === "Assistant" && scope.assistantId === filter.assistantId
  if ("threadId" in filter) return scope._tag !== "Assistant" && scope.threadId === filter.threadId
  return scope._tag === "Message" && scope.messageId === filter.messageId
}

type Whole = Parameters<typeof DocumentStore.Service.removeAll>[0]

/** Whether a document belongs to a thread, or to an assistant or one of its threads. */
const isWithin = (state: State, of: Whole, scope: DocumentScope): boolean => {
  if (matches(of, scope)) return true
  if (!("assistantId" in of) || scope._tag === "Assistant") return false
  return state.threads.get(scope.threadId)?.thread.assistantId === of.assistantId
}
