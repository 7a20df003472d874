/** The methods of the in-memory `RunStore` that put a run in progress (`begin`, `activate`, `continue`), and their idempotency keys. */
import { type OwnerId, RunId } from "@colloquy/core"
import type {
  ActivateOutcome,
  Amount,
  CallAnswers,
  CallAnswersOutcome,
  Begin,
  BeginOutcome,
  Continue,
  ContinueOutcome,
  FoundRepeat,
  History,
  IdempotencyKey,
  Lease,
  Refusal,
  Repeated,
  RunStore,
  Started
} from "@colloquy/core/adapters"
import { type ApprovedResults, type MessageStatus, noUsage } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { isNewest, takeBack } from "./Branches.ts"
import { inContext } from "./AssistantStore.ts"
import { storeFollowUps } from "./FollowUpStore.ts"
import { findKey, keepKey } from "./IdempotencyKeys.ts"
import { admit } from "./QuotaStore.ts"
import {
  changeNewest,
  closeWaiting,
  forgetRun,
  insertNew,
  isExpired,
  isInSession,
  leasedRun,
  move,
  ownedStep,
  ownedWrite,
  appendToThread,
  record,
  findRun,
  signal,
  findThread,
  type RunRow,
  type State,
  type ThreadRow
} from "./State.ts"

type Starts = Pick<typeof RunStore.Service, "begin" | "findRepeated" | "activate" | "withdraw" | "answer" | "continue">

export const runStarts = (state: State): Starts => ({
  begin: (begin) => ownedWrite(state, "RunStore.begin", (ownerId, now) => beginRun(state, ownerId, begin, now)),

  findRepeated: (key) => ownedStep((ownerId, now) => Option.fromNullishOr(findUsed(state, ownerId, key, now))),

  activate: (lease, duration, historyTokens, savesWith) =>
    ownedStep((ownerId, now): ActivateOutcome => {
      const row = leasedRun(state, ownerId, lease)
      if (savesWith !== undefined && row?.run.status === "COMPLETED") return { _tag: "Saved" }
      if (row?.run.status === "IN_PROGRESS") return started(row, prolong(row, now, duration), historyTokens)
      if (row?.run.status !== "QUEUED") return { _tag: "Lost" }
      const blocker = row.thread.inProgress ?? row.thread.queued[0]
      if (blocker !== undefined && blocker !== row) {
        return { _tag: "Waiting", runId: blocker.run.id, expired: isExpired(blocker, now) }
      }
      if (savesWith !== undefined) return save(state, row, now, savesWith.followUps)
      return start(state, row, now, prolong(row, now, duration), historyTokens)
    }),

  withdraw: (lease) =>
    ownedStep((ownerId) => {
      const row = leasedRun(state, ownerId, lease)
      if (row?.run.status !== "QUEUED") return false
      forgetRun(state, row)
      for (const key of row.idempotencyKeys) state.repeated.delete(key)
      return true
    }),

  answer: (answers) => ownedWrite(state, "RunStore.answer", (ownerId, now) => answer(state, ownerId, answers, now)),

  continue: (next) => ownedWrite(state, "RunStore.continue", (ownerId, now) => continueRun(state, ownerId, next, now))
})

const beginRun = (state: State, ownerId: OwnerId, begin: Begin, now: number): BeginOutcome => {
  const before = findRun(state, ownerId, begin.run.id)
  if (before !== undefined) return beginAgain(before, begin, now)
  const repeated = begin.idempotency && findRepeated(state, ownerId, begin.idempotency.key, now)
  if (repeated) return repeated
  const thread = findThread(state, ownerId, begin.run.threadId)
  if (thread === undefined) return { _tag: "ThreadMissing" }
  if (begin.decidedOn !== null && begin.decidedOn !== inContext(state, thread)?.revision) return { _tag: "Outdated" }
  if (isInSession(thread, now)) return { _tag: "InSession" }
  const blocker = thread.inProgress ?? thread.queued[0]
  if (blocker !== undefined && (begin.mode === "reject" || thread.queued.length >= begin.maxQueued)) {
    return { _tag: "Busy", runId: blocker.run.id, expired: isExpired(blocker, now) }
  }
  const { takesBack } = begin
  if (takesBack !== undefined && !isNewest(thread, takesBack.newest)) return { _tag: "Changed" }
  const granted = admitted(state, thread, begin, now)
  if (granted !== null && "limit" in granted) return { _tag: "OverLimit", refusal: granted }
  if (takesBack !== undefined) takeBack(state, thread, takesBack, new Date(now))
  thread.session = null
  const row = insertRun(state, thread, begin)
  row.reserved = granted
  remember(state, row, begin.idempotency, now)
  if (blocker === undefined && begin.saves) return save(state, row, now, begin.followUps)
  const lease = grantLeg(row, now, begin.lease)
  if (blocker === undefined) return start(state, row, now, lease, begin.historyTokens)
  const [beginning] = begin.events.slice(-1)
  record(row, begin.events.slice(0, -1))
  move(state, row, now, "QUEUED", { lastSequence: (beginning?.sequence ?? 1) - 1 })
  signal(state, row)
  return { _tag: "Queued", lease, reserved: granted }
}

const admitted = (
  state: State,
  thread: ThreadRow,
  { admission, historyTokens }: Pick<Begin, "admission" | "historyTokens">,
  now: number
): Amount | Refusal | null => {
  if (admission === null) return null
  const isThreadIdle = thread.inProgress === null && thread.queued.length === 0
  return admit(
    state,
    thread.ownerId,
    admission,
    { isThreadIdle, historyTokens: Math.min(thread.tokens, historyTokens) },
    now
  )
}

const beginAgain = (row: RunRow, begin: Begin, now: number): BeginOutcome => {
  if (begin.saves && row.run.status === "COMPLETED") return { _tag: "Saved" }
  const isHeld = row.run.leg === 0 && row.token === row.legToken
  if (isHeld && row.run.status === "QUEUED") {
    return { _tag: "Queued", lease: prolong(row, now, begin.lease), reserved: row.reserved }
  }
  if (isHeld && row.run.status === "IN_PROGRESS") {
    return started(row, prolong(row, now, begin.lease), begin.historyTokens)
  }
  return repeatedLeg(row, begin.idempotency)
}

/** The result of a repeated call when its first lease does not hold the leg any more. */
const repeatedLeg = ({ run }: RunRow, idempotency: IdempotencyKey | null): Repeated => ({
  _tag: "Repeated",
  runId: run.id,
  legStart: run.legStart,
  fingerprint: idempotency?.fingerprint ?? ""
})

const insertRun = (state: State, thread: ThreadRow, { events, message, run }: Begin): RunRow => {
  const row: RunRow = {
    thread,
    ordinal: ++state.lastOrdinal,
    run: {
      ...run,
      assistantId: thread.thread.actingAssistantId ?? thread.thread.assistantId,
      status: "QUEUED",
      leg: 0,
      legStart: events[0]?.sequence ?? 1,
      lastSequence: 0,
      userMessageId: message.id,
      usage: noUsage,
      modelCalls: 0,
      firstTokenAt: null,
      fault: null,
      explanation: null,
      cancelRequested: false,
      startedAt: null,
      endedAt: null
    },
    token: 0,
    legToken: 0,
    expiresAt: 0,
    log: [],
    isLogDeleted: false,
    messages: [],
    pending: { message, events, queuePosition: (thread.queued.at(-1)?.pending?.queuePosition ?? 0) + 1 },
    idempotencyKeys: [],
    reserved: null
  }
  thread.runs.add(insertNew(state.runs, run.id, row))
  return row
}

const save = (state: State, row: RunRow, now: number, followUps: Begin["followUps"]): { readonly _tag: "Saved" } => {
  storeFollowUps(state, row.thread.ownerId, now, followUps)
  const at = new Date(now)
  supersede(state, row.thread, now)
  storePending(row, true)
  move(state, row, now, "COMPLETED", { startedAt: at, endedAt: at })
  signal(state, row)
  return { _tag: "Saved" }
}

const start = (state: State, row: RunRow, now: number, lease: Lease, historyTokens: number): Started => {
  const startedAt = new Date(now)
  supersede(state, row.thread, now)
  storePending(row, true)
  move(state, row, now, "IN_PROGRESS", { startedAt })
  signal(state, row)
  return started(row, lease, historyTokens)
}

const started = (row: RunRow, lease: Lease, historyTokens: number): Started => ({
  _tag: "Started",
  lease,
  history: readHistory(row, historyTokens),
  reserved: row.reserved
})

export const supersede = (state: State, thread: ThreadRow, now: number, at = new Date(now)): void => {
  if (thread.requiresAction !== null) closeWaiting(state, thread.requiresAction, now, at)
}

/**
 * Stores the message of a run that waited or begins at once. If the run begins, also stores those of its first events that are not in the
 * log.
 */
export const storePending = (row: RunRow, begins: boolean): void => {
  if (row.pending === null) return
  appendToThread(row, row.pending.message)
  if (begins) record(row, row.pending.events)
  row.pending = null
}

/** Grants a new lease; earlier leases of the run are lost. */
export const grant = (row: RunRow, now: number, duration: Duration.Duration): Lease => {
  row.token += 1
  return prolong(row, now, duration)
}

/** Grants the lease under which a leg begins. */
const grantLeg = (row: RunRow, now: number, duration: Duration.Duration): Lease => {
  const lease = grant(row, now, duration)
  row.legToken = lease.token
  return lease
}

/** Prolongs the newest lease. */
export const prolong = (row: RunRow, now: number, duration: Duration.Duration): Lease => {
  row.expiresAt = now + Duration.toMillis(duration)
  return { runId: row.run.id, threadId: row.run.threadId, ownerId: row.thread.ownerId, token: row.token }
}

const answer = (state: State, ownerId: OwnerId, answers: CallAnswers, now: number): CallAnswersOutcome => {
  const row = findRun(state, ownerId, answers.runId)
  const repeated = answers.idempotency && findRepeated(state, ownerId, answers.idempotency.key, now)
  if (repeated) return repeated
  const found = openCallResults(row, answers)
  if (row === undefined || found === null) return { _tag: "NotOpen" }
  if (JSON.stringify(found) === JSON.stringify(answers.results)) return { _tag: "Stored" }
  if (found.length !== answers.answered) return { _tag: "NotOpen" }
  addResults(row, answers, "REQUIRES_ACTION")
  row.run = { ...row.run, plan: answers.plan }
  remember(state, row, answers.idempotency, now, row.run.lastSequence + 1)
  signal(state, row)
  return { _tag: "Stored" }
}

/** The results of the message whose calls are open; null when the run does not wait with that message. */
const openCallResults = (row: RunRow | undefined, { messageId }: CallAnswers) =>
  row?.run.status === "REQUIRES_ACTION" && row.run.answerId === messageId
    ? (row.thread.messages[(row.messages.at(-1) ?? 0) - 1]?.toolResults ?? null)
    : null

/** Changes the results of the run's newest message. */
export const addResults = (row: RunRow, { results, tokens }: ApprovedResults, status?: MessageStatus): void =>
  changeNewest(row, (message) => ({
    ...message,
    status: status ?? message.status,
    toolResults: results,
    tokens: message.tokens + tokens
  }))

const continueRun = (state: State, ownerId: OwnerId, next: Continue, now: number): ContinueOutcome => {
  const row = findRun(state, ownerId, next.runId)
  if (row !== undefined && row.run.answerId === next.answerId) {
    return row.run.status === "IN_PROGRESS" && row.token === row.legToken
      ? started(row, prolong(row, now, next.lease), next.historyTokens)
      : repeatedLeg(row, next.idempotency)
  }
  const repeated = next.idempotency && findRepeated(state, ownerId, next.idempotency.key, now)
  if (repeated) return repeated
  if (row === undefined || openCallResults(row, next)?.length !== next.answered) return { _tag: "NotOpen" }
  const granted = admitted(state, row.thread, next, now)
  if (granted !== null && "limit" in granted) return { _tag: "OverLimit", refusal: granted }
  row.reserved = granted
  addResults(row, next, "COMPLETED")
  move(state, row, now, "IN_PROGRESS", {
    leg: row.run.leg + 1,
    legStart: next.events[0]?.sequence ?? row.run.lastSequence + 1,
    answerId: next.answerId,
    stream: next.stream,
    plan: next.plan
  })
  record(row, next.events)
  remember(state, row, next.idempotency, now)
  signal(state, row)
  return started(row, grantLeg(row, now, next.lease), next.historyTokens)
}

/** Goes back from the newest message, so that the time does not depend on the length of the thread. */
const readHistory = ({ messages, thread }: RunRow, historyTokens: number): History => {
  const oldestOfRun = (messages[0] ?? 1) - 1
  let from = oldestOfRun
  for (let left = historyTokens; from > 0; from--) {
    left -= thread.messages[from - 1]?.tokens ?? 0
    if (left < 0) break
  }
  const given = thread.messages.slice(from)
  const tokens = given.reduce((sum, message) => sum + message.tokens, 0)
  return { messages: given, older: { messages: from, tokens: thread.tokens - tokens } }
}

const findUsed = (state: State, ownerId: OwnerId, key: string, now: number): FoundRepeat | undefined => {
  const found = findKey(state, ownerId, key, now)
  // The fingerprint of a request without a run is never that of a message.
  return found?._tag === "Answered"
    ? { _tag: "Repeated", runId: RunId.make("answered"), threadId: null, legStart: 0, fingerprint: found.fingerprint }
    : found
}

const findRepeated = (state: State, ownerId: OwnerId, key: string, now: number): Repeated | undefined => {
  const found = findUsed(state, ownerId, key, now)
  if (found === undefined) return undefined
  const { threadId: _, ...repeated } = found
  return repeated
}

const remember = (
  state: State,
  row: RunRow,
  idempotency: IdempotencyKey | null,
  now: number,
  legStart = row.run.legStart
): void => {
  if (idempotency === null) return
  const runId = row.run.id
  const { threadId } = row.run
  const value = { _tag: "Repeated" as const, runId, threadId, legStart, fingerprint: idempotency.fingerprint }
  row.idempotencyKeys.push(keepKey(state, row.thread.ownerId, idempotency.key, now, value))
}
