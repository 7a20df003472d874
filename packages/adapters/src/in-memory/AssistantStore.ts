/** `AssistantStore` in memory. */
import type { Assistant, AssistantId, OwnerId } from "@colloquy/core"
import { AssistantStore } from "@colloquy/core/adapters"
import * as Option from "effect/Option"
import { assistantOf, forgetAssistant, insertNew, ownedStep, threadOf, type State } from "./State.ts"

export const assistantStore = (state: State): typeof AssistantStore.Service => {
  const draftOf = (ownerId: OwnerId, id: AssistantId) => {
    const row = assistantOf(state, ownerId, id)
    return row?.isDraft === true ? row : undefined
  }
  const shownOf = (ownerId: OwnerId, id: AssistantId) => {
    const row = assistantOf(state, ownerId, id)
    return row?.isDraft === true ? undefined : row
  }
  const insert = (assistant: Assistant, isDraft: boolean) =>
    ownedStep((ownerId) => {
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
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(shownOf(ownerId, id)?.assistant)),
    ofThread: (threadId) =>
      ownedStep((ownerId) => {
        const row = threadOf(state, ownerId, threadId)
        const assistant = row && assistantOf(state, ownerId, row.thread.assistantId)?.assistant
        if (row === undefined || assistant === undefined) return Option.none()
        const hasDocuments = [...state.documents.values()].some(({ document: { scope } }) =>
          scope._tag === "Assistant" ? scope.assistantId === assistant.id : scope.threadId === row.thread.id
        )
        return Option.some({ assistant, thread: row.thread, summary: row.summary, hasDocuments })
      }),
    list: ({ skip, limit }, name) =>
      ownedStep((ownerId) =>
        assistantsOf(state, ownerId)
          .filter((assistant) => name === undefined || assistant.name === name)
          .slice(skip, skip + limit)
      ),
    update: (id, patch, at) =>
      ownedStep((ownerId) => {
        const row = shownOf(ownerId, id)
        if (row === undefined) return Option.none()
        row.assistant = { ...row.assistant, ...patch, updatedAt: at }
        return Option.some(row.assistant)
      }),
    remove: (id) =>
      ownedStep((ownerId, now) => {
        const row = shownOf(ownerId, id)
        if (row !== undefined) forgetAssistant(state, id, now)
        return row !== undefined
      })
  })
}

const assistantsOf = (state: State, ownerId: OwnerId) =>
  [...state.assistants.values()]
    .filter((row) => row.ownerId === ownerId && !row.isDraft)
    .map((row) => row.assistant)
    .sort(oldestFirst)

/** The sort is stable: records of one moment stay in the order in which they came. */
export const oldestFirst = (a: { readonly createdAt: Date }, b: { readonly createdAt: Date }): number =>
  a.createdAt.getTime() - b.createdAt.getTime()
