/** `TicketStore` on PostgreSQL. A ticket is redeemed by deleting its row, so only one of several simultaneous attempts succeeds. */
import { AssistantId, OwnerId, ThreadId } from "@colloquy/core"
import { TicketStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId } from "./StoredId.ts"
import { fromText, fromTextOrNull, toText, toTextOrNull } from "./StoredText.ts"

interface TicketRow {
  readonly hash: string
  readonly owner: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly origin: string | null
  readonly expires_at: Date
}

export const ticketStore = (database: Database): typeof TicketStore.Service => {
  const { query, schema } = database
  const own = ownedStatements(database, "TicketStore")
  const table = `${schema}.realtime_tickets`
  return TicketStore.of({
    insert: (record) =>
      own.finds(
        "insert",
        `with old as (
               delete from ${table} where expires_at < clock_timestamp() - interval '1 hour'
             )
             insert into ${table} (hash, owner, thread_id, assistant_id, origin, expires_at)
             select $2, t.owner, t.id, t.assistant_id, $4, $5 from ${schema}.threads t where t.id = $3 and t.owner = $1
             returning hash`,
        [toText(record.hash), knownId(record.threadId), toTextOrNull(record.origin), record.expiresAt]
      ),

    redeem: (hash, now) =>
      Effect.map(
        query<TicketRow>(
          "TicketStore.redeem",
          `delete from ${table} where hash = $1 returning hash, owner, thread_id, assistant_id, origin, expires_at`,
          [toText(hash)]
        ),
        ([row]) =>
          Option.filter(
            Option.map(Option.fromNullishOr(row), (found) => ({
              hash: fromText(found.hash),
              ownerId: OwnerId.make(fromText(found.owner)),
              threadId: ThreadId.make(found.thread_id),
              assistantId: AssistantId.make(found.assistant_id),
              origin: fromTextOrNull(found.origin),
              expiresAt: found.expires_at
            })),
            ({ expiresAt }) => expiresAt > now
          )
      )
  })
}
