/** `AssistantStore` in memory. */
import { type Assistant, type AssistantId, type OwnerId, Principal } from "@colloquy/core"
import {
  AssistantInSession,
  type AssistantStored,
  AssistantStore,
  actorName,
  type ThreadInContext,
  type VersionedAssistant
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { findKey, keepAnswer } from "./IdempotencyKeys.ts"
import {
  findAssistant,
  type AssistantRow,
  forgetAssistant,
  insertNew,
  isInSession,
  ownedStep,
  ownedWrite,
  allShelves,
  type State,
  findThread,
  type ThreadRow
} from "./State.ts"

export const assistantStore = (state: State): typeof AssistantStore.Service => {
  const findDraft = (ownerId: OwnerId, id: AssistantId) => {
    const row = findAssistant(state, ownerId, id)
    return row?.isDraft === true ? row : undefined
  }
  const findVisible = (ownerId: OwnerId, id: AssistantId) => {
    const row = findAssistant(state, ownerId, id)
    return row?.isDraft === true ? undefined : row
  }
  const insert = (assistant: Assistant, isDraft: boolean) =>
    Principal.use((principal) =>
      ownedWrite(state, "AssistantStore.insert", (ownerId) => {
        const by = actorName(principal)
        insertNew(state.assistants, assistant.id, { ownerId, assistant, isDraft, by, changes: [], older: [] })
      })
    )

  const storedVersions = (ownerId: OwnerId, id: AssistantId): ReadonlyArray<VersionedAssistant> => {
    const row = findVisible(ownerId, id)
    return row === undefined ? [] : [...row.older, present(row)]
  }

  return AssistantStore.of({
    insert: (assistant) => insert(assistant, false),
    insertDraft: (assistant) => insert(assistant, true),
    publish: (id) =>
      ownedWrite(state, "AssistantStore.publish", (ownerId) => {
        const row = findDraft(ownerId, id)
        if (row !== undefined) row.isDraft = false
        return row !== undefined
      }),
    discard: (id) =>
      ownedStep((ownerId, now) => {
        const row = findDraft(ownerId, id)
        if (row !== undefined) forgetAssistant(state, id, now)
        return row !== undefined
      }),
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(findVisible(ownerId, id)?.assistant)),
    ofThread: (threadId) =>
      ownedStep((ownerId) => {
        const row = findThread(state, ownerId, threadId)
        return Option.fromNullishOr(row && inContext(state, row))
      }),
    list: ({ skip, limit }, name) =>
      ownedStep((ownerId) =>
        ownersAssistants(state, ownerId)
          .filter((assistant) => name === undefined || assistant.name === name)
          .slice(skip, skip + limit)
      ),
    update: ({ after, before, changes, once = null }) =>
      Principal.use((principal) =>
        ownedWrite(state, "AssistantStore.update", (ownerId, now): AssistantStored => {
          const row = findVisible(ownerId, before.id)
          if (row?.assistant.version !== before.version) return "changed"
          if (once !== null && findKey(state, ownerId, once.key, now) !== undefined) return "repeated"
          keepAnswer(state, ownerId, once, now)
          if (after.version === before.version) return "stored"
          row.older.push(present(row))
          Object.assign(row, { assistant: after, by: actorName(principal), changes })
          return "stored"
        })
      ),
    versions: (id, { before = Number.POSITIVE_INFINITY, limit }) =>
      ownedStep((ownerId) =>
        storedVersions(ownerId, id)
          .filter(({ version }) => version < before)
          .toReversed()
          .slice(0, limit)
          .map(({ assistant: _, ...version }) => version)
      ),
    version: (id, version) =>
      ownedStep((ownerId) =>
        Option.fromNullishOr(storedVersions(ownerId, id).find((each) => each.version === version))
      ),
    remove: (id) =>
      Effect.flatten(
        ownedStep((ownerId, now) => {
          if (findVisible(ownerId, id) === undefined) return Effect.succeed(false)
          const threads = [...state.threads.values()].filter(({ thread }) => thread.assistantId === id)
          if (threads.some((thread) => isInSession(thread, now))) {
            return Effect.fail(new AssistantInSession({ assistantId: id }))
          }
          forgetAssistant(state, id, now)
          return Effect.succeed(true)
        })
      )
  })
}

const present = ({ assistant, by, changes }: AssistantRow): VersionedAssistant => ({
  version: assistant.version,
  createdAt: assistant.updatedAt,
  by,
  changes,
  assistant
})

export const inContext = (state: State, row: ThreadRow): ThreadInContext | undefined => {
  const { ownerId, rewinds, summary, thread } = row
  const answering = findAssistant(state, ownerId, thread.actingAssistantId ?? thread.assistantId)
  if (answering?.isDraft !== false) return undefined
  const { assistant } = answering
  const shelves = allShelves(row)
  const hasDocuments = [...state.documents.values()].some(({ document: { scope } }) =>
    scope._tag === "Assistant" ? scope.assistantId === assistant.id : shelves.includes(scope.shelf ?? scope.threadId)
  )
  const revision = JSON.stringify([
    stateNumber(assistant),
    thread.metadata,
    thread.assistantVersion,
    thread.actingAssistantId,
    summary?.throughSequence,
    rewinds,
    hasDocuments
  ])
  return { assistant, thread, summary, hasDocuments, revision }
}

const states = new WeakMap<Assistant, number>()
let newest = 0

/** Identifies the state of an assistant. Every change creates a new object, so each object gets a number. */
const stateNumber = (assistant: Assistant): number => {
  const known = states.get(assistant) ?? ++newest
  states.set(assistant, known)
  return known
}

const ownersAssistants = (state: State, ownerId: OwnerId) =>
  [...state.assistants.values()]
    .filter((row) => row.ownerId === ownerId && !row.isDraft)
    .map((row) => row.assistant)
    .sort(oldestFirst)

/** The sort is stable, so records with the same time stay in the order in which they were stored. */
export const oldestFirst = (a: { readonly createdAt: Date }, b: { readonly createdAt: Date }): number =>
  a.createdAt.getTime() - b.createdAt.getTime()
