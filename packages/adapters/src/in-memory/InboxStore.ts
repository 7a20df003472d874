/** `InboxStore` in memory. Every change of a run's state goes through `move` of `State`, which records it. */
import { InboxStore, longestPreview, type RunPosition, type RunSummary } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import { ownedStep, ownedWrite, findRun, type RunRow, type State } from "./State.ts"

export const inboxStore = (state: State): typeof InboxStore.Service =>
  InboxStore.of({
    list: ({ after, assistantId, limit, since, status, threadId }) =>
      ownedStep((ownerId) =>
        [...state.runs.values()]
          .filter(
            ({ run, thread }) =>
              thread.ownerId === ownerId &&
              thread.thread.scratch !== true &&
              (status === undefined || run.status === status) &&
              (assistantId === undefined || run.assistantId === assistantId) &&
              (threadId === undefined || run.threadId === threadId) &&
              (since === undefined || run.createdAt >= since) &&
              (after === undefined || isNewer(after, run))
          )
          .toSorted((a, b) => (isNewer(a.run, b.run) ? -1 : 1))
          .slice(0, limit)
          .map(runSummary)
      ),

    summary: (runId) =>
      ownedStep((ownerId) => {
        const row = findRun(state, ownerId, runId)
        return row === undefined || row.thread.thread.scratch === true ? null : runSummary(row)
      }),

    follow: (time, kept) =>
      ownedWrite(state, "InboxStore.follow", (ownerId, now) => {
        const until = Math.max(state.followed.get(ownerId) ?? 0, now + Duration.toMillis(time))
        state.followed.set(ownerId, until)
        const oldest = now - Duration.toMillis(kept)
        const newest = state.runChanges.findLast((change) => change.ownerId === ownerId)?.mark ?? 0
        const stay = state.runChanges.filter((change) => change.ownerId !== ownerId || change.at > oldest)
        state.runChanges.splice(0, state.runChanges.length, ...stay)
        return newest
      }),

    changes: (after, kept, limit) =>
      ownedStep((ownerId, now) => {
        const oldest = now - Duration.toMillis(kept)
        const page = state.runChanges
          .filter((change) => change.ownerId === ownerId && change.mark > after && change.at > oldest)
          .slice(0, limit)
        return page.flatMap(({ mark, runId }, index) => {
          const row = findRun(state, ownerId, runId)
          const isNewest = page.findLastIndex((change) => change.runId === runId) === index
          return row === undefined || row.thread.thread.scratch === true || !isNewest
            ? []
            : [{ mark, run: runSummary(row) }]
        })
      })
  })

const isNewer = (a: RunPosition, b: RunPosition): boolean => {
  const apart = a.createdAt.getTime() - b.createdAt.getTime()
  return apart === 0 ? a.id > b.id : apart > 0
}

const runSummary = ({ messages, run, thread }: RunRow): RunSummary => {
  const newest = thread.messages[(messages.at(-1) ?? 0) - 1]
  const content = newest?.role === "assistant" ? newest.content : null
  return {
    id: run.id,
    threadId: run.threadId,
    assistantId: run.assistantId,
    assistantVersion: run.assistantVersion,
    status: run.status,
    provider: run.provider,
    model: run.model,
    usage: run.usage,
    modelCalls: run.modelCalls,
    scheduleId: run.scheduleId,
    parentRunId: run.parentRunId,
    fault: run.fault,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    firstTokenAt: run.firstTokenAt,
    endedAt: run.endedAt,
    contentPreview: content?.slice(0, longestPreview) ?? null
  }
}
