/** `SessionStore` in memory. The session of a thread is a field of the thread's row, because `RunStore.begin` must check it. */
import type { Message, OwnerId } from "@colloquy/core"
import { type NewMessage, reservationWait } from "@colloquy/core/adapters"
import { type OpenOutcome, type SessionCharge, type SessionLease, SessionStore } from "@colloquy/core/wings"
import * as Duration from "effect/Duration"
import { storeFollowUps } from "./FollowUpStore.ts"
import { countSessions } from "./QuotaStore.ts"
import { supersede } from "./RunStarts.ts"
import {
  addMessage,
  isInSession,
  ownedStep,
  ownedWrite,
  type State,
  step,
  findThread,
  type ThreadRow
} from "./State.ts"
import { addToLedger } from "./UsageLedger.ts"

export const sessionStore = (state: State): typeof SessionStore.Service =>
  SessionStore.of({
    open: (threadId, sessionId, { at, lease, messages, sessionsAtOnce = null }) =>
      ownedWrite(state, "SessionStore.open", (ownerId, now): OpenOutcome => {
        const thread = findThread(state, ownerId, threadId)
        if (thread === undefined) return { _tag: "ThreadMissing" }
        const own = thread.session?.id === sessionId ? thread.session : null
        if (own === null && isInSession(thread, now)) return { _tag: "Conflict", by: "session" }
        if (thread.inProgress !== null || thread.queued.length > 0) return { _tag: "Conflict", by: "run" }
        const others = countSessions(state, ownerId, now) - (isInSession(thread, now) ? 1 : 0)
        if (sessionsAtOnce !== null && others >= sessionsAtOnce)
          return { _tag: "OverLimit", refusal: { limit: "sessionsAtOnce", left: 0, waitMillis: reservationWait } }
        supersede(state, thread, now, at)
        const lastCharge = own?.lastCharge ?? 0
        thread.session = { id: sessionId, expiresAt: now + Duration.toMillis(lease), lastCharge }
        return {
          _tag: "Opened",
          lease: { sessionId, threadId, ownerId },
          messages: thread.messages.slice(Math.max(0, thread.messages.length - messages)),
          total: thread.messages.length
        }
      }),

    write: (lease, { charges, followUps, messages }, at) =>
      ownedStep((ownerId, now) => {
        const thread = heldThread(state, ownerId, lease)
        if (thread?.session === null || thread === undefined) return false
        for (const message of messages) put(thread, message)
        for (const charge of charges) {
          if (charge.number <= thread.session.lastCharge) continue
          thread.session.lastCharge = charge.number
          state.sessionCharges.set(chargeName(charge), { charge, at: at.getTime() })
          addToLedger(state, { ownerId, assistantId: thread.thread.assistantId }, at.getTime(), charge)
        }
        storeFollowUps(state, ownerId, now, followUps)
        return true
      }),

    renew: (leases, duration) =>
      step((now) =>
        leases.flatMap((lease) => {
          const session = heldThread(state, lease.ownerId, lease)?.session
          if (session === undefined || session === null) return [lease.sessionId]
          session.expiresAt = now + Duration.toMillis(duration)
          return []
        })
      ),

    close: (lease) =>
      ownedStep((ownerId) => {
        const thread = heldThread(state, ownerId, lease)
        if (thread !== undefined) thread.session = null
      }),

    unreported: (before, limit) =>
      step(() =>
        [...state.sessionCharges.values()]
          .filter(({ at }) => at < before.getTime())
          .toSorted((a, b) => a.at - b.at)
          .slice(0, limit)
          .map(({ charge }) => charge)
      ),

    reported: (charges) =>
      step(() => {
        for (const charge of charges) state.sessionCharges.delete(chargeName(charge))
      })
  })

const chargeName = ({ number, sessionId }: Pick<SessionCharge, "sessionId" | "number">): string =>
  `${sessionId} ${number}`

/** The thread of the lease; undefined if another session or a run has taken the thread since. */
const heldThread = (state: State, ownerId: OwnerId, lease: SessionLease): ThreadRow | undefined => {
  const thread = findThread(state, ownerId, lease.threadId)
  return thread?.session?.id === lease.sessionId ? thread : undefined
}

const put = (thread: ThreadRow, message: NewMessage): void => {
  const index = thread.messages.findLastIndex(({ id }) => id === message.id)
  const before = thread.messages[index]
  if (before === undefined) return void addMessage(thread, message)
  const after: Message = { ...message, sequence: before.sequence }
  thread.messages[index] = after
  thread.tokens += after.tokens - before.tokens
  if (after.createdAt > thread.thread.updatedAt) thread.thread = { ...thread.thread, updatedAt: after.createdAt }
}
