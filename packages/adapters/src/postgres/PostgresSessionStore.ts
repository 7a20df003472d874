/** `SessionStore` on PostgreSQL: the leases, messages and charges of voice sessions. The messages are rows of the same table as those of runs. */
import { type OwnerId, Principal, type RunId } from "@colloquy/core"
import { type NewMessage, reservationWait } from "@colloquy/core/adapters"
import { type SessionCharge, SessionStore } from "@colloquy/core/wings"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { call, type Database } from "./Database.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { messageText } from "./schema/Threads.ts"
import { decodeMessages, messageArguments, type MessagesRow } from "./MessageRecord.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import type { Presence } from "./Presence.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, toText } from "./StoredText.ts"
import { chargesArgument } from "./UsageColumns.ts"

type Outcome = "Opened" | "session" | "run" | "sessionsAtOnce" | "ThreadMissing"

export const sessionStore = (database: Database, { holder }: Presence): typeof SessionStore.Service => {
  const { query, schema } = database
  const own = ownedStatements(database, "SessionStore")
  const sessions = `${schema}.realtime_sessions`
  const charges = `${schema}.realtime_charges`

  /** Needs no lock: only the session that holds the lease writes to the thread. */
  const readHistory = (ownerId: OwnerId, threadId: string, messages: number) =>
    query<{ readonly total: number } & MessagesRow>(
      "SessionStore.open",
      `select t.message_count as total, coalesce((
         select '[' || string_agg(${messageText("m")}, ',' order by m.sequence) || ']'
         from ${schema}.messages m
         where m.thread_id = t.id and m.owner = t.owner and m.sequence > greatest(t.message_count - $3, 0)
       ), '[]') as messages
       from ${schema}.threads t where t.id = $1 and t.owner = $2`,
      [knownId(threadId), toText(ownerId), messages]
    )

  return SessionStore.of({
    open: Effect.fnUntraced(function* (threadId, sessionId, { at, lease, messages, sessionsAtOnce = null }) {
      const { ownerId } = yield* Principal
      const args = {
        owner: toText(ownerId),
        thread: knownId(threadId),
        session: newRowId(sessionId),
        lease: Duration.toMillis(lease),
        at,
        at_once: sessionsAtOnce,
        holder: holder()
      }
      const [row] = yield* query<{ readonly outcome: Outcome }>(
        "SessionStore.open",
        `select ${call(database, "open_session", args)} as outcome`,
        Object.values(args)
      )
      switch (row?.outcome) {
        case "Opened": {
          const read = yield* readHistory(ownerId, threadId, messages)
          return {
            _tag: "Opened",
            lease: { sessionId, threadId, ownerId },
            messages: decodeMessages(read),
            total: read[0]?.total ?? 0
          }
        }
        case "session":
        case "run":
          return { _tag: "Conflict", by: row.outcome }
        case "sessionsAtOnce":
          return { _tag: "OverLimit", refusal: { limit: row.outcome, left: 0, waitMillis: reservationWait } }
        default:
          return { _tag: "ThreadMissing" }
      }
    }),

    write: ({ sessionId, threadId }, write, at) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<boolean>("write", "write_session", {
            thread: knownId(threadId),
            session: knownId(sessionId),
            at,
            messages: JSON.stringify(write.messages.map(insertMessage)),
            numbers: write.charges.map(({ number }) => number),
            charges: write.charges.map((charge) => JSON.stringify(charge)),
            sums: write.charges.map((charge) => chargesArgument([charge]) ?? "[]"),
            follow_ups: followUpsArgument(write.followUps)
          }),
          (written) => written === true
        )
      ),

    renew: (leases, duration) =>
      Effect.map(
        query<{ readonly id: RunId }>(
          "SessionStore.renew",
          `update ${sessions} s set lease_until = clock_timestamp() + $4 * interval '1 millisecond'
           from unnest($1::text[], $2::uuid[], $3::uuid[]) held (owner, thread_id, id)
           where s.owner = held.owner and s.thread_id = held.thread_id and s.id = held.id returning s.id`,
          [
            leases.map(({ ownerId }) => toText(ownerId)),
            leases.map(({ threadId }) => threadId),
            leases.map(({ sessionId }) => sessionId),
            Duration.toMillis(duration)
          ]
        ),
        (rows) => {
          const kept = new Set(rows.map(({ id }) => id))
          return leases.map(({ sessionId }) => sessionId).filter((id) => !kept.has(id))
        }
      ),

    close: ({ sessionId, threadId }) =>
      Principal.use(({ ownerId }) =>
        Effect.asVoid(
          query("SessionStore.close", `delete from ${sessions} where owner = $1 and thread_id = $2 and id = $3`, [
            toText(ownerId),
            knownId(threadId),
            knownId(sessionId)
          ])
        )
      ),

    unreported: (before, limit) =>
      Effect.map(
        query<{ readonly charge: string }>(
          "SessionStore.unreported",
          `select charge from ${charges} where created_at < $1 order by created_at, session_id, number limit $2`,
          [before, limit]
        ),
        (rows) => rows.map(({ charge }) => fromJson<SessionCharge>(charge))
      ),

    reported: (charged) =>
      Effect.asVoid(
        query(
          "SessionStore.reported",
          `delete from ${charges} c using unnest($1::text[], $2::uuid[], $3::integer[]) reported (owner, session_id, number)
           where c.owner = reported.owner and c.session_id = reported.session_id and c.number = reported.number`,
          [
            charged.map(({ ownerId }) => toText(ownerId)),
            charged.map(({ sessionId }) => sessionId),
            charged.map(({ number }) => number)
          ]
        )
      )
  })
}

const insertMessage = (message: NewMessage) => {
  const columns = messageArguments(message)
  return {
    id: columns.message_id,
    role: columns.message_role,
    status: columns.message_status,
    tokens: columns.message_tokens,
    at: columns.message_at,
    body: columns.message_body,
    results: columns.message_results
  }
}
