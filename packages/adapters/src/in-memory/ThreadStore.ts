/** `ThreadStore` in memory. */
import type { Message, ThreadId } from "@colloquy/core"
import { ThreadInSession, ThreadStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { oldestFirst } from "./AssistantStore.ts"
import {
  findAssistant,
  emptyThread,
  forgetThread,
  insertNew,
  isInSession,
  ownedStep,
  ownedWrite,
  findThread,
  type State,
  type ThreadRow
} from "./State.ts"

export const threadStore = (state: State): typeof ThreadStore.Service => {
  const messages = (ids: ReadonlyArray<ThreadId>) =>
    ownedStep((ownerId) =>
      ids.flatMap((id) => {
        const row = findThread(state, ownerId, id)
        return row === undefined ? [] : [...row.messages, ...unfinishedAnswer(row)]
      })
    )

  return ThreadStore.of({
    insert: (thread) =>
      ownedWrite(state, "ThreadStore.insert", (ownerId) => {
        if (findAssistant(state, ownerId, thread.assistantId) === undefined) return false
        insertNew(state.threads, thread.id, emptyThread(ownerId, thread))
        return true
      }),
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(findThread(state, ownerId, id)?.thread)),
    list: ({ skip, limit }, assistantId) =>
      ownedStep((ownerId) =>
        [...state.threads.values()]
          .filter((row) => row.ownerId === ownerId)
          .map((row) => row.thread)
          .filter(
            (thread) => thread.scratch !== true && (assistantId === undefined || thread.assistantId === assistantId)
          )
          .sort(oldestFirst)
          .slice(skip, skip + limit)
      ),
    messages,
    listed: messages,
    messagesBefore: (id, sequence, limit) =>
      ownedStep((ownerId) => {
        const all = findThread(state, ownerId, id)?.messages ?? []
        const end = Math.min(all.length, Math.max(0, sequence - 1))
        return all.slice(Math.max(0, end - limit), end)
      }),
    mergeMetadata: (id, fields) =>
      ownedWrite(state, "ThreadStore.mergeMetadata", (ownerId) => {
        const row = findThread(state, ownerId, id)
        if (row === undefined) return false
        const now = row.thread.metadata ?? {}
        const changed = typeof fields === "function" ? fields(now) : fields
        row.thread = { ...row.thread, metadata: { ...now, ...changed } }
        return true
      }),
    handOver: (id, assistantId) =>
      ownedWrite(state, "ThreadStore.handOver", (ownerId) => {
        const row = findThread(state, ownerId, id)
        if (row === undefined) return false
        if (assistantId !== null && findAssistant(state, ownerId, assistantId)?.isDraft !== false) return false
        const { actingAssistantId: _, ...thread } = row.thread
        row.thread = assistantId === null ? thread : { ...thread, actingAssistantId: assistantId }
        return true
      }),
    pin: (id, assistantVersion) =>
      ownedWrite(state, "ThreadStore.pin", (ownerId) => {
        const row = findThread(state, ownerId, id)
        if (row !== undefined) row.thread = { ...row.thread, assistantVersion }
        return row !== undefined
      }),
    setSummary: (id, summary) =>
      ownedStep((ownerId) => {
        const row = findThread(state, ownerId, id)
        if (row === undefined || (row.summary?.throughSequence ?? 0) >= summary.throughSequence) return false
        const { throughId, throughSequence } = summary
        if (throughId !== undefined && row.messages[throughSequence - 1]?.id !== throughId) return false
        row.summary = summary
        return true
      }),
    remove: (id) =>
      Effect.flatten(
        ownedStep((ownerId, now) => {
          const row = findThread(state, ownerId, id)
          if (row === undefined) return Effect.succeed(false)
          if (isInSession(row, now)) return Effect.fail(new ThreadInSession({ threadId: id }))
          forgetThread(state, row, now)
          return Effect.succeed(true)
        })
      )
  })
}

/** The answer of a run in progress. Readers see it, but it is stored only when the run is settled. */
const unfinishedAnswer = ({ inProgress, messages }: ThreadRow): ReadonlyArray<Message> => {
  if (inProgress === null) return []
  const { answerId, createdAt, id, model, provider, startedAt, threadId } = inProgress.run
  return [
    {
      id: answerId,
      threadId,
      runId: id,
      role: "assistant",
      content: null,
      status: "IN_PROGRESS",
      fault: null,
      stopReason: null,
      toolCalls: [],
      toolResults: [],
      steps: [],
      supplements: null,
      provider,
      model,
      assistant: null,
      usage: null,
      metadata: null,
      tokens: 0,
      createdAt: startedAt ?? createdAt,
      sequence: messages.length + 1
    }
  ]
}
