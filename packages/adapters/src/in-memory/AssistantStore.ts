/** `AssistantStore` in memory. */
import type { Assistant, AssistantId, OwnerId } from "@colloquy/core"
import { AssistantInSession, AssistantStore, type ThreadInContext } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  assistantOf,
  forgetAssistant,
  insertNew,
  isInSession,
  ownedStep,
  ownedWrite,
  type State,
  threadOf,
  type ThreadRow
} from "./State.ts"

export const assistantStore = (state: State): typeof AssistantStore.Service => {
  const draftOf = (ownerId: OwnerId, id: AssistantId) => {
    const row = assistantOf(state, ownerId, id)
    return row?.isDraft === true ? row : undefined
  }
  const visibleOf = (ownerId: OwnerId, id: AssistantId) => {
    const row = assistantOf(state, ownerId, id)
    return row?.isDraft === true ? undefined : row
  }
  const insert = (assistant: Assistant, isDraft: boolean) =>
    ownedWrite(state, "AssistantStore.insert", (ownerId) => {
      insertNew(state.assistants, assistant.id, { ownerId, assistant, isDraft })
    })

  return AssistantStore.of({
    insert: (assistant) => insert(assistant, false),
    insertDraft: (assistant) => insert(assistant, true),
    publish: (id) =>
      ownedStep((ownerId) => {
        const row = draftOf(ownerId, id)
        if (row !== undefined) row.isDraft = false
        return row !== undefined
      }),
    discard: (id) =>
      ownedStep((ownerId, now) => {
        const row = draftOf(ownerId, id)
        if (row !== undefined) forgetAssistant(state, id, now)
        return row !== undefined
      }),
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(visibleOf(ownerId, id)?.assistant)),
    ofThread: (threadId) =>
      ownedStep((ownerId) => {
        const row = threadOf(state, ownerId, threadId)
        return Option.fromNullishOr(row && inContext(state, row))
      }),
    list: ({ skip, limit }, name) =>
      ownedStep((ownerId) =>
        assistantsOf(state, ownerId)
          .filter((assistant) => name === undefined || assistant.name === name)
          .slice(skip, skip + limit)
      ),
    update: (id, patch, at) =>
      ownedWrite(state, "AssistantStore.update", (ownerId) => {
        const row = visibleOf(ownerId, id)
        if (row === undefined) return Option.none()
        row.assistant = { ...row.assistant, ...patch, updatedAt: at }
        return Option.some(row.assistant)
      }),
    remove: (id) =>
      Effect.flatten(
        ownedStep((ownerId, now) => {
          if (visibleOf(ownerId, id) === undefined) return Effect.succeed(false)
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

export const inContext = (state: State, { ownerId, summary, thread }: ThreadRow): ThreadInContext | undefined => {
  const assistant = assistantOf(state, ownerId, thread.assistantId)?.assistant
  if (assistant === undefined) return undefined
  const hasDocuments = [...state.documents.values()].some(({ document: { scope } }) =>
    scope._tag === "Assistant" ? scope.assistantId === assistant.id : scope.threadId === thread.id
  )
  const revision = JSON.stringify([versionOf(assistant), thread.metadata, summary?.throughSequence, hasDocuments])
  return { assistant, thread, summary, hasDocuments, revision }
}

const versions = new WeakMap<Assistant, number>()
let newest = 0

/** The version of an assistant. Every change creates a new object, so each object gets a number. */
const versionOf = (assistant: Assistant): number => {
  const version = versions.get(assistant) ?? ++newest
  versions.set(assistant, version)
  return version
}

const assistantsOf = (state: State, ownerId: OwnerId) =>
  [...state.assistants.values()]
    .filter((row) => row.ownerId === ownerId && !row.isDraft)
    .map((row) => row.assistant)
    .sort(oldestFirst)

/** The sort is stable, so records with the same time stay in the order in which they were stored. */
export const oldestFirst = (a: { readonly createdAt: Date }, b: { readonly createdAt: Date }): number =>
  a.createdAt.getTime() - b.createdAt.getTime()
