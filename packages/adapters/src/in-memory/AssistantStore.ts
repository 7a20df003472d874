/** `AssistantStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import { AssistantStore } from "@colloquy/core/adapters"
import * as Option from "effect/Option"
import { assistantOf, forgetAssistant, insertNew, ownedStep, threadOf, type State } from "./State.ts"

export const assistantStore = (state: State): typeof AssistantStore.Service =>
  AssistantStore.of({
    insert: (assistant) =>
      ownedStep((ownerId) => {
        insertNew(state.assistants, assistant.id, { ownerId, assistant })
      }),
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(assistantOf(state, ownerId, id)?.assistant)),
    ofThread: (threadId) =>
      ownedStep((ownerId) => {
        const row = threadOf(state, ownerId, threadId)
        const assistant = row && assistantOf(state, ownerId, row.thread.assistantId)?.assistant
        return row && assistant ? Option.some({ assistant, thread: row.thread, summary: row.summary }) : Option.none()
      }),
    list: ({ skip, limit }, name) =>
      ownedStep((ownerId) =>
        assistantsOf(state, ownerId)
          .filter((assistant) => name === undefined || assistant.name === name)
          .slice(skip, skip + limit)
      ),
    update: (id, patch, at) =>
      ownedStep((ownerId) => {
        const row = assistantOf(state, ownerId, id)
        if (row === undefined) return Option.none()
        row.assistant = { ...row.assistant, ...patch, updatedAt: at }
        return Option.some(row.assistant)
      }),
    remove: (id) =>
      ownedStep((ownerId) => {
        const row = assistantOf(state, ownerId, id)
        if (row !== undefined) forgetAssistant(state, id)
        return row !== undefined
      })
  })

const assistantsOf = (state: State, ownerId: OwnerId) =>
  [...state.assistants.values()]
    .filter((row) => row.ownerId === ownerId)
    .map((row) => row.assistant)
    .sort(oldestFirst)

/** The sort is stable: records of one moment stay in the order in which they came. */
export const oldestFirst = (a: { readonly createdAt: Date }, b: { readonly createdAt: Date }): number =>
  a.createdAt.getTime() - b.createdAt.getTime()
