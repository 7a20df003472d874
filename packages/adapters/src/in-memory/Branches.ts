/** The operations of `RunStore` in memory that make threads from messages that exist. */
import { type Message, MessageId, type OwnerId, type Thread, ThreadId } from "@colloquy/core"
import type { AnsweredOnce, BranchOutcome, Cut, CutRefused, RunStore, TakeBack } from "@colloquy/core/adapters"
import type { MemorySource } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import { storeFollowUps } from "./FollowUpStore.ts"
import { findKey, keepAnswer } from "./IdempotencyKeys.ts"
import {
  findAssistant,
  closeWaiting,
  emptyThread,
  forgetRun,
  insertNew,
  isExpired,
  isInSession,
  ownedStep,
  ownedWrite,
  findThread,
  type RunRow,
  type State,
  type ThreadRow
} from "./State.ts"

type Branches = Pick<
  typeof RunStore.Service,
  "findAnswered" | "locate" | "importThread" | "forkThread" | "rewindThread"
>

const done: BranchOutcome = { _tag: "Done" }

export const branches = (state: State): Branches => ({
  findAnswered: (key) =>
    ownedStep((ownerId, now) => {
      const found = findKey(state, ownerId, key, now)
      return found?._tag === "Answered" ? Option.some(found) : Option.none()
    }),

  locate: (threadId, id) =>
    ownedStep((ownerId) => {
      const messages = findThread(state, ownerId, threadId)?.messages ?? []
      const newest = messages.at(-1)
      const message = id === null ? newest : messages.find((each) => each.id === id)
      if (newest === undefined || message === undefined) return Option.none()
      const question = messages.findLast(({ role, sequence }) => role === "user" && sequence <= message.sequence)
      return Option.some({ message, question: question ?? null, count: messages.length, newest: newest.id })
    }),

  importThread: ({ messages, once, thread }) =>
    ownedWrite(state, "RunStore.importThread", (ownerId, now): BranchOutcome => {
      const answered = answeredBefore(state, ownerId, once, now)
      if (answered !== undefined) return answered
      if (findAssistant(state, ownerId, thread.assistantId) === undefined) return { _tag: "ThreadMissing" }
      addThread(
        state,
        ownerId,
        thread,
        messages.map((message, index) => ({ ...message, sequence: index + 1 }))
      )
      keepAnswer(state, ownerId, once, now)
      return done
    }),

  forkThread: ({ from, once, thread }) =>
    ownedWrite(state, "RunStore.forkThread", (ownerId, now): BranchOutcome => {
      const refused = answeredBefore(state, ownerId, once, now) ?? refuseCut(state, ownerId, from, now)
      const source = findThread(state, ownerId, from.threadId)
      if (refused !== undefined || source === undefined) return refused ?? { _tag: "ThreadMissing" }
      const row = addThread(state, ownerId, thread, copies(source, from.keeps, thread.id))
      shareWith(state, source, row)
      keepAnswer(state, ownerId, once, now)
      return done
    }),

  rewindThread: ({ at, followUps, once, threadId, ...back }) =>
    ownedWrite(state, "RunStore.rewindThread", (ownerId, now): BranchOutcome => {
      const refused = answeredBefore(state, ownerId, once, now) ?? refuseCut(state, ownerId, { ...back, threadId }, now)
      const row = findThread(state, ownerId, threadId)
      if (refused !== undefined || row === undefined) return refused ?? { _tag: "ThreadMissing" }
      takeBack(state, row, back, at)
      storeFollowUps(state, ownerId, now, followUps)
      keepAnswer(state, ownerId, once, now)
      return done
    })
})

const answeredBefore = (
  state: State,
  ownerId: OwnerId,
  once: AnsweredOnce | null,
  now: number
): BranchOutcome | undefined => {
  const found = once === null ? undefined : findKey(state, ownerId, once.key, now)
  return found?._tag === "Repeated" ? { _tag: "Answered", fingerprint: found.fingerprint, answer: null } : found
}

const refuseCut = (state: State, ownerId: OwnerId, { newest, threadId }: Cut, now: number): CutRefused | undefined => {
  const row = findThread(state, ownerId, threadId)
  if (row === undefined) return { _tag: "ThreadMissing" }
  if (isInSession(row, now)) return { _tag: "InSession" }
  const ahead = row.inProgress ?? row.queued[0]
  if (ahead !== undefined) return { _tag: "Busy", runId: ahead.run.id, expired: isExpired(ahead, now) }
  return isNewest(row, newest) ? undefined : { _tag: "Changed" }
}

export const isNewest = (row: ThreadRow, newest: MessageId | null): boolean =>
  (row.messages.at(-1)?.id ?? null) === newest

const newUuid = (): string => crypto.randomUUID()

/** Copies of the thread's oldest messages. */
const copies = (source: ThreadRow, count: number, threadId: ThreadId): ReadonlyArray<Message> =>
  source.messages.slice(0, count).map((message) => ({
    ...message,
    id: MessageId.make(newUuid()),
    threadId,
    status: message.status === "REQUIRES_ACTION" ? "CANCELLED" : message.status
  }))

const addThread = (state: State, ownerId: OwnerId, thread: Thread, messages: ReadonlyArray<Message>): ThreadRow => {
  const newest = messages.at(-1)?.createdAt ?? thread.createdAt
  const updatedAt = newest > thread.createdAt ? newest : thread.createdAt
  const row = insertNew(state.threads, thread.id, emptyThread(ownerId, { ...thread, updatedAt }))
  row.messages.push(...messages)
  row.tokens = messages.reduce((sum, { tokens }) => sum + tokens, 0)
  return row
}

/** Gives a new thread the summary and the documents of the one that it was made from. */
const shareWith = (state: State, source: ThreadRow, row: ThreadRow): void => {
  if (source.summary !== null && source.summary.throughSequence <= row.messages.length) row.summary = source.summary
  const { shelf } = source
  const isUsed = [...state.documents.values()].some(
    ({ document: { scope } }) => scope._tag !== "Assistant" && (scope.shelf ?? scope.threadId) === shelf
  )
  if (isUsed) {
    source.shelves = [...source.shelves, shelf]
    source.shelf = ThreadId.make(newUuid())
  }
  row.shelves = source.shelves
}

/** The thread may be cut (`refuseCut`). */
export const takeBack = (state: State, row: ThreadRow, { keeps, keptAs }: Omit<TakeBack, "newest">, at: Date): void => {
  const waiting = row.requiresAction
  if (waiting !== null && (waiting.messages.at(-1) ?? 0) > keeps) closeWaiting(state, waiting, at.getTime(), at)
  const taken = row.messages.slice(keeps)
  const ids = new Set(taken.map(({ id }) => id))
  const runs = [...row.runs].filter((run) => run.messages.some((sequence) => sequence > keeps))
  if (keptAs === null) {
    for (const run of runs) {
      run.messages.splice(0, run.messages.length, ...run.messages.filter((sequence) => sequence <= keeps))
      run.log.length = 0
      run.isLogDeleted = true
      if (run.messages.length === 0) forgetRun(state, run)
    }
  } else {
    const kept = addThread(state, row.ownerId, { ...row.thread, id: keptAs }, [
      ...copies(row, keeps, keptAs),
      ...taken.map((message) => ({ ...message, threadId: keptAs }))
    ])
    kept.thread = { ...row.thread, id: keptAs }
    shareWith(state, row, kept)
    for (const run of runs) {
      row.runs.delete(run)
      kept.runs.add(run)
      const question = kept.messages[(run.messages[0] ?? 0) - 1]
      const userMessageId = question?.role === "user" ? question.id : run.run.userMessageId
      run.run = { ...run.run, threadId: keptAs, userMessageId }
      run.thread = kept
    }
  }
  row.messages.length = keeps
  row.tokens = row.messages.reduce((sum, { tokens }) => sum + tokens, 0)
  row.rewinds += 1
  if ((row.summary?.throughSequence ?? 0) > keeps) row.summary = null
  moveSources(state, row, ids, keptAs)
  moveScores(state, { runs, ids }, keptAs)
}

/** Feedback on the messages, and scores of the runs, that were taken back. */
const moveScores = (
  { feedback, onlineScores }: State,
  { ids, runs }: { readonly runs: ReadonlyArray<RunRow>; readonly ids: ReadonlySet<MessageId> },
  threadId: ThreadId | null
): void => {
  for (const { run } of runs) {
    const row = onlineScores.get(run.id)
    if (row === undefined) continue
    if (threadId === null) onlineScores.delete(run.id)
    else row.score = { ...row.score, threadId }
  }
  for (const id of ids) {
    const row = feedback.get(id)
    if (row === undefined) continue
    if (threadId === null) feedback.delete(id)
    else row.feedback = { ...row.feedback, threadId }
  }
}

/** The memories that were learned from messages which were taken back. */
const moveSources = (state: State, { thread }: ThreadRow, ids: ReadonlySet<MessageId>, to: ThreadId | null): void => {
  const moved = (source: MemorySource | null): MemorySource | null => {
    if (source === null || !source.messageIds.some((id) => ids.has(id))) return source
    return to === null ? null : { ...source, threadId: to }
  }
  for (const row of state.memories.get(thread.assistantId)?.rows.values() ?? []) {
    const confirmedBy = row.memory.confirmedBy.flatMap((source) => moved(source) ?? [])
    row.memory = { ...row.memory, source: moved(row.memory.source), confirmedBy }
    for (const [index, version] of row.versions.entries()) {
      row.versions[index] = { ...version, source: moved(version.source) }
    }
  }
}
